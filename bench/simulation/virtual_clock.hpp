// The time of a thread: every clock that it or the engine reads on it tells the simulation's.
#pragma once

#include <cstdint>

namespace simulation {

void SetTime(uint64_t nanoseconds);

}  // namespace simulation
