// Integer arithmetic that cannot overflow: 128-bit products, saturating sums, and division by a divisor that is known early.
#pragma once

#include <cstdint>

namespace ratel {

__extension__ typedef unsigned __int128 Wide;

/// ceil(a / b); b > 0.
constexpr uint64_t CeilDiv(uint64_t a, uint64_t b) noexcept { return a == 0 ? 0 : (a - 1) / b + 1; }

/// a - b, or 0 when b is larger.
constexpr uint64_t SubtractFloor(uint64_t a, uint64_t b) noexcept { return a > b ? a - b : 0; }

/// floor(a * b / c), ceil(a * b / c); c > 0 and the quotient fits 64 bits.
constexpr uint64_t MulDivFloor(uint64_t a, uint64_t b, uint64_t c) noexcept {
  return static_cast<uint64_t>(static_cast<Wide>(a) * b / c);
}
constexpr uint64_t MulDivCeil(uint64_t a, uint64_t b, uint64_t c) noexcept {
  return static_cast<uint64_t>((static_cast<Wide>(a) * b + c - 1) / c);
}

/// Division by a fixed divisor: a multiplication by its reciprocal in double, corrected by at most one.
///
/// Exact for every dividend and divisor below 2^53, which is what the load-time bounds of every limit guarantee: the two roundings (of the
/// reciprocal and of the product) put the product off by less than 2^53 * 2^-52 / d = 2 / d; d = 1 and d = 2 have exact reciprocals, and from
/// d = 3 on that is less than one.
class Divisor {
 public:
  constexpr Divisor() noexcept = default;
  explicit constexpr Divisor(uint64_t d) noexcept : divisor_(d), inverse_(1.0 / static_cast<double>(d)) {}
  constexpr uint64_t value() const noexcept { return divisor_; }

  constexpr uint64_t Floor(uint64_t x) const noexcept {
    if (divisor_ == 1) return x;
    const uint64_t guess = Guess(x);
    const auto rest = static_cast<int64_t>(x - guess * divisor_);
    if (rest < 0) return guess - 1;
    return rest >= static_cast<int64_t>(divisor_) ? guess + 1 : guess;
  }

  constexpr uint64_t Ceil(uint64_t x) const noexcept {
    if (divisor_ == 1) return x;
    const uint64_t guess = Guess(x);
    // Only a multiple can be guessed too low, by one: below 2^53 the reciprocal's error takes no other product below its whole part, and rounding is
    // monotone. No multiple is guessed too high, and what is, is its own ceiling. So the sign tells.
    return static_cast<int64_t>(x - guess * divisor_) > 0 ? guess + 1 : guess;
  }

 private:
  constexpr uint64_t Guess(uint64_t x) const noexcept {
    return static_cast<uint64_t>(static_cast<int64_t>(static_cast<double>(static_cast<int64_t>(x)) * inverse_));
  }

  uint64_t divisor_ = 1;
  double inverse_ = 1.0;
};

}  // namespace ratel
