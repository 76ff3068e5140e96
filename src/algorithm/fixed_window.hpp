// Fixed window: a count per window, the windows aligned to the Unix epoch. The cheapest to explain ("1000 per calendar hour, resets on the
// hour") and the least exact: up to twice the limit passes within one window's length when a burst lies across the border. The counting of
// INCR and EXPIRE in the Redis manual's rate-limiter pattern.
//
//   limit 5 per 1 s
//   count    5 ┤    █████│█████             five at 0.9 s, five more at 1.0 s: all ten pass
//            0 ┼─────────┼─────────▶ t
//             0 s       1 s       2 s
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/numbers.hpp"
#include "algorithm/outcome.hpp"
#include "algorithm/state.hpp"

namespace ratel {

/// The start of the window that holds an instant.
inline Tick WindowStart(const Numbers& numbers, Tick at) noexcept {
  return numbers.per_window.Floor(at) * numbers.window;
}

/// A count after a settle: what was spent is replaced by what it should have been, from nothing to twice the limit.
inline uint64_t CorrectedCount(uint64_t count, uint64_t limit, uint64_t spent, uint64_t actual) noexcept {
  if (actual <= spent) return SubtractFloor(count, spent - actual);
  return count + std::min(actual - spent, SubtractFloor(2 * limit, count));
}

/// A fixed window as it counts for a request.
struct WindowCount {
  Tick start = 0;
  uint64_t count = 0;
  bool pulled_back = false;  ///< the clock firewall moved the count into the window that holds now
};

inline WindowCount WindowCountAt(const Numbers& numbers, const State& state, Tick now) noexcept {
  if (state.expiry <= now) return {WindowStart(numbers, now), 0, false};
  const Tick start = state.expiry - numbers.window;
  if (start > now && start - now > numbers.window) return {WindowStart(numbers, now), state.value, true};
  return {start, state.value, false};
}

inline void FinishFixedWindow(const Numbers& numbers, const WindowCount& left, Tick now, State& state,
                              Outcome& outcome) noexcept {
  const Tick end = left.start + numbers.window;
  outcome.remaining = SubtractFloor(numbers.capacity, left.count);
  outcome.reset_at = left.count == 0 ? now : end;
  if (outcome.changed) state = left.count == 0 ? State{} : State{end, left.count};
}

/// See Step.
inline Outcome StepFixedWindow(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  WindowCount window = WindowCountAt(numbers, state, now);
  const bool spending = spend == Spend::kYes;
  Outcome outcome;
  outcome.never_fits = cost > numbers.capacity;
  if (!outcome.never_fits) {
    outcome.allowed = window.count + cost <= numbers.capacity;
    if (!outcome.allowed) {
      outcome.retry_at = window.start + numbers.window;
    } else if (spending) {
      window.count += cost;
    }
  }
  outcome.changed = spending && (outcome.allowed || window.pulled_back);
  FinishFixedWindow(numbers, window, now, state, outcome);
  return outcome;
}

/// See Settle.
inline Outcome SettleFixedWindow(const Numbers& numbers, State& state, Tick now, Tick charged_at, uint64_t spent,
                                 uint64_t actual) noexcept {
  WindowCount window = WindowCountAt(numbers, state, now);
  const uint64_t before = window.count;
  if (WindowStart(numbers, charged_at) == window.start) {
    window.count = CorrectedCount(before, numbers.capacity, spent, actual);
  }
  Outcome outcome;
  outcome.allowed = true;
  outcome.changed = window.count != before || window.pulled_back;
  FinishFixedWindow(numbers, window, now, state, outcome);
  return outcome;
}

}  // namespace ratel
