// What stands behind rl_registry.
#pragma once

#include <memory>

#include "handle.hpp"
#include "limiter/registry.hpp"
#include "watch.hpp"

/// Any threads: `engine` is set before anybody else sees the handle.
struct rl_registry {
  static constexpr uint64_t kMagic = ratel::capi::kRegistryMagic;
  ratel::capi::Magic magic{kMagic};
  std::unique_ptr<ratel::Registry> engine;
  ratel::capi::Watches watches;  ///< reload the engine, so they end before it
};
