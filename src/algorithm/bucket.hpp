// The level of a bucket, shared by the token bucket and the leaky bucket: both owe credits that time pays back.
//
// A level is kept as the debt at a stored instant, in credits (see Numbers): what is missing in a token bucket, what is queued in a leaky
// one. One tick pays back exactly `refill` credits and one unit costs exactly `unit`, so no remainder is ever dropped and nothing drifts.
//
//   debt
//   full ┤      ╭─╮                    a request adds cost * unit at its instant,
//        │   ╭──╯ ╰──╮                 every tick takes `refill` away,
//        │ ──╯       ╰───╮             at `expiry` the state equals "new"
//      0 ┼───────────────╰────────▶ t
//           stored     expiry = stored + ceil(debt / refill)
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/numbers.hpp"
#include "algorithm/outcome.hpp"
#include "algorithm/state.hpp"

namespace ratel {

/// A bucket as it counts for a request.
struct Level {
  Tick at = 0;               ///< now, or the stored instant when that is later
  uint64_t debt = 0;         ///< credits at `at`
  bool pulled_back = false;  ///< the clock firewall moved the stored instant to now
};

inline Level LevelAt(const Numbers& numbers, const State& state, Tick now) noexcept {
  if (state.expiry <= now) return {now, 0, false};
  const uint64_t left = state.expiry - now;
  const uint64_t whole = numbers.per_refill.Ceil(state.value);
  if (left <= whole) [[likely]]
    return {now, state.value - (whole - left) * numbers.refill, false};
  const uint64_t ahead = left - whole;
  if (ahead > numbers.window) return {now, state.value, true};
  return {now + ahead, state.value, false};
}

/// Fills what an outcome says about a bucket as it is left, and stores that when it changed.
inline void FinishBucket(const Numbers& numbers, const Level& left, Tick now, State& state, Outcome& outcome) noexcept {
  outcome.reset_at = left.debt == 0 ? now : left.at + numbers.per_refill.Ceil(left.debt);
  outcome.remaining = left.debt >= numbers.full ? 0 : numbers.per_unit.Floor(numbers.full - left.debt);
  if (outcome.changed) state = left.debt == 0 ? State{} : State{outcome.reset_at, left.debt};
}

/// Token bucket and leaky bucket; `kWithDelay` tells a queue's delay. See Step.
template <bool kWithDelay>
inline Outcome StepBucket(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  const Level level = LevelAt(numbers, state, now);
  const bool spending = spend == Spend::kYes;
  Outcome outcome;
  outcome.never_fits = cost > numbers.capacity;
  if (!outcome.never_fits) [[likely]] {
    const uint64_t after = level.debt + cost * numbers.unit;
    outcome.allowed = after <= numbers.full;
    if (outcome.allowed) [[likely]] {
      if constexpr (kWithDelay) outcome.delay = numbers.per_refill.Ceil(level.debt);
      if (spending) {
        // What FinishBucket makes of it, as a cost is at least one and what is admitted fits.
        outcome.changed = true;
        outcome.reset_at = level.at + numbers.per_refill.Ceil(after);
        outcome.remaining = numbers.per_unit.Floor(numbers.full - after);
        state = {outcome.reset_at, after};
        return outcome;
      }
    } else {
      outcome.retry_at = level.at + numbers.per_refill.Ceil(after - numbers.full);
    }
  }
  outcome.changed = spending && level.pulled_back;
  FinishBucket(numbers, level, now, state, outcome);
  return outcome;
}

/// Both buckets. See Settle.
inline Outcome SettleBucket(const Numbers& numbers, State& state, Tick now, uint64_t spent, uint64_t actual) noexcept {
  Level level = LevelAt(numbers, state, now);
  const uint64_t before = level.debt;
  const uint64_t deepest = 2 * numbers.full;
  const uint64_t units = std::min(actual > spent ? actual - spent : spent - actual, 2 * numbers.capacity);
  const uint64_t credits = units * numbers.unit;
  level.debt = actual > spent ? std::min(before + credits, deepest) : SubtractFloor(before, credits);
  Outcome outcome;
  outcome.allowed = true;
  outcome.changed = level.debt != before || level.pulled_back;
  FinishBucket(numbers, level, now, state, outcome);
  return outcome;
}

}  // namespace ratel
