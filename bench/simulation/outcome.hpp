// What came of one mode.
#pragma once

#include <array>
#include <cstdint>

namespace simulation {

/// What has been counted up to some request.
struct Counts {
  uint64_t asked = 0;
  uint64_t admitted = 0;
  uint64_t ideal = 0;  ///< what one registry that sees all would have admitted
  uint64_t store_calls = 0;
  std::array<uint64_t, 8> by_source{};

  bool operator==(const Counts&) const = default;
};

/// A second run goes so far.
inline constexpr uint64_t kAgain = 2'000'000;

struct Outcome : Counts {
  uint64_t too_many = 0;    ///< over all clients, what each got above the ideal
  uint64_t too_few = 0;     ///< and below
  uint64_t most_above = 0;  ///< the most that one client had above the limit in one window
  uint64_t most_below = 0;  ///< and below the ideal, less what is excused
  Counts early;             ///< after kAgain requests, or all if they are fewer
};

}  // namespace simulation
