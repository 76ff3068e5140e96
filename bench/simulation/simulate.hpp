// One mode from start to end.
#pragma once

#include <array>
#include <cstdint>

#include "modes.hpp"
#include "settings.hpp"

namespace simulation {

struct Outcome {
  uint64_t asked = 0;
  uint64_t admitted = 0;
  uint64_t ideal = 0;         ///< what one registry that sees all would have admitted
  uint64_t too_many = 0;      ///< over all clients, what each got above that
  uint64_t too_few = 0;       ///< and below
  uint64_t worst_window = 0;  ///< the most that one client had above the limit in one window
  uint64_t store_calls = 0;
  std::array<uint64_t, 8> by_source{};

  bool operator==(const Outcome&) const = default;
};

Outcome Simulate(const Mode& mode, const Settings& settings);

}  // namespace simulation
