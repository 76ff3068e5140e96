#include "config.hpp"

#include <string>

#include "bytes.hpp"
#include "host.hpp"
#include "host_storage.hpp"
#include "rule.hpp"
#include "rules/matcher.hpp"
#include "structs.hpp"

namespace ratel::capi {

rl_status CheckRules(const rl_config& config, const ErrorOut& error) {
  if (config.faulty) {
    if (!config.faults.empty()) return error.Fail(config.faults);
    return error.Fail(RL_E_CONFIG, "the config's rules were refused: clear it, or destroy it");
  }
  if (config.builder.rules().rules.empty())
    return error.Fail(RL_E_CONFIG, "there is no rule: a rule set needs at least one");
  if (!config.has_made_rules) return RL_OK;
  // A load has looked at this already; rules made in code are looked at together, once, here.
  const RuleSet& set = config.builder.rules();
  const std::vector<Unreachable> hidden = FindUnreachable(set);
  if (hidden.empty()) return RL_OK;
  return error.Fail(RL_E_CONFIG, "rule \"%s\" can never be reached: rule \"%s\" covers the same requests",
                    set.rules[hidden[0].rule].name.c_str(), set.rules[hidden[0].because_of].name.c_str());
}

namespace {

/// A load is refused on a config whose rules were refused: it would hide the fault.
rl_status CheckLoadable(const rl_config* config, const ErrorOut& error) noexcept {
  if (const rl_status status = CheckHandle(config, "config", error)) return status;
  if (!config->faulty) return RL_OK;
  return error.Fail(RL_E_STATE, "the config's rules were refused before: clear it, or destroy it");
}

/// Keeps the faults of a load that failed and tells the first. A file that could not be read leaves the config
/// usable.
rl_status Refuse(rl_config& config, std::vector<Error> faults, const ErrorOut& error) noexcept {
  config.faults = std::move(faults);
  if (config.faults.empty()) {
    config.faulty = true;
    return error.Fail(RL_E_CONFIG, "the rules were refused");
  }
  const rl_status status = error.Fail(config.faults);
  config.faulty = status != RL_E_IO;
  return status;
}

rl_status AddRule(rl_config& config, const rl_rule* rule, const ErrorOut& error) {
  Rule made;
  std::vector<Error> faults;
  if (const rl_status status = ReadRule(rule, made, faults, error)) return status;
  if (!faults.empty()) return Refuse(config, std::move(faults), error);
  config.faults.clear();
  config.has_made_rules = true;
  if (config.builder.AddRule(std::move(made))) return RL_OK;
  return Refuse(config, config.builder.faults(), error);
}

/// What rl_clock, rl_log and rl_storage have in common: a size, and flags that are 0.
template <class Table>
rl_status TakeTable(const Table* table, const char* argument, Input<Table>& in, const ErrorOut& error) noexcept {
  if (const rl_status status = in.Take(table, argument, error)) return status;
  if (in->flags == 0) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "%s: unknown flags 0x%x", argument, in->flags);
}

/// Takes the place of whatever storage was chosen before.
void UseStorage(rl_config& config, std::unique_ptr<Storage> storage) noexcept {
  config.storage = std::move(storage);
  config.storage_gone = false;
#if RATEL_REDIS
  config.redis.reset();
#endif
}

rl_status Missing(const char* function, const ErrorOut& error) noexcept {
  return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL", function);
}

}  // namespace
}  // namespace ratel::capi

using namespace ratel::capi;

rl_status rl_config_create(rl_config** out, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    *out = new rl_config;
    return RL_OK;
  });
}

void rl_config_destroy(rl_config* config) {
  if (IsLive(config)) delete config;
}

rl_status rl_config_load_text(rl_config* config, rl_str text, rl_str name, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckLoadable(config, error);
    if (status == RL_OK) status = CheckBytes(text, "text", error);
    if (status == RL_OK) status = CheckBytes(name, "name", error);
    if (status != RL_OK) return status;
    config->faults.clear();
    if (config->builder.AddText(View(text), View(name))) return RL_OK;
    return Refuse(*config, config->builder.faults(), error);
  });
}

rl_status rl_config_load_file(rl_config* config, rl_str path, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckLoadable(config, error);
    if (status == RL_OK) status = CheckPath(path, "path", error);
    if (status != RL_OK) return status;
    if (path.size == 0) return error.Fail(RL_E_INVALID_ARGUMENT, "path is empty");
    config->faults.clear();
    if (config->builder.AddPath(std::string(View(path)))) return RL_OK;
    return Refuse(*config, config->builder.faults(), error);
  });
}

rl_status rl_config_clear(rl_config* config) {
  return Guard(nullptr, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    config->builder.Clear();
    config->has_made_rules = false;
    config->faults.clear();
    config->faulty = false;
    return RL_OK;
  });
}

rl_status rl_config_fault(const rl_config* config, uint32_t index, rl_error* out) {
  return Guard(out, [&](const ErrorOut& fault) -> rl_status {
    if (out == nullptr) return RL_E_INVALID_ARGUMENT;
    if (const rl_status status = CheckHandle(config, "config", fault)) return status;
    if (index >= config->faults.size()) {
      return fault.Fail(RL_E_NOT_FOUND, "there are %zu faults", config->faults.size());
    }
    fault.Fail(config->faults[index], config->faults.size());
    return RL_OK;
  });
}

rl_status rl_config_add_rule(rl_config* config, const rl_rule* rule, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckLoadable(config, error)) return status;
    return AddRule(*config, rule, error);
  });
}

rl_status rl_config_set_clock(rl_config* config, const rl_clock* clock, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    Input<rl_clock> in;
    if (const rl_status status = TakeTable(clock, "clock", in, error)) return status;
    if (in->now_ns == nullptr) return Missing("clock.now_ns", error);
    config->clock = MakeHostClock(*in);
    config->clock_gone = false;
    return RL_OK;
  });
}

rl_status rl_config_set_log(rl_config* config, const rl_log* log, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    Input<rl_log> in;
    if (const rl_status status = TakeTable(log, "log", in, error)) return status;
    if (in->write == nullptr) return Missing("log.write", error);
    config->log = MakeHostLog(*in);
    config->log_gone = false;
    return RL_OK;
  });
}

rl_status rl_config_use_memory(rl_config* config, uint64_t max_keys, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    if (max_keys > kMaxBytes) return error.Fail(RL_E_INVALID_ARGUMENT, "max_keys is above 2^40");
    UseStorage(*config, nullptr);
    config->max_keys = max_keys;
    return RL_OK;
  });
}

rl_status rl_config_set_storage(rl_config* config, const rl_storage* storage, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    Input<rl_storage> in;
    if (const rl_status status = TakeTable(storage, "storage", in, error)) return status;
    if (in->apply == nullptr) return Missing("storage.apply", error);
    UseStorage(*config, MakeHostStorage(*in));
    return RL_OK;
  });
}

rl_status rl_config_use_redis(rl_config* config, rl_str url, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    if (const rl_status status = CheckBytes(url, "url", error)) return status;
#if RATEL_REDIS
    auto options = ratel::redis::ParseUrl(View(url));
    if (!options) {
      const bool unsupported = options.error().status == ratel::Status::kUnsupported;
      return error.Fail(unsupported ? RL_E_UNSUPPORTED : RL_E_INVALID_ARGUMENT, "%s", options.error().message.c_str());
    }
    UseStorage(*config, nullptr);
    config->redis = std::move(*options);
    return RL_OK;
#else
    return error.Fail(RL_E_UNSUPPORTED, "this build has no Redis storage: rl_features lacks RL_FEATURE_REDIS");
#endif
  });
}

rl_status rl_config_set_secret(rl_config* config, rl_str secret, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    if (const rl_status status = CheckBytes(secret, "secret", error)) return status;
    if (secret.size < 16 || secret.size > 1024) {
      return error.Fail(RL_E_INVALID_ARGUMENT, "secret has %llu bytes, outside 16 to 1024",
                        static_cast<unsigned long long>(secret.size));
    }
    config->secret = std::string(View(secret));
    return RL_OK;
  });
}

rl_status rl_config_set_region(rl_config* config, rl_str region, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    if (const rl_status status = CheckBytes(region, "region", error)) return status;
    if (region.size > 64) return error.Fail(RL_E_INVALID_ARGUMENT, "region: a name has at most 64 bytes");
    config->region = std::string(View(region));
    return RL_OK;
  });
}

rl_status rl_config_set_readable_keys(rl_config* config, uint32_t on, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(config, "config", error)) return status;
    if (on > 1) return error.Fail(RL_E_INVALID_ARGUMENT, "on is %u, neither 0 nor 1", on);
    config->readable_keys = on == 1;
    return RL_OK;
  });
}
