// Time in the engine: whole microseconds since the Unix epoch.
#pragma once

#include <cstdint>

namespace ratel {

/// Microseconds since the Unix epoch, or a span of them.
using Micros = uint64_t;

/// A count of a limit's own ticks (1 us, or a power of ten of it): an instant since the epoch, or a span.
using Tick = uint64_t;

/// The last instant the engine accepts (2^53 - 1 us, in the year 2255): doubles in Redis hold it exactly.
inline constexpr Micros kMaxMicros = (uint64_t{1} << 53) - 1;

/// The longest window: ten years, leap days included.
inline constexpr Micros kMaxWindow = uint64_t{3653} * 24 * 3600 * 1'000'000;

/// Nanoseconds enter and are floored.
constexpr Micros FloorToMicros(uint64_t ns) noexcept { return ns / 1000; }

}  // namespace ratel
