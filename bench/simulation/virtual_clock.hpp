// The time of this whole process: every clock that it or the engine reads tells the simulation's.
#pragma once

#include <cstdint>

namespace simulation {

void SetTime(uint64_t nanoseconds);

}  // namespace simulation
