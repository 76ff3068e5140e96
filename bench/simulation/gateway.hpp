// One gateway: a registry of the engine and its clock.
#pragma once

#include <ratel/rl.h>

#include <cstdint>
#include <string>

#include "store.hpp"
#include "world.hpp"

namespace simulation {

class Gateway {
 public:
  /// Without a store it counts by itself. The world and the store have to outlive it.
  Gateway(World& world, const std::string& rules, Store* store, int64_t ahead);
  ~Gateway() { rl_registry_destroy(registry_); }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  /// `now` is whose clock counts.
  rl_decision Ask(uint64_t client, Nanoseconds now);
  Nanoseconds Now() const { return world_.now + static_cast<Nanoseconds>(ahead_); }

 private:
  World& world_;
  const int64_t ahead_;
  rl_registry* registry_ = nullptr;
  uint32_t rule_ = 0;
};

}  // namespace simulation
