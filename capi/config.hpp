// What stands behind rl_config.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "handle.hpp"
#include "limiter/host.hpp"
#include "storage/storage.hpp"
#if RATEL_REDIS
#include "storage/redis/options.hpp"
#endif

/// A rule set in the making, and what a registry will be made with. One thread at a time.
struct rl_config {
  static constexpr uint64_t kMagic = ratel::capi::kConfigMagic;
  ratel::capi::Magic magic{kMagic};

  ratel::RuleSetBuilder builder;
  std::vector<ratel::Error> faults;  ///< of what was loaded last
  bool has_made_rules = false;  ///< some came by rl_config_add_rule: whether all can be reached is still to be seen
  bool faulty = false;          ///< a rule set was refused: of no use until cleared

  std::unique_ptr<ratel::Clock> clock;
  std::unique_ptr<ratel::Log> log;
  std::unique_ptr<ratel::Storage> storage;  ///< the host's; none = the embedded one, or Redis
#if RATEL_REDIS
  std::optional<ratel::redis::Options> redis;
#endif
  uint64_t max_keys = 0;  ///< of the embedded one; 0 = as the rule set says

  /// Which of the host's callbacks a registry has taken: they have to be set anew before another one can be made.
  bool clock_gone = false;
  bool log_gone = false;
  bool storage_gone = false;

  std::optional<std::string> secret;
  std::string region;  ///< empty = none
  bool readable_keys = false;
};

namespace ratel::capi {

/// Whether the rules of a config can be put in force: it has some, none was refused, and each can be reached.
rl_status CheckRules(const rl_config& config, const ErrorOut& error);

}  // namespace ratel::capi
