// The token bucket of all peers: integers, debt in credits, as exact as Ratel's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "question.hpp"

namespace bench {

struct Bucket {
  uint64_t debt = 0;
  uint64_t at = 0;
};

struct Limit {
  Limit(uint64_t limit, uint64_t window_us)
      : unit(window_us / std::gcd(limit, window_us)), refill(limit / std::gcd(limit, window_us)), full(limit * unit) {}

  /// What is owed at an instant.
  uint64_t Debt(const Bucket& bucket, uint64_t now_us) const noexcept {
    return now_us > bucket.at ? bucket.debt - std::min((now_us - bucket.at) * refill, bucket.debt) : bucket.debt;
  }
  Answer Spend(Bucket& bucket, uint64_t now_us) const noexcept {
    const uint64_t debt = Debt(bucket, now_us) + unit;
    if (debt > full) return {false, (full - (debt - unit)) / unit};
    bucket = {debt, std::max(now_us, bucket.at)};
    return {true, (full - debt) / unit};
  }

  uint64_t unit;    ///< credits of one unit
  uint64_t refill;  ///< credits that come back in a microsecond
  uint64_t full;    ///< credits of the whole limit
};

}  // namespace bench
