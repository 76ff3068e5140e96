// The numbers of a limit, checked once when a rule is loaded so that no step can overflow or lose a fraction afterwards.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.hpp"
#include "core/time.hpp"
#include "core/wide.hpp"

namespace ratel {

enum class Algorithm : uint8_t {
  kTokenBucket = 1,
  kLeakyBucket = 2,
  kFixedWindow = 3,
  kSlidingLog = 4,
  kSlidingCounter = 5,
};

/// "token_bucket" ... as in rule files.
const char* ToText(Algorithm algorithm) noexcept;

constexpr bool IsBucket(Algorithm algorithm) noexcept {
  return algorithm == Algorithm::kTokenBucket || algorithm == Algorithm::kLeakyBucket;
}

/// What a rule says.
struct LimitSpec {
  Algorithm algorithm = Algorithm::kTokenBucket;
  uint64_t limit = 0;  ///< units per window
  Micros window = 0;   ///< microseconds
  uint64_t burst = 0;  ///< buckets: capacity in units; 0 = limit
  friend bool operator==(const LimitSpec&, const LimitSpec&) = default;
};

/// What a step needs. rate = limit / window, always.
///
/// A bucket's level is held in credits: with g = gcd(limit, window) one unit is `unit = window / g` credits and one tick refills `refill = limit / g`,
/// whole numbers both, so nothing is ever rounded into the state.
struct Numbers {
  LimitSpec spec;
  uint64_t capacity = 0;      ///< units: burst, or the limit
  Tick window = 0;            ///< in ticks
  uint64_t unit = 1;          ///< buckets: credits per unit of cost
  uint64_t refill = 1;        ///< buckets: credits per tick
  uint64_t full = 0;          ///< buckets: capacity in credits
  uint8_t tick_exponent = 0;  ///< a tick is 10^tick_exponent us, 0 to 6
  Micros tick = 1;            ///< 10^tick_exponent
  Divisor per_unit;           ///< divides by `unit`
  Divisor per_refill;         ///< divides by `refill`
  Divisor per_window;         ///< divides by `window`

  Tick TickOf(Micros now) const noexcept { return tick_exponent == 0 ? now : now / tick; }
};

/// Every intermediate value of a step stays at or below this, so that doubles (in Redis) hold it exactly too.
inline constexpr uint64_t kMaxExact = (uint64_t{1} << 53) - 1;

/// The largest limit of a sliding counter (two counts share a word, and a late charge can double one) and of a sliding log (memory).
inline constexpr uint64_t kMaxWordLimit = (uint64_t{1} << 31) - 1;

/// Checks the bounds and chooses the tick: 1 us, or the finest power of ten of it (up to 1 s, dividing the window) under which every
/// intermediate stays at or below kMaxExact. The choice depends on the numbers alone, never on the storage.
///
///   buckets          3 * capacity * unit + refill     (a late charge may owe one capacity more, and then comes a cost)
///   fixed window     3 * limit
///   sliding log      3 * limit                        and limit <= kMaxWordLimit
///   sliding counter  5 * limit * window in ticks      and limit <= kMaxWordLimit
///
/// An error (Status::kConfig) names the bound that cannot be met and what would fit; its `path` is the member at fault: "limit", "window" or
/// "burst".
Result<Numbers> Resolve(const LimitSpec& spec);

/// A span as rule files write it, without loss: "250ms", "1.5s", "1m", "36h", "7d".
std::string SpanToText(Micros span);

}  // namespace ratel
