// Sliding counter: this window's count plus the previous one's, weighted by the part of it that is still within one window of now. Two words
// for any limit, and no burst across a border; it takes the previous window's requests for evenly spread, so against the exact log it may be
// off by what they were bunched. In integers: admit when prev * (W - e) + (cur + c) * W <= L * W, with e ticks into the window.
// Known from Cloudflare's "How we built rate limiting capable of scaling to millions of domains" (2017).
//
//   limit 5 per 1 s, five at 0.9 s
//   weight 5 ┤       ██▇▆▅▄▃▂▁            at 1.0 s the five still weigh 5: denied,
//            │       ██▇▆▅▄▃▂▁            at 1.2 s they weigh 4: one is admitted,
//          0 ┼────────┼────────┼──▶ t     at 2.0 s they are forgotten
//           0 s      1 s      2 s
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/fixed_window.hpp"

namespace ratel {

/// The largest count that a state holds: above twice any limit.
inline constexpr uint64_t kMaxCounterCount = 0xffffffffu;

/// A sliding counter as it counts for a request.
struct TwoCounts {
  Tick start = 0;    ///< of the window that `current` counts
  Tick elapsed = 0;  ///< ticks into it; 0 when now lies before it
  uint64_t previous = 0;
  uint64_t current = 0;
  bool pulled_back = false;  ///< the clock firewall moved both counts to the window that holds now
};

inline TwoCounts TwoCountsAt(const Numbers& numbers, const State& state, Tick now) noexcept {
  TwoCounts counts;
  if (state.expiry > now) {
    counts.previous = state.value >> 32;
    counts.current = state.value & kMaxCounterCount;
    counts.start = state.expiry - (counts.current == 0 ? numbers.window : 2 * numbers.window);
    if (counts.start > now) {
      if (counts.start - now <= numbers.window) return counts;
      counts.pulled_back = true;
    } else if (now - counts.start < numbers.window) {
      counts.elapsed = now - counts.start;
      return counts;
    } else {
      counts.previous = counts.current;
      counts.current = 0;
    }
  }
  counts.start = WindowStart(numbers, now);
  counts.elapsed = now - counts.start;
  return counts;
}

/// Units times ticks, at most kMaxExact, which is above the limit times the window: a count from before a reload may be far above the limit.
inline uint64_t Weight(uint64_t units, Tick ticks) noexcept {
  const Wide weight = static_cast<Wide>(units) * ticks;
  return weight > kMaxExact ? kMaxExact : static_cast<uint64_t>(weight);
}

/// What the previous window still weighs, in units times ticks.
inline uint64_t WeightOfPrevious(const Numbers& numbers, const TwoCounts& counts) noexcept {
  return Weight(counts.previous, numbers.window - counts.elapsed);
}

/// For a request that is denied now: the first tick at which it is admitted if nothing else comes.
inline Tick SlidingCounterRetryAt(const Numbers& numbers, const TwoCounts& counts, uint64_t cost) noexcept {
  const Tick end = counts.start + numbers.window;
  if (counts.current + cost <= numbers.capacity) {
    // Only the previous window is in the way. It weighs little enough once no more than so many ticks of it overlap.
    return end - (numbers.capacity - counts.current - cost) * numbers.window / counts.previous;
  }
  // The same in the next window, where today's current count is the previous one.
  return end + SubtractFloor(numbers.window, (numbers.capacity - cost) * numbers.window / counts.current);
}

inline void FinishSlidingCounter(const Numbers& numbers, const TwoCounts& left, Tick now, State& state,
                                 Outcome& outcome) noexcept {
  const uint64_t weight = numbers.per_window.Ceil(WeightOfPrevious(numbers, left));
  outcome.remaining = SubtractFloor(numbers.capacity, left.current + weight);
  State after;
  if (left.current != 0 || left.previous != 0) {
    after.expiry = left.start + (left.current == 0 ? numbers.window : 2 * numbers.window);
    after.value = left.previous << 32 | left.current;
  }
  outcome.reset_at = std::max(after.expiry, now);
  if (outcome.changed) state = after;
}

/// See Step.
inline Outcome StepSlidingCounter(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  TwoCounts counts = TwoCountsAt(numbers, state, now);
  const bool spending = spend == Spend::kYes;
  Outcome outcome;
  outcome.never_fits = cost > numbers.capacity;
  if (!outcome.never_fits) {
    const uint64_t after = WeightOfPrevious(numbers, counts) + Weight(counts.current + cost, numbers.window);
    outcome.allowed = after <= numbers.capacity * numbers.window;
    if (!outcome.allowed) {
      outcome.retry_at = SlidingCounterRetryAt(numbers, counts, cost);
    } else if (spending) {
      counts.current += cost;
    }
  }
  outcome.changed = spending && (outcome.allowed || counts.pulled_back);
  FinishSlidingCounter(numbers, counts, now, state, outcome);
  return outcome;
}

/// See Settle. The charge may lie in the current window or in the previous one.
inline Outcome SettleSlidingCounter(const Numbers& numbers, State& state, Tick now, Tick charged_at, uint64_t spent,
                                    uint64_t actual) noexcept {
  TwoCounts counts = TwoCountsAt(numbers, state, now);
  const TwoCounts before = counts;
  const Tick charged_window = WindowStart(numbers, charged_at);
  if (charged_window == counts.start) {
    counts.current = CorrectedCount(counts.current, numbers.capacity, spent, actual);
  } else if (charged_window + numbers.window == counts.start) {
    counts.previous = CorrectedCount(counts.previous, numbers.capacity, spent, actual);
  }
  Outcome outcome;
  outcome.allowed = true;
  outcome.changed = counts.current != before.current || counts.previous != before.previous || counts.pulled_back;
  FinishSlidingCounter(numbers, counts, now, state, outcome);
  return outcome;
}

}  // namespace ratel
