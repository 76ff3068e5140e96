// A state in words, for explain.
#pragma once

#include <string>

#include "algorithm/numbers.hpp"
#include "algorithm/state.hpp"

namespace ratel {

/// One line about a state at an instant, without a full stop:
///   "level 3.4 of 5 units, full in 320ms", "queue 1.5 of 5 units, empty in 1.5s", "2 of 5 units in the window that ends in 400ms",
///   "4 of 5 units: 3 in this window and 2 in the one before, which still weigh 1", "2 of 3 units in the last 1m, the newest leaves in 50s",
///   "nothing spent".
/// Fractions of a unit have at most three digits and are rounded to the stricter side. A log's two words are taken to hold its units in force.
std::string Describe(const Numbers& numbers, const State& state, Micros now);

/// The limit itself: "token_bucket, 60 per 1m, burst 10", and ", in steps of 1ms" when its tick is not 1 us.
std::string Describe(const Numbers& numbers);

}  // namespace ratel
