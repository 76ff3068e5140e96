// One mode from start to end.
#pragma once

#include "modes.hpp"
#include "outcome.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace simulation {

/// Any threads at once.
Outcome Simulate(const Mode& mode, const Settings& settings, const Traffic& traffic);
/// The first kAgain requests alone.
Counts SimulateAgain(const Mode& mode, const Settings& settings, const Traffic& traffic);

}  // namespace simulation
