// The shared store and the way to it, in virtual time: lag is in the order of events; loss and outages are here.
#pragma once

#include <ratel/rl.h>

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace simulation {

using Nanoseconds = uint64_t;

/// What is the same for all: the true time, and chance.
struct World {
  Nanoseconds now = 0;
  std::mt19937_64 chance;

  double Uniform() { return static_cast<double>(chance() >> 11) * 0x1.0p-53; }
};

class Store {
 public:
  Store(World& world, double loss) : world_(world), loss_(loss) {}

  /// It as a custom storage; has to outlive the registry.
  rl_storage StorageOf();
  void Fail(bool on) { down_ = on; }
  void Forget() { held_.clear(); }
  uint64_t calls() const { return calls_; }

 private:
  struct Held {
    std::string state;
    Nanoseconds until;
  };

  static rl_status Apply(void* self, rl_op* op, rl_cell* cells, uint32_t count);
  rl_status Apply(rl_op* op, rl_cell* cells, uint32_t count);

  World& world_;
  const double loss_;
  bool down_ = false;
  uint64_t calls_ = 0;
  std::unordered_map<std::string, Held> held_;
};

}  // namespace simulation
