// What becomes of a state when its limit's numbers change in a reload. Nothing is handed back, not even by rounding.
#pragma once

#include <span>
#include <vector>

#include "algorithm/numbers.hpp"
#include "algorithm/state.hpp"

namespace ratel {

/// The state under `to` that continues `state`, which was held under `from`, at `now`. Same algorithm on both sides; any valid state of `from`
/// gives a valid state of `to`. A state that equals "new" at `now` stays new; the same numbers leave it as it is.
///
///   token bucket     the level in units, at most the new capacity; a debt at most one new capacity deep
///   leaky bucket     the queue in units, at most the new capacity; what a late charge queued beyond the old capacity stays beyond the new,
///                    at most one new capacity of it
///   fixed window     the running count, however far above the new limit, moves into the new window that holds now
///   sliding counter  likewise, and what the previous window still weighs is added to it, rounded up; at most kMaxCounterCount, which is
///                    more than twice any limit
///   sliding log      has no use for this: ConvertEntries
State Convert(const Numbers& from, const Numbers& to, const State& state, Micros now) noexcept;

/// The entries of a sliding log that are in force under `from` at `now`, as they are. Their instants go into the ticks of `to`: rounded up, but
/// what was not ahead of now does not get ahead of it. (Resolve gives every log ticks of 1 us, so nothing is rounded as long as it does.)
std::vector<LogEntry> ConvertEntries(const Numbers& from, const Numbers& to, std::span<const LogEntry> entries,
                                     Micros now);

}  // namespace ratel
