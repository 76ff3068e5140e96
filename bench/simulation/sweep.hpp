// A few modes under several lags, losses and clocks.
#pragma once

#include "arguments.hpp"

namespace simulation {

/// Prints two tables and fills `json`. False when a bound does not hold, or an outcome is not the same again; looked at with `check` only.
bool Sweep(const Arguments& told, std::string& json);

}  // namespace simulation
