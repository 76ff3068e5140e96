// What is the same for all of a mode: the true time, and chance.
#pragma once

#include <cstdint>
#include <random>

#include "settings.hpp"

namespace simulation {

/// When it begins.
inline constexpr Nanoseconds kStart = 1'800'000'000'000'000'000;

struct World {
  explicit World(uint64_t seed) : chance(seed) {}

  Nanoseconds now = kStart;
  std::mt19937_64 chance;

  double Uniform() { return static_cast<double>(chance() >> 11) * 0x1.0p-53; }
};

}  // namespace simulation
