#include "algorithm/numbers.hpp"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace ratel {
namespace {

constexpr uint8_t kCoarsestTick = 6;
constexpr Micros kSecond = 1'000'000;

struct SpanUnit {
  Micros size;
  const char* name;
};
constexpr std::array<SpanUnit, 4> kSpanUnits{
    {{86'400 * kSecond, "d"}, {3600 * kSecond, "h"}, {60 * kSecond, "m"}, {kSecond, "s"}}};

Error Fault(const char* member, std::string message) {
  Error error;
  error.status = Status::kConfig;
  error.message = std::move(message);
  error.path = member;
  return error;
}

std::string Text(uint64_t number) { return std::to_string(number); }

/// The numbers under one tick, bounds not yet checked.
Numbers UnderTick(const LimitSpec& spec, uint8_t exponent, Micros tick) {
  Numbers numbers;
  numbers.spec = spec;
  numbers.capacity = spec.burst == 0 ? spec.limit : spec.burst;
  numbers.tick_exponent = exponent;
  numbers.tick = tick;
  numbers.window = spec.window / tick;
  numbers.per_window = Divisor(numbers.window);
  if (IsBucket(spec.algorithm)) {
    const uint64_t divisor = std::gcd(spec.limit, numbers.window);
    numbers.unit = numbers.window / divisor;
    numbers.refill = spec.limit / divisor;
    numbers.per_unit = Divisor(numbers.unit);
    numbers.per_refill = Divisor(numbers.refill);
  }
  return numbers;
}

/// The largest capacity that keeps every intermediate exact under these ticks; 0 when none does.
uint64_t LargestCapacity(const Numbers& numbers) {
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return SubtractFloor(kMaxExact, numbers.refill) / 3 / numbers.unit;
    case Algorithm::kFixedWindow:
      return kMaxExact / 3;
    case Algorithm::kSlidingLog:
      return kMaxWordLimit;
    case Algorithm::kSlidingCounter:
      return std::min(kMaxWordLimit, kMaxExact / 5 / numbers.window);
  }
  return 0;
}

/// Why no tick will do; `largest` is the largest capacity under any of them.
Error TooLarge(const LimitSpec& spec, uint64_t largest) {
  const std::string asked = std::string(ToText(spec.algorithm)) + " of " + Text(spec.limit) + " per " +
                            SpanToText(spec.window) + (spec.burst == 0 ? "" : ", burst " + Text(spec.burst)) +
                            " cannot be counted exactly: ";
  const std::string hint = spec.window % kSecond == 0 ? "" : "; a window of whole seconds allows more";
  switch (spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      if (largest == 0) return Fault("limit", asked + "choose a limit that shares more factors with the window" + hint);
      return Fault(spec.burst == 0 ? "limit" : "burst", asked + "the burst can be at most " + Text(largest) + hint);
    case Algorithm::kSlidingCounter:
      if (largest == 0) return Fault("window", asked + "the window is too long for its precision" + hint);
      return Fault("limit", asked + "the limit can be at most " + Text(largest) +
                                (largest < kMaxWordLimit ? " with this window" + hint : ""));
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingLog:
      break;
  }
  return Fault("limit", asked + "the limit can be at most " + Text(largest));
}

}  // namespace

const char* ToText(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
      return "token_bucket";
    case Algorithm::kLeakyBucket:
      return "leaky_bucket";
    case Algorithm::kFixedWindow:
      return "fixed_window";
    case Algorithm::kSlidingLog:
      return "sliding_log";
    case Algorithm::kSlidingCounter:
      return "sliding_counter";
  }
  return "unknown";
}

Result<Numbers> Resolve(const LimitSpec& spec) {
  if (spec.algorithm < Algorithm::kTokenBucket || spec.algorithm > Algorithm::kSlidingCounter) {
    return Fault("algorithm",
                 "unknown algorithm; token_bucket, leaky_bucket, fixed_window, sliding_log or sliding_counter");
  }
  if (spec.limit == 0) return Fault("limit", "limit must be at least 1; to let nothing through, use action: block");
  if (spec.window == 0) return Fault("window", "window must be at least 1us");
  if (spec.window > kMaxWindow) {
    return Fault("window", "window must be at most 10 years (" + SpanToText(kMaxWindow) + ")");
  }
  if (spec.burst != 0 && !IsBucket(spec.algorithm)) {
    return Fault("burst", std::string("burst has no meaning for ") + ToText(spec.algorithm) +
                              ", whose capacity is its limit; only token_bucket and leaky_bucket take one");
  }
  uint64_t largest = 0;  // capacity under any of the ticks, for the error
  Micros tick = 1;
  for (uint8_t exponent = 0; exponent <= kCoarsestTick && spec.window % tick == 0; ++exponent, tick *= 10) {
    Numbers numbers = UnderTick(spec, exponent, tick);
    largest = std::max(largest, LargestCapacity(numbers));
    if (numbers.capacity <= LargestCapacity(numbers)) {
      if (IsBucket(spec.algorithm)) numbers.full = numbers.capacity * numbers.unit;
      return numbers;
    }
  }
  return TooLarge(spec, largest);
}

std::string SpanToText(Micros span) {
  if (span == 0) return "0s";
  for (const SpanUnit& unit : kSpanUnits) {
    if (span % unit.size == 0) return Text(span / unit.size) + unit.name;
  }
  if (span < 1000) return Text(span) + "us";
  const Micros size = span < kSecond ? 1000 : kSecond;
  std::string text = Text(span / size);
  if (span % size != 0) {
    const std::string digits = Text(span % size + size);  // a leading 1 keeps the zeros
    text += '.' + digits.substr(1, digits.find_last_not_of('0'));
  }
  return text + (size == 1000 ? "ms" : "s");
}

}  // namespace ratel
