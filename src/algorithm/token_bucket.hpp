// Token bucket: bursts up to the capacity at once, `limit / window` on average. What most APIs want: a client that was quiet may catch up,
// a client that is busy is held to the rate, and the wait is as short as it can be.
//
// The bucket starts full and is refilled evenly, not in steps. Described as the "token bucket" meter in RFC 2697/2698 and RFC 3290; in its
// virtual-scheduling form it is the GCRA of ITU-T I.371.
//
//   limit 5 per 1 s
//   tokens 5 ┤█                        7 requests at 0 s: five are admitted,
//            │ █                 ▄▄██  two must wait 0.2 s for the next token,
//            │  █           ▄▄██       at 1.0 s the bucket is full again
//          0 ┼───█──▄▄▄██─────────▶ t
//            0 s     0.2 s    ...  1 s
#pragma once

#include "algorithm/bucket.hpp"

namespace ratel {

inline Outcome StepTokenBucket(const Numbers& numbers, State& state, Tick now, uint64_t cost, Spend spend) noexcept {
  return StepBucket<false>(numbers, state, now, cost, spend);
}

}  // namespace ratel
