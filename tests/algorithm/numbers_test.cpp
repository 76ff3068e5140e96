// Resolve: bounds, ticks, messages (semantics.md 1 and 3).

#include "algorithm/numbers.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <random>
#include <string>

namespace ratel {
namespace {

using enum Algorithm;

constexpr Micros kSecond = 1'000'000;
constexpr Micros kDay = 86'400 * kSecond;
constexpr Algorithm kAll[] = {kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingLog, kSlidingCounter};

Error Refusal(const LimitSpec& spec) {
  auto numbers = Resolve(spec);
  EXPECT_FALSE(numbers);
  return numbers ? Error{} : numbers.error();
}

bool Says(const Error& error, const std::string& text) { return error.message.find(text) != std::string::npos; }

TEST(Resolve, ReducesTheRate) {
  const auto numbers = Resolve({kTokenBucket, 60, 60 * kSecond, 10});
  ASSERT_TRUE(numbers);
  EXPECT_EQ(numbers->capacity, 10u);
  EXPECT_EQ(numbers->unit, kSecond);
  EXPECT_EQ(numbers->refill, 1u);
  EXPECT_EQ(numbers->full, 10 * kSecond);
  EXPECT_EQ(numbers->window, 60 * kSecond);
  EXPECT_EQ(numbers->tick, 1u);
}

TEST(Resolve, BurstIsTheLimitUnlessStated) {
  EXPECT_EQ(Resolve({kLeakyBucket, 7, kSecond, 0})->capacity, 7u);
  EXPECT_EQ(Resolve({kLeakyBucket, 7, kSecond, 3})->capacity, 3u);
  EXPECT_EQ(Resolve({kSlidingLog, 7, kSecond, 0})->capacity, 7u);
}

TEST(Resolve, TakesTheFinestTickThatIsExact) {
  // 3 * C * W in micros would be above 2^53; in ticks of 10 us it is not.
  const auto coarse = Resolve({kTokenBucket, 7, kDay, 100'000});
  ASSERT_TRUE(coarse);
  EXPECT_EQ(coarse->tick_exponent, 1);
  EXPECT_EQ(coarse->tick, 10u);
  EXPECT_EQ(coarse->window, kDay / 10);
  EXPECT_EQ(Resolve({kTokenBucket, 7, kDay, 10'000})->tick_exponent, 0);
  EXPECT_EQ(Resolve({kSlidingCounter, 20'000, kDay, 0})->tick_exponent, 0);
  EXPECT_EQ(Resolve({kSlidingCounter, 21'000, kDay, 0})->tick_exponent, 1);
}

TEST(Resolve, KeepsEveryIntermediateBelowTwoToThe53) {
  std::mt19937_64 random(7);
  int resolved = 0;
  for (int i = 0; i < 200'000; ++i) {
    LimitSpec spec;
    spec.algorithm = kAll[random() % 5];
    spec.limit = random() >> (random() % 63);
    spec.window = random() >> (random() % 63);
    if (random() % 2) spec.window = spec.window / kSecond * kSecond;
    if (IsBucket(spec.algorithm) && random() % 2) spec.burst = random() >> (random() % 63);
    const auto numbers = Resolve(spec);
    if (!numbers) continue;
    ++resolved;
    ASSERT_EQ(numbers->window * numbers->tick, spec.window);
    ASSERT_LE(spec.window, kMaxWindow);
    switch (spec.algorithm) {
      case kTokenBucket:
      case kLeakyBucket:
        ASSERT_LE(static_cast<Wide>(3) * numbers->capacity * numbers->unit + numbers->refill, kMaxExact);
        ASSERT_EQ(static_cast<Wide>(numbers->refill) * numbers->window, static_cast<Wide>(spec.limit) * numbers->unit);
        ASSERT_EQ(std::gcd(numbers->refill, numbers->unit), 1u);
        ASSERT_EQ(numbers->full, numbers->capacity * numbers->unit);
        break;
      case kSlidingCounter:
        ASSERT_LE(static_cast<Wide>(5) * spec.limit * numbers->window, kMaxExact);
        ASSERT_LE(spec.limit, kMaxWordLimit);
        break;
      case kSlidingLog:
        ASSERT_LE(spec.limit, kMaxWordLimit);
        ASSERT_EQ(numbers->tick, 1u);
        break;
      case kFixedWindow:
        ASSERT_LE(static_cast<Wide>(3) * spec.limit, kMaxExact);
        break;
    }
  }
  EXPECT_GT(resolved, 10'000);
}

TEST(Resolve, RefusesWhatIsNotPositive) {
  for (const Algorithm algorithm : kAll) {
    EXPECT_EQ(Refusal({algorithm, 0, kSecond, 0}).path, "limit");
    EXPECT_EQ(Refusal({algorithm, 1, 0, 0}).path, "window");
    EXPECT_EQ(Refusal({algorithm, 1, kMaxWindow + 1, 0}).path, "window");
    EXPECT_TRUE(Resolve({algorithm, 1, kMaxWindow, 0}));
    EXPECT_TRUE(Resolve({algorithm, 1, 1, 0}));
  }
  EXPECT_FALSE(Resolve({static_cast<Algorithm>(0), 1, 1, 0}));
  EXPECT_FALSE(Resolve({static_cast<Algorithm>(6), 1, 1, 0}));
}

TEST(Resolve, RefusesABurstOnAWindow) {
  for (const Algorithm algorithm : {kFixedWindow, kSlidingLog, kSlidingCounter}) {
    const Error error = Refusal({algorithm, 5, kSecond, 5});
    EXPECT_EQ(error.status, Status::kConfig);
    EXPECT_EQ(error.path, "burst");
    EXPECT_TRUE(Says(error, std::string("burst has no meaning for ") + ToText(algorithm))) << error.message;
  }
}

/// The number that a refusal names after "at most ".
uint64_t Named(const Error& error) {
  const std::string mark = "at most ";
  const size_t found = error.message.find(mark);
  return found == std::string::npos ? 0 : std::stoull(error.message.substr(found + mark.size()));
}

TEST(Resolve, ARefusalNamesTheLargestThatFits) {
  for (const LimitSpec& refused :
       {LimitSpec{kTokenBucket, 999'999'937, kMaxWindow, 0}, LimitSpec{kLeakyBucket, 7, kMaxWindow, kMaxExact},
        LimitSpec{kTokenBucket, 7, kDay + 1, 1'000'000}, LimitSpec{kTokenBucket, 1, kMaxWindow, UINT64_MAX},
        LimitSpec{kTokenBucket, 2'000'000, kSecond, kMaxExact}}) {
    const Error error = Refusal(refused);
    LimitSpec spec = refused;
    spec.burst = Named(error);
    ASSERT_GT(spec.burst, 0u) << error.message;
    EXPECT_TRUE(Resolve(spec)) << error.message;
    ++spec.burst;
    EXPECT_FALSE(Resolve(spec)) << error.message;
  }
  for (const LimitSpec& refused :
       {LimitSpec{kFixedWindow, UINT64_MAX, kSecond, 0}, LimitSpec{kSlidingLog, kMaxExact, kSecond, 0},
        LimitSpec{kSlidingCounter, kMaxExact, kSecond, 0}, LimitSpec{kSlidingCounter, kMaxExact, kMaxWindow, 0},
        LimitSpec{kSlidingCounter, 1'000'000, kDay + 1, 0}}) {
    const Error error = Refusal(refused);
    EXPECT_EQ(error.path, "limit");
    LimitSpec spec = refused;
    spec.limit = Named(error);
    ASSERT_GT(spec.limit, 0u) << error.message;
    EXPECT_TRUE(Resolve(spec)) << error.message;
    ++spec.limit;
    EXPECT_FALSE(Resolve(spec)) << error.message;
  }
}

TEST(Resolve, SaysWhenAWholeNumberOfSecondsWouldHelp) {
  EXPECT_TRUE(Says(Refusal({kTokenBucket, 7, kDay + 1, 1'000'000}), "a window of whole seconds allows more"));
  EXPECT_FALSE(Says(Refusal({kTokenBucket, 7, kMaxWindow, kMaxExact}), "whole seconds"));
}

TEST(Resolve, ACoprimeLimitThatNoTickCanHoldIsRefused) {
  const Error error = Refusal({kTokenBucket, kMaxExact, kSecond, 1});
  EXPECT_EQ(error.path, "limit");
  EXPECT_TRUE(Says(error, "shares more factors")) << error.message;
}

TEST(ToText, NamesAsInRuleFiles) {
  EXPECT_STREQ(ToText(kTokenBucket), "token_bucket");
  EXPECT_STREQ(ToText(kLeakyBucket), "leaky_bucket");
  EXPECT_STREQ(ToText(kFixedWindow), "fixed_window");
  EXPECT_STREQ(ToText(kSlidingLog), "sliding_log");
  EXPECT_STREQ(ToText(kSlidingCounter), "sliding_counter");
}

TEST(SpanToText, LosesNothing) {
  EXPECT_EQ(SpanToText(0), "0s");
  EXPECT_EQ(SpanToText(1), "1us");
  EXPECT_EQ(SpanToText(250'000), "250ms");
  EXPECT_EQ(SpanToText(1'500), "1.5ms");
  EXPECT_EQ(SpanToText(1'500'000), "1.5s");
  EXPECT_EQ(SpanToText(1'000'001), "1.000001s");
  EXPECT_EQ(SpanToText(90 * kSecond), "90s");
  EXPECT_EQ(SpanToText(36 * 3600 * kSecond), "36h");
  EXPECT_EQ(SpanToText(7 * kDay), "7d");
  EXPECT_EQ(SpanToText(kMaxWindow), "3653d");
}

}  // namespace
}  // namespace ratel
