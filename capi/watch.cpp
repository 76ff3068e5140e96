#include "watch.hpp"

#include <chrono>
#include <exception>
#include <string>
#include <utility>

#include "bytes.hpp"
#include "registry.hpp"
#if RATEL_REDIS
#include "storage/redis/key_watch.hpp"
#else
namespace ratel::redis {
class KeyWatch {};
}  // namespace ratel::redis
#endif

using namespace ratel::capi;

namespace ratel::capi {

Watches::Watches() = default;

Watches::~Watches() {
  // Nothing ends a thread that is not here.
  if (key_ != nullptr && IsForked()) LeaveToTheProcess(key_.release());
}

bool Watches::IsThisThread() {
#if RATEL_REDIS
  const std::lock_guard lock(mutex_);
  return key_ != nullptr && key_->IsThisThread();
#else
  return false;
#endif
}

void Watches::Replace(std::unique_ptr<redis::KeyWatch> watch) {
  const std::lock_guard lock(mutex_);
  key_.swap(watch);
}

namespace {

rl_status CheckInterval(uint32_t interval_ms, uint32_t least, const ErrorOut& error) noexcept {
  if (interval_ms == 0 || interval_ms >= least) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "interval_ms is %u, below %u", interval_ms, least);
}

rl_status CheckThread(rl_registry& registry, const ErrorOut& error) {
  if (registry.watches.IsForked())
    return error.Fail(RL_E_STATE, "the registry was made before this process was forked: make one here");
  if (!registry.watches.IsThisThread()) return RL_OK;
  return error.Fail(RL_E_STATE, "the watch cannot be changed from its own thread");
}

/// No file is watched any more; RL_E_STATE on the thread that watches it.
rl_status EndFileWatch(rl_registry& registry, const ErrorOut& error) {
  const auto faults = registry.engine->Watch("", std::chrono::milliseconds(1000));
  return faults.empty() ? RL_OK : error.Fail(faults);
}

#if RATEL_REDIS
using ratel::redis::KeyWatch;

void TellMissing(Registry& engine, const KeyWatch& watch, const std::string& why) {
  engine.Tell(Log::Level::kWarning, "no rules from " + watch.Shown() + ": " + why + "; those in force stay");
}

KeyWatch::Hearer HearerOf(Registry& engine, const KeyWatch& watch) {
  return {[&engine, &watch](const std::string& text) {
            try {
              engine.ReloadText(text, watch.Shown());
            } catch (const std::exception& failure) {
              engine.ReloadRefused({Status::kNoMemory, failure.what(), {}, {}, {}}, 1);
            }
          },
          [&engine, &watch](const std::string& why) { TellMissing(engine, watch, why); }};
}

rl_status WatchKey(rl_registry& registry, rl_str url, rl_str key, std::chrono::milliseconds interval,
                   const ErrorOut& error) {
  const auto options = ratel::redis::ParseUrl(View(url));
  const auto refused = [&](const Error& fault) {
    const rl_status status = fault.status == Status::kUnsupported ? RL_E_UNSUPPORTED : RL_E_INVALID_ARGUMENT;
    return error.Fail(status, "%s", fault.message.c_str());
  };
  if (!options) return refused(options.error());
  auto client = ratel::redis::KeyClient::Make(*options);
  if (!client) return refused(client.error());
  auto watch = std::make_unique<KeyWatch>(std::move(*client), std::string(View(key)));
  const Result<std::string> first = watch->Look();
  if (first) {
    const auto faults = registry.engine->ReloadText(*first, watch->Shown());
    if (!faults.empty()) return error.Fail(faults);
  } else {
    TellMissing(*registry.engine, *watch, first.error().message);
  }
  if (const rl_status status = EndFileWatch(registry, error)) return status;
  watch->Start(interval, HearerOf(*registry.engine, *watch));
  registry.watches.Replace(std::move(watch));
  return RL_OK;
}
#endif

}  // namespace
}  // namespace ratel::capi

rl_status rl_registry_watch(rl_registry* registry, rl_str path, uint32_t interval_ms, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckPath(path, "path", error);
    if (status == RL_OK) status = CheckInterval(interval_ms, 10, error);
    if (status == RL_OK) status = CheckThread(*registry, error);
    if (status != RL_OK) return status;
    const std::chrono::milliseconds interval(interval_ms == 0 ? 1000 : interval_ms);
    const auto faults = registry->engine->Watch(std::string(View(path)), interval);
    if (!faults.empty()) return error.Fail(faults);
    registry->watches.Replace(nullptr);
    return RL_OK;
  });
}

rl_status rl_registry_watch_redis(rl_registry* registry, rl_str url, rl_str key, uint32_t interval_ms, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckBytes(url, "url", error);
    if (status == RL_OK) status = CheckBytes(key, "key", error);
    if (status == RL_OK) status = CheckInterval(interval_ms, 100, error);
    if (status == RL_OK) status = CheckThread(*registry, error);
    if (status != RL_OK) return status;
    if (url.size == 0 || key.size == 0) {
      if (const rl_status bad = EndFileWatch(*registry, error)) return bad;
      registry->watches.Replace(nullptr);
      return RL_OK;
    }
#if RATEL_REDIS
    return WatchKey(*registry, url, key, std::chrono::milliseconds(interval_ms == 0 ? 5000 : interval_ms), error);
#else
    return error.Fail(RL_E_UNSUPPORTED, "this build has no Redis: rl_features lacks RL_FEATURE_REDIS");
#endif
  });
}
