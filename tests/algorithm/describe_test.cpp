#include "algorithm/describe.hpp"

#include <gtest/gtest.h>

#include "algorithm/step.hpp"

namespace ratel {
namespace {

using enum Algorithm;

constexpr Micros kSecond = 1'000'000;
constexpr Micros kStart = 1'700'000'040 * kSecond;

Numbers Make(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  auto numbers = Resolve({algorithm, limit, window, burst});
  EXPECT_TRUE(numbers);
  return *numbers;
}

State Spent(const Numbers& numbers, uint64_t cost) {
  State state;
  EXPECT_TRUE(Step(numbers, state, kStart, cost, Spend::kYes).allowed);
  return state;
}

TEST(Describe, TellsALevel) {
  const Numbers numbers = Make(kTokenBucket, 5, kSecond);
  const State state = Spent(numbers, 2);
  EXPECT_EQ(Describe(numbers, state, kStart), "level 3 of 5 units, full in 400ms");
  EXPECT_EQ(Describe(numbers, state, kStart + 80'000), "level 3.4 of 5 units, full in 320ms");
  EXPECT_EQ(Describe(numbers, state, kStart + 1), "level 3 of 5 units, full in 399.999ms");
  EXPECT_EQ(Describe(numbers, state, kStart + 400'000), "nothing spent");
  State debt = state;
  Settle(numbers, debt, kStart, kStart, 2, 7);
  EXPECT_EQ(Describe(numbers, debt, kStart + 1), "level -2 of 5 units, full in 1.399999s");
}

TEST(Describe, TellsAQueue) {
  const Numbers numbers = Make(kLeakyBucket, 1, kSecond, 5);
  EXPECT_EQ(Describe(numbers, Spent(numbers, 2), kStart + kSecond / 2), "queue 1.5 of 5 units, empty in 1.5s");
  EXPECT_EQ(Describe(numbers, Spent(numbers, 2), kStart + 1), "queue 2 of 5 units, empty in 1.999999s");
}

TEST(Describe, TellsWindows) {
  const Numbers fixed = Make(kFixedWindow, 5, kSecond);
  EXPECT_EQ(Describe(fixed, Spent(fixed, 2), kStart + 600'000), "2 of 5 units in the window that ends in 400ms");
  const Numbers counter = Make(kSlidingCounter, 5, kSecond);
  State state = Spent(counter, 2);
  EXPECT_TRUE(Step(counter, state, kStart + 1'500'000, 3, Spend::kYes).allowed);
  EXPECT_EQ(Describe(counter, state, kStart + 1'500'000),
            "4 of 5 units: 3 in this window and 2 in the one before, which still weigh 1");
  const Numbers log = Make(kSlidingLog, 3, 60 * kSecond);
  EXPECT_EQ(Describe(log, {kStart + 60 * kSecond, 2}, kStart + 10 * kSecond),
            "2 of 3 units in the last 1m, the newest leaves in 50s");
}

TEST(Describe, TellsALimit) {
  EXPECT_EQ(Describe(Make(kTokenBucket, 60, 60 * kSecond, 10)), "token_bucket, 60 per 1m, burst 10");
  EXPECT_EQ(Describe(Make(kTokenBucket, 7, 86'400 * kSecond, 100'000)),
            "token_bucket, 7 per 1d, burst 100000, in steps of 10us");
  EXPECT_EQ(Describe(Make(kFixedWindow, 7, 250'000)), "fixed_window, 7 per 250ms");
}

}  // namespace
}  // namespace ratel
