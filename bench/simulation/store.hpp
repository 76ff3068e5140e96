// The shared store and the way to it, in virtual time: lag is in the order of the requests; loss and outages are here.
#pragma once

#include <ratel/rl.h>

#include <cstdint>
#include <memory_resource>
#include <string>
#include <unordered_map>
#include <utility>

#include "world.hpp"

namespace simulation {

class Store {
 public:
  Store(World& world, double loss) : world_(world), loss_(loss) {}

  /// It as a custom storage; has to outlive the registry.
  rl_storage StorageOf();
  void Fail(bool on) { down_ = on; }
  void Forget() { held_.clear(); }
  uint64_t calls() const { return calls_; }

 private:
  /// The keyed hash that a state's name ends with; the rest is the same for all, since there is one rule.
  struct Key {
    uint64_t high = 0;
    uint64_t low = 0;
    bool operator==(const Key&) const = default;
  };
  struct Hash {
    size_t operator()(const Key& key) const noexcept { return key.low; }
  };
  using Held = std::pair<std::pmr::string, Nanoseconds>;  ///< a state, and until when

  static Key KeyOf(const rl_cell& cell);
  static rl_status Apply(void* self, rl_op* op, rl_cell* cells, uint32_t count);
  rl_status Apply(rl_op* op, rl_cell* cells, uint32_t count);
  void Write(const rl_cell& cell);
  void DropExpired();

  World& world_;
  const double loss_;
  bool down_ = false;
  uint64_t calls_ = 0;
  Nanoseconds dropped_at_ = kStart;
  std::pmr::unsynchronized_pool_resource memory_;
  std::pmr::unordered_map<Key, Held, Hash> held_{&memory_};
};

}  // namespace simulation
