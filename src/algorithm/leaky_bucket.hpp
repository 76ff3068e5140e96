// Leaky bucket as a queue: a shaper. It admits as the token bucket does and tells each admitted request how long to hold back, so that what
// goes on to the back end leaves evenly spaced. For back ends that suffer from bursts even when the average is fine.
//
// The queue starts empty, is `capacity` deep and drains at `limit / window` (Turner's leaky bucket of 1986, as a queue).
//
//   limit 1 per 1 s, burst 5, three requests at 0 s
//   arrive  ▼▼▼
//   queue   3 ┤█▆▅▄▃▂▁                delay = what is queued ahead / rate
//           0 ┼────────▶ t
//   leave     ▲  ▲  ▲                 at 0 s, 1 s, 2 s
#pragma once

#include "algorithm/bucket.hpp"

namespace ratel {

inline Outcome StepLeakyBucket(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  return StepBucket<true>(numbers, state, now, cost, spend);
}

}  // namespace ratel
