// Counters as a snapshot and as Prometheus text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ratel {

/// Fields as rl_metrics / rl_rule_metrics in rl.h.
struct MetricsSnapshot {
  uint64_t requests = 0, allowed = 0, denied = 0, never_fits = 0, blocked = 0, shadow_denied = 0, no_rule = 0,
           local_fallback = 0, fail_open = 0, fail_closed = 0, store_errors = 0, unknown_client = 0, evicted_live = 0,
           evicted_idle = 0, keys = 0, reloads = 0, reload_failures = 0, generation = 0, leased = 0, cached_denial = 0,
           reported_back = 0, unreported = 0;
  struct PerRule {
    std::string rule;
    uint64_t allowed = 0, denied = 0, never_fits = 0, shadow_denied = 0, cost_allowed = 0;
  };
  std::vector<PerRule> rules;
};

/// Prometheus text format 0.0.4: # HELP and # TYPE for each family, names `ratel_..._total`, label values escaped.
std::string ToPrometheus(const MetricsSnapshot& snapshot);

}  // namespace ratel
