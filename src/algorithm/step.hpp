// The one entry point of the four algorithms whose state is two words: token bucket, leaky bucket, fixed window, sliding counter.
// The sliding log has its own (sliding_log.hpp), as its entries live wherever a store keeps them.
//
// Pure: no clock, no lock, no allocation; a store calls it under whatever makes its read - step - write indivisible.
#pragma once

#include "algorithm/fixed_window.hpp"
#include "algorithm/leaky_bucket.hpp"
#include "algorithm/sliding_counter.hpp"
#include "algorithm/token_bucket.hpp"

namespace ratel {

/// Decides about `cost` (1 or more) units at `now`, in the limit's ticks.
///
/// kYes: `state` is replaced exactly when outcome.changed, that is when the request was admitted or when the clock firewall pulled the state
/// back (even on a denial, so that the repair lasts). A state that equals "new" is left as {0, 0}.
/// kNo: nothing is written; `allowed` says whether it would be admitted, `remaining` and `reset_at` are those of the untouched state.
///
/// An earlier `now` than the stored instant counts as the stored instant: no refill, no charge lost; waits stay absolute.
/// A cost above the capacity never fits; `remaining` is then still true.
inline Outcome Step(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
      return StepTokenBucket(numbers, state, now, cost, spend);
    case Algorithm::kLeakyBucket:
      return StepLeakyBucket(numbers, state, now, cost, spend);
    case Algorithm::kFixedWindow:
      return StepFixedWindow(numbers, state, now, cost, spend);
    case Algorithm::kSlidingCounter:
      return StepSlidingCounter(numbers, state, now, cost, spend);
    case Algorithm::kSlidingLog:
      break;
  }
  return {};
}

/// Replaces `spent`, charged at `charged_at`, by `actual`, known at `now`. The answer is always allowed; `remaining` and `reset_at` are those
/// after it, and `changed` says whether `state` was replaced.
///
/// A give-back never lifts a balance above full. A late charge may take it below zero, at most one capacity deep. Windows are corrected only
/// while the window that holds `charged_at` still counts; later nothing happens.
inline Outcome Settle(const Numbers& numbers, State& state, Tick now, Tick charged_at, uint64_t spent,
                      uint64_t actual) noexcept {
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return SettleBucket(numbers, state, now, spent, actual);
    case Algorithm::kFixedWindow:
      return SettleFixedWindow(numbers, state, now, charged_at, spent, actual);
    case Algorithm::kSlidingCounter:
      return SettleSlidingCounter(numbers, state, now, charged_at, spent, actual);
    case Algorithm::kSlidingLog:
      break;
  }
  return {};
}

}  // namespace ratel
