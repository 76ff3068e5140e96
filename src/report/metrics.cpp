// Counters -> Prometheus text format 0.0.4. docs/metrics.md lists the families.
#include "report/metrics.hpp"

#include <string_view>

#include "report/text.hpp"

namespace ratel {
namespace {

struct Family {
  std::string_view name;
  std::string_view help;
  uint64_t MetricsSnapshot::*value;
};

struct RuleFamily {
  std::string_view name;
  std::string_view help;
  uint64_t MetricsSnapshot::PerRule::*value;
};

constexpr Family kCounters[] = {
    {"ratel_requests_total", "Requests decided: allowed and denied.", &MetricsSnapshot::requests},
    {"ratel_allowed_total", "Requests let through.", &MetricsSnapshot::allowed},
    {"ratel_denied_total", "Requests denied.", &MetricsSnapshot::denied},
    {"ratel_never_fits_total", "Of the denied: cost above the capacity.", &MetricsSnapshot::never_fits},
    {"ratel_blocked_total", "Of the denied: by action block.", &MetricsSnapshot::blocked},
    {"ratel_shadow_denied_total", "Of the requests: a shadow limit would have denied it.",
     &MetricsSnapshot::shadow_denied},
    {"ratel_no_rule_total", "Of the allowed: no rule covered the request.", &MetricsSnapshot::no_rule},
    {"ratel_local_fallback_total", "Of the requests: decided by a local limit while the store failed.",
     &MetricsSnapshot::local_fallback},
    {"ratel_leased_total", "Of the allowed: from units that were paid for in advance.", &MetricsSnapshot::leased},
    {"ratel_cached_denial_total", "Of the denied: the store was not asked again.", &MetricsSnapshot::cached_denial},
    {"ratel_reported_back_total", "Units admitted while the store failed that it was told of afterwards.",
     &MetricsSnapshot::reported_back},
    {"ratel_unreported_total", "Units admitted while the store failed that it could not be charged for.",
     &MetricsSnapshot::unreported},
    {"ratel_fail_open_total", "Of the allowed: the store failed and the rule says open.", &MetricsSnapshot::fail_open},
    {"ratel_fail_closed_total", "Of the denied: the store failed and the rule says closed.",
     &MetricsSnapshot::fail_closed},
    {"ratel_store_errors_total", "Times that the store could not answer.", &MetricsSnapshot::store_errors},
    {"ratel_unknown_client_total", "Requests whose ip scope had no usable address.", &MetricsSnapshot::unknown_client},
    {"ratel_evicted_live_total", "Keys dropped with state that was not as new.", &MetricsSnapshot::evicted_live},
    {"ratel_evicted_idle_total", "Keys dropped by a sweep for idle ones.", &MetricsSnapshot::evicted_idle},
    {"ratel_reloads_total", "Rule sets put in force by a reload.", &MetricsSnapshot::reloads},
    {"ratel_reload_failures_total", "Reloads that kept the old rule set.", &MetricsSnapshot::reload_failures},
};

constexpr Family kGauges[] = {
    {"ratel_keys", "Keys held now.", &MetricsSnapshot::keys},
    {"ratel_generation", "Number of the rule set in force.", &MetricsSnapshot::generation},
};

constexpr RuleFamily kRuleCounters[] = {
    {"ratel_rule_allowed_total", "Requests that the rule let through.", &MetricsSnapshot::PerRule::allowed},
    {"ratel_rule_denied_total", "Requests that the rule denied.", &MetricsSnapshot::PerRule::denied},
    {"ratel_rule_never_fits_total", "Of the denied: cost above the capacity.", &MetricsSnapshot::PerRule::never_fits},
    {"ratel_rule_shadow_denied_total", "Requests that a shadow limit of the rule would have denied.",
     &MetricsSnapshot::PerRule::shadow_denied},
    {"ratel_rule_cost_allowed_total", "Units spent by allowed requests.", &MetricsSnapshot::PerRule::cost_allowed},
};

void AppendHead(std::string& out, std::string_view name, std::string_view help, std::string_view type) {
  out.append("# HELP ").append(name).append(" ").append(help);
  out.append("\n# TYPE ").append(name).append(" ").append(type).append("\n");
}

void AppendLabelValue(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out.append("\\\\");
        break;
      case '"':
        out.append("\\\"");
        break;
      case '\n':
        out.append("\\n");
        break;
      default:
        out.push_back(c);
    }
  }
}

void AppendFamily(std::string& out, const Family& family, std::string_view type, const MetricsSnapshot& snapshot) {
  AppendHead(out, family.name, family.help, type);
  out.append(family.name).append(" ");
  AppendNumber(out, snapshot.*family.value);
  out.push_back('\n');
}

void AppendRuleFamily(std::string& out, const RuleFamily& family, const MetricsSnapshot& snapshot) {
  if (snapshot.rules.empty()) return;
  AppendHead(out, family.name, family.help, "counter");
  for (const MetricsSnapshot::PerRule& rule : snapshot.rules) {
    out.append(family.name).append("{rule=\"");
    AppendLabelValue(out, rule.rule);
    out.append("\"} ");
    AppendNumber(out, rule.*family.value);
    out.push_back('\n');
  }
}

}  // namespace

std::string ToPrometheus(const MetricsSnapshot& snapshot) {
  std::string out;
  out.reserve(4096);
  for (const Family& family : kCounters) AppendFamily(out, family, "counter", snapshot);
  for (const Family& family : kGauges) AppendFamily(out, family, "gauge", snapshot);
  for (const RuleFamily& family : kRuleCounters) AppendRuleFamily(out, family, snapshot);
  return out;
}

}  // namespace ratel
