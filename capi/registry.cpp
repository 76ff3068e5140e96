#include "registry.hpp"

#include <string>
#include <utility>

#include "ask.hpp"
#include "bytes.hpp"
#include "config.hpp"
#include "rules/region.hpp"
#include "storage/memory/memory_storage.hpp"
#if RATEL_REDIS
#include "storage/redis/redis_storage.hpp"
#endif

using namespace ratel::capi;

namespace ratel::capi {
namespace {

constexpr uint64_t kDefaultMaxKeys = 1'000'000;

std::unique_ptr<Storage> MakeEmbedded(const rl_config& config) {
  const uint64_t stated = config.builder.rules().max_keys;
  MemoryOptions options;
  options.max_keys = config.max_keys != 0 ? config.max_keys : stated != 0 ? stated : kDefaultMaxKeys;
  return MakeMemoryStorage(options);
}

/// The host's callbacks, on their way from a config to a registry: they go back unless the registry was made.
class Handover {
 public:
  Handover(rl_config& config, Registry::Options& options) noexcept
      : config_(config), options_(options), host_(config.storage != nullptr) {
    options_.clock = std::move(config_.clock);
    options_.log = std::move(config_.log);
    if (host_) options_.storage = std::move(config_.storage);
    had_clock_ = options_.clock != nullptr;
    had_log_ = options_.log != nullptr;
  }
  ~Handover() {
    if (done_) return;
    config_.clock = std::move(options_.clock);
    config_.log = std::move(options_.log);
    if (host_) config_.storage = std::move(options_.storage);
  }
  Handover(const Handover&) = delete;
  Handover& operator=(const Handover&) = delete;

  void Done() noexcept {
    done_ = true;
    config_.clock_gone = had_clock_;
    config_.log_gone = had_log_;
    config_.storage_gone = host_;
  }

 private:
  rl_config& config_;
  Registry::Options& options_;
  bool host_;
  bool had_clock_ = false;
  bool had_log_ = false;
  bool done_ = false;
};

/// The storage of a Redis that the config names; null when it names none.
Result<std::unique_ptr<Storage>> MakeRemote(const rl_config& config) {
#if RATEL_REDIS
  if (config.redis) {
    if (!config.secret) {
      return Error{Status::kConfig,
                   "Redis is shared, and so has to be the secret that keys are hashed with: give every process the "
                   "same one, 16 to 1024 bytes, with rl_config_set_secret",
                   {},
                   {},
                   {}};
    }
    return MakeRedisStorage(*config.redis);
  }
#endif
  static_cast<void>(config);
  return std::unique_ptr<Storage>();
}

/// `remote` is null unless the storage is a server.
std::unique_ptr<Registry> MakeEngine(rl_config& config, std::unique_ptr<Storage> remote) {
  Registry::Options options;
  options.rules = config.builder.rules();
  options.readable_keys = config.readable_keys;
  options.region = config.region;
  if (config.secret) options.hasher = KeyedHasher::FromSecret(*config.secret);
  (config.storage || remote ? options.fallback : options.storage) = MakeEmbedded(config);
  if (remote) options.storage = std::move(remote);
  Handover handover(config, options);
  std::unique_ptr<Registry> engine = Registry::Create(std::move(options));
  handover.Done();
  return engine;
}

rl_status CheckCallbacks(const rl_config& config, const ErrorOut& error) noexcept {
  const char* gone = config.storage_gone ? "storage" : config.clock_gone ? "clock" : config.log_gone ? "log" : nullptr;
  if (gone == nullptr) return RL_OK;
  return error.Fail(RL_E_STATE, "the config's %s belongs to the registry that was made with it: set it anew", gone);
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_registry_create(rl_config* config, rl_registry** out, rl_error* err) {
  if (out != nullptr) *out = nullptr;
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "out is NULL");
    rl_status status = CheckHandle(config, "config", error);
    if (status == RL_OK) status = CheckRules(*config, error);
    if (status == RL_OK) status = CheckCallbacks(*config, error);
    if (status != RL_OK) return status;
    auto registry = std::make_unique<rl_registry>();
    auto remote = MakeRemote(*config);
    if (!remote) return error.Fail(remote.error(), 1);
    const ratel::RuleSet& rules = config->builder.rules();
    const auto faults = *remote != nullptr ? ratel::Registry::Check(rules, **remote, config->region)
                                           : ratel::FindRegionFaults(rules, config->region);
    if (!faults.empty()) return error.Fail(faults);
    registry->engine = MakeEngine(*config, std::move(*remote));
    *out = registry.release();
    return RL_OK;
  });
}

void rl_registry_destroy(rl_registry* registry) {
  if (IsLive(registry)) delete registry;
}

rl_status rl_registry_reload(rl_registry* registry, const rl_config* config, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckHandle(config, "config", error);
    if (status != RL_OK) return status;
    if (const rl_status refused = CheckRules(*config, error)) {
      if (!config->faults.empty()) {
        registry->engine->ReloadRefused(config->faults.front(), config->faults.size());
      } else {
        registry->engine->ReloadRefused(
            {ratel::Status::kConfig, "the config holds no rules that could be put in force", {}, {}, {}}, 1);
      }
      return refused;
    }
    if (const auto faults = registry->engine->Check(config->builder.rules()); !faults.empty()) {
      registry->engine->ReloadRefused(faults.front(), faults.size());
      return error.Fail(faults);
    }
    registry->engine->Reload(config->builder.rules());
    return RL_OK;
  });
}

rl_status rl_registry_reload_file(rl_registry* registry, rl_str path, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckPath(path, "path", error);
    if (status != RL_OK) return status;
    if (path.size == 0) return error.Fail(RL_E_INVALID_ARGUMENT, "path is empty");
    const auto faults = registry->engine->ReloadPath(std::string(View(path)));
    return faults.empty() ? RL_OK : error.Fail(faults);
  });
}

uint64_t rl_registry_generation(const rl_registry* registry) {
  return IsLive(registry) ? registry->engine->generation() : 0;
}

rl_status rl_registry_key_count(rl_registry* registry, uint64_t* out, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(registry, "registry", error)) return status;
    if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "out is NULL");
    *out = 0;
    uint64_t keys = 0;
    const rl_status status = ToC(registry->engine->KeyCount(keys));
    if (status != RL_OK) return error.Fail(status, "the storage did not count its keys (%s)", rl_status_name(status));
    *out = keys;
    return RL_OK;
  });
}

rl_status rl_registry_evict_idle(rl_registry* registry, uint64_t cutoff_ns, uint64_t* evicted, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(registry, "registry", error)) return status;
    if (evicted == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "evicted is NULL");
    *evicted = 0;
    if (cutoff_ns > RL_NOW_MAX_NS) return error.Fail(RL_E_INVALID_ARGUMENT, "cutoff_ns is above RL_NOW_MAX_NS");
    uint64_t dropped = 0;
    const rl_status status = ToC(registry->engine->EvictIdle(cutoff_ns, dropped));
    if (status == RL_E_INVALID_ARGUMENT) return FailForTheClock(error);
    if (status != RL_OK) return error.Fail(status, "the storage did not sweep its keys (%s)", rl_status_name(status));
    *evicted = dropped;
    return RL_OK;
  });
}

rl_status rl_registry_diff(rl_registry* registry, const rl_config* config, uint32_t flags, char* buffer,
                           uint64_t capacity, uint64_t* needed, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckHandle(config, "config", error);
    if (status == RL_OK) status = CheckRules(*config, error);
    if (status == RL_OK) status = CheckTextFlags(flags, error);
    if (status != RL_OK) return status;
    const auto changes = registry->engine->DiffWith(config->builder.rules());
    const std::string text = flags == RL_TEXT_JSON ? ratel::ToJson(changes) : ratel::ToText(changes);
    return WriteText(text, buffer, capacity, needed, error);
  });
}

uint32_t rl_rule_count(const rl_registry* registry) { return IsLive(registry) ? registry->engine->RuleCount() : 0; }

uint32_t rl_rule_at(const rl_registry* registry, uint32_t index) {
  return IsLive(registry) ? registry->engine->RuleAt(index) : 0;
}

rl_status rl_rule_id(const rl_registry* registry, rl_str name, uint32_t* out, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (out != nullptr) *out = 0;
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckBytes(name, "name", error);
    if (status != RL_OK) return status;
    if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "out is NULL");
    *out = registry->engine->RuleId(View(name));
    if (*out != 0) return RL_OK;
    const int shown = static_cast<int>(name.size < 128 ? name.size : 128);
    return error.Fail(RL_E_NOT_FOUND, "no rule in force has the name \"%.*s\"", shown,
                      name.data == nullptr ? "" : name.data);
  });
}

rl_str rl_rule_name(const rl_registry* registry, uint32_t rule) {
  return IsLive(registry) ? ToC(registry->engine->RuleName(rule)) : rl_str{nullptr, 0};
}

rl_str rl_limit_name(const rl_registry* registry, uint32_t limit_id) {
  return IsLive(registry) ? ToC(registry->engine->LimitName(limit_id)) : rl_str{nullptr, 0};
}
