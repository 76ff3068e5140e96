#include "core/wide.hpp"

#include <gtest/gtest.h>

#include <random>

#include "core/time.hpp"

namespace ratel {
namespace {

TEST(Semantics3Arithmetic, DivisorIsExactBelowItsBound) {
  constexpr uint64_t kBound = uint64_t{1} << 53;
  std::mt19937_64 random(1);
  for (int i = 0; i < 500'000; ++i) {
    const uint64_t d = 1 + (random() & (kBound - 1)) / (uint64_t{1} << random() % 53);
    const Divisor divisor(d);
    const uint64_t multiple = random() % (kBound / d + 1) * d;
    for (const uint64_t x :
         {random() & (kBound - 1), multiple, SubtractFloor(multiple, 1), multiple + 1, uint64_t{0}, kBound - 1}) {
      if (x >= kBound) continue;
      ASSERT_EQ(divisor.Floor(x), x / d) << x << " / " << d;
      const bool in_bounds = x + d - 1 < kBound;
      ASSERT_TRUE(!in_bounds || divisor.Ceil(x) == CeilDiv(x, d)) << x << " / " << d;
    }
  }
}

// A multiple is where a product in double falls to either side of a whole number.
TEST(Semantics3Arithmetic, DivisorIsExactAtMultiplesAndNextToThem) {
  constexpr uint64_t kBound = uint64_t{1} << 53;
  std::mt19937_64 random(2);
  const auto check = [&random](uint64_t d) {
    const Divisor divisor(d);
    const uint64_t most = (kBound - 1) / d;
    for (const uint64_t times : {most, most / 2 + 1, random() % (most + 1), random() % (most + 1)}) {
      for (const uint64_t x : {SubtractFloor(times * d, 1), times * d, times * d + 1}) {
        if (x >= kBound) continue;
        ASSERT_EQ(divisor.Floor(x), x / d) << x << " / " << d;
        ASSERT_EQ(divisor.Ceil(x), CeilDiv(x, d)) << x << " / " << d;
      }
    }
  };
  for (uint64_t d = 1; d <= uint64_t{1} << 17; ++d) check(d);
  for (unsigned bits = 17; bits < 53; ++bits) {
    for (uint64_t below = 1; below <= 3; ++below) check((uint64_t{2} << bits) - below);
    for (uint64_t above = 0; above <= 3; ++above) check((uint64_t{1} << bits) + above);
    for (int i = 0; i < 1000; ++i) check((uint64_t{1} << bits) + random() % (uint64_t{1} << bits));
  }
}

TEST(Semantics3Arithmetic, ProductsAreWide) {
  EXPECT_EQ(MulDivFloor(UINT64_MAX, UINT64_MAX, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(MulDivFloor(7, 3, 2), 10u);
  EXPECT_EQ(MulDivCeil(7, 3, 2), 11u);
  EXPECT_EQ(MulDivCeil(8, 3, 2), 12u);
  EXPECT_EQ(MulDivCeil(UINT64_MAX, 2, 4), uint64_t{1} << 63);
  EXPECT_EQ(CeilDiv(UINT64_MAX, 2), uint64_t{1} << 63);
  EXPECT_EQ(CeilDiv(0, 5), 0u);
  EXPECT_EQ(SubtractFloor(3, 5), 0u);
  EXPECT_EQ(SubtractFloor(5, 3), 2u);
}

TEST(Semantics4Time, NanosecondsAreFloored) {
  EXPECT_EQ(FloorToMicros(999), 0u);
  EXPECT_EQ(FloorToMicros(1000), 1u);
  EXPECT_EQ(FloorToMicros(UINT64_MAX), UINT64_MAX / 1000);
}

}  // namespace
}  // namespace ratel
