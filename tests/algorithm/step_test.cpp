// The edges of single steps: clocks (semantics.md 4), settle and costs (5), the stored words.

#include "algorithm/step.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "property/engine.hpp"

namespace ratel {
namespace {

using enum Algorithm;

constexpr Micros kSecond = 1'000'000;
constexpr Tick kStart = 1'700'000'040 * kSecond;

Engine Make(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  auto numbers = Resolve({algorithm, limit, window, burst});
  EXPECT_TRUE(numbers);
  return Engine(*numbers);
}

class EveryAlgorithm : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, EveryAlgorithm,
                         testing::Values(kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingLog, kSlidingCounter),
                         [](const auto& param) { return std::string(ToText(param.param)); });

TEST_P(EveryAlgorithm, WorksAtTheEpochAndAtTheEndOfTime) {
  for (const Tick now : {Tick{0}, Tick{1}, kMaxMicros - 1, kMaxMicros}) {
    Engine engine = Make(GetParam(), 2, kSecond);
    EXPECT_TRUE(engine.Ask(now, 1).allowed);
    EXPECT_TRUE(engine.Ask(now, 1).allowed);
    const Outcome denied = engine.Ask(now, 1);
    EXPECT_FALSE(denied.allowed);
    EXPECT_GT(denied.retry_at, now);
    EXPECT_GT(denied.reset_at, now);
    EXPECT_GT(engine.state.expiry, now);
  }
}

TEST_P(EveryAlgorithm, APeekWritesNothingAndTellsTheUntouchedState) {
  Engine engine = Make(GetParam(), 3, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 1).allowed);
  const Engine before = engine;
  const Outcome outcome = engine.Ask(kStart, 2, Spend::kNo);
  EXPECT_TRUE(outcome.allowed);
  EXPECT_FALSE(outcome.changed);
  EXPECT_EQ(outcome.remaining, 2u);
  EXPECT_EQ(outcome.reset_at, engine.state.expiry);
  EXPECT_TRUE(engine.SameState(before));
}

TEST_P(EveryAlgorithm, TheLargestCostNeverFits) {
  Engine engine = Make(GetParam(), 3, kSecond);
  for (const uint64_t cost : {uint64_t{4}, UINT64_MAX - 1, UINT64_MAX}) {
    const Outcome outcome = engine.Ask(kStart, cost);
    EXPECT_TRUE(outcome.never_fits);
    EXPECT_FALSE(outcome.allowed);
    EXPECT_FALSE(outcome.changed);
    EXPECT_EQ(outcome.remaining, 3u);
  }
}

// One window ahead or less: the clock went back, the stored instant stands.
TEST_P(EveryAlgorithm, AnEarlierInstantCountsAsTheStoredOne) {
  Engine engine = Make(GetParam(), 4, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 3).allowed);
  const State before = engine.state;
  EXPECT_TRUE(engine.Ask(kStart - kSecond, 1).allowed);
  const Outcome denied = engine.Ask(kStart - kSecond, 1);
  EXPECT_FALSE(denied.allowed);
  EXPECT_FALSE(denied.changed);
  EXPECT_GE(engine.state.expiry, before.expiry);
  EXPECT_GT(denied.retry_at, kStart);
  EXPECT_TRUE(engine.Peek(denied.retry_at, 1).allowed);
  EXPECT_FALSE(engine.Peek(denied.retry_at - 1, 1).allowed);
}

// More than one window ahead: pulled back, and that is stored even by a denial.
TEST_P(EveryAlgorithm, TheClockFirewallIsStoredByADenial) {
  Engine engine = Make(GetParam(), 4, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 4).allowed);
  const Tick now = kStart - 3 * kSecond;
  const Outcome peeked = engine.Peek(now, 1);
  EXPECT_FALSE(peeked.changed);
  const Outcome denied = engine.Ask(now, 1);
  EXPECT_FALSE(denied.allowed);
  EXPECT_TRUE(denied.changed);
  EXPECT_EQ(denied.remaining, 0u);
  EXPECT_EQ(denied.retry_at, peeked.retry_at);
  EXPECT_LE(denied.retry_at, now + 2 * kSecond);
  EXPECT_LE(engine.state.expiry, now + 2 * kSecond);
  const Outcome again = engine.Ask(now + 1, 1);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.retry_at, denied.retry_at);
  EXPECT_TRUE(engine.Ask(denied.retry_at, 1).allowed);
}

TEST_P(EveryAlgorithm, TheClockFirewallIsStoredByACostThatNeverFits) {
  Engine engine = Make(GetParam(), 4, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 4).allowed);
  const Outcome outcome = engine.Ask(kStart - 10 * kSecond, 5);
  EXPECT_TRUE(outcome.never_fits);
  EXPECT_TRUE(outcome.changed);
  EXPECT_FALSE(engine.Peek(kStart - 10 * kSecond, 1).allowed);
  EXPECT_LE(engine.state.expiry, kStart - 8 * kSecond);
}

TEST_P(EveryAlgorithm, OneBadClockMintsNoMoreThanOneBucket) {
  Engine engine = Make(GetParam(), 4, kSecond);
  const auto admitted = [&engine](Tick at) {
    int count = 0;
    for (int i = 0; i < 10; ++i) count += engine.Ask(at, 1).allowed ? 1 : 0;
    return count;
  };
  EXPECT_EQ(admitted(kStart), 4);
  EXPECT_EQ(admitted(kStart + 1000 * kSecond), 4);
  EXPECT_EQ(admitted(kStart), 0);
  EXPECT_EQ(admitted(kStart + 1), 0);
  EXPECT_EQ(admitted(kStart + 2 * kSecond), 4);
}

TEST_P(EveryAlgorithm, SettleGivesBackWhatWasNotUsed) {
  Engine engine = Make(GetParam(), 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 8).allowed);
  const Outcome outcome = engine.Correct(kStart, kStart, 8, 3);
  EXPECT_TRUE(outcome.allowed);
  EXPECT_TRUE(outcome.changed);
  EXPECT_EQ(outcome.remaining, 7u);
}

TEST_P(EveryAlgorithm, SettleNeverLiftsAboveFull) {
  Engine engine = Make(GetParam(), 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 2).allowed);
  EXPECT_EQ(engine.Correct(kStart, kStart, UINT64_MAX, 0).remaining, 10u);
  EXPECT_EQ(engine.state, State{});
  const Outcome again = engine.Correct(kStart, kStart, 5, 0);
  EXPECT_EQ(again.remaining, 10u);
  EXPECT_FALSE(again.changed);
  EXPECT_EQ(again.reset_at, kStart);
}

TEST_P(EveryAlgorithm, ALateChargeGoesOneCapacityDeepAtMost) {
  Engine engine = Make(GetParam(), 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 8).allowed);
  EXPECT_EQ(engine.Correct(kStart, kStart, 8, 12).remaining, 0u);
  EXPECT_EQ(engine.Correct(kStart, kStart, 0, UINT64_MAX).remaining, 0u);
  const Engine deepest = engine;
  EXPECT_FALSE(engine.Correct(kStart, kStart, 1, 2).changed);
  EXPECT_TRUE(engine.SameState(deepest));
  const Outcome denied = engine.Ask(kStart, 10);
  EXPECT_FALSE(denied.allowed);
  EXPECT_TRUE(engine.Peek(denied.retry_at, 10).allowed);
  EXPECT_FALSE(engine.Peek(denied.retry_at - 1, 10).allowed);
}

TEST_P(EveryAlgorithm, SettleToTheSameChangesNothing) {
  Engine engine = Make(GetParam(), 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 3).allowed);
  const Engine before = engine;
  EXPECT_FALSE(engine.Correct(kStart + 5, kStart, 3, 3).changed);
  EXPECT_TRUE(engine.SameState(before));
}

TEST(Settle, ABucketPaysItsDebtOffAtItsRate) {
  Engine engine = Make(kTokenBucket, 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 10).allowed);
  engine.Correct(kStart, kStart, 10, 20);
  EXPECT_EQ(engine.Ask(kStart, 1).retry_at, kStart + 1'100'000);
  EXPECT_EQ(engine.Peek(kStart, 1).reset_at, kStart + 2 * kSecond);
}

TEST(Settle, AWindowThatIsOverIsLeftAlone) {
  for (const Algorithm algorithm : {kFixedWindow, kSlidingLog}) {
    Engine engine = Make(algorithm, 10, kSecond);
    EXPECT_TRUE(engine.Ask(kStart, 8).allowed);
    const Outcome late = engine.Correct(kStart + kSecond, kStart, 8, 0);
    EXPECT_FALSE(late.changed);
    EXPECT_TRUE(engine.Ask(kStart + kSecond, 6).allowed);
    EXPECT_EQ(engine.Correct(kStart + kSecond + 1, kStart, 8, 30).remaining, 4u);
  }
}

TEST(Settle, ASlidingCounterCorrectsThePreviousWindowToo) {
  Engine engine = Make(kSlidingCounter, 10, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 8).allowed);
  EXPECT_TRUE(engine.Ask(kStart + kSecond + kSecond / 2, 6).allowed);
  EXPECT_EQ(engine.Peek(kStart + kSecond + kSecond / 2, 1).remaining, 0u);
  EXPECT_EQ(engine.Correct(kStart + kSecond + kSecond / 2, kStart, 8, 2).remaining, 3u);
  EXPECT_EQ(engine.Correct(kStart + 3 * kSecond, kStart, 2, 20).changed, false);
}

TEST(Settle, ALogCorrectsTheEntryOfThatTickAlone) {
  Engine engine = Make(kSlidingLog, 10, kSecond);
  for (Tick i = 0; i < 3; ++i) EXPECT_TRUE(engine.Ask(kStart + i, 2).allowed);
  EXPECT_FALSE(engine.Correct(kStart + 10, kStart + 5, 2, 0).changed);
  EXPECT_EQ(engine.Correct(kStart + 10, kStart + 1, 2, 0).remaining, 6u);
  ASSERT_EQ(engine.log.size(), 2u);
  EXPECT_EQ(engine.log.At(0), kStart);
  EXPECT_EQ(engine.log.At(1), kStart + 2);
  EXPECT_EQ(engine.Correct(kStart + 10, kStart + 2, 2, 7).remaining, 1u);
  EXPECT_EQ(engine.log.UnitsThrough(1), 9u);
}

TEST(SlidingCounter, WaitsStayTightAboveTheLimit) {
  Engine engine = Make(kSlidingCounter, 7, 1000);
  EXPECT_TRUE(engine.Ask(5000, 7).allowed);
  for (uint64_t late = 0; late <= 7; ++late) {
    engine.Correct(5100, 5000, 0, late == 0 ? 0 : 1);
    for (uint64_t cost = 1; cost <= 7; ++cost) {
      const Outcome denied = engine.Peek(5100, cost);
      ASSERT_FALSE(denied.allowed);
      Tick first = 5100;
      while (!engine.Peek(first, cost).allowed) ++first;
      ASSERT_EQ(denied.retry_at, first) << late << ' ' << cost;
    }
  }
}

TEST(SlidingLog, MergesWhatComesAtOneTickAndDropsWhatHasAged) {
  Engine engine = Make(kSlidingLog, 5, 100);
  EXPECT_TRUE(engine.Ask(1000, 1).allowed);
  EXPECT_TRUE(engine.Ask(1000, 2).allowed);
  EXPECT_TRUE(engine.Ask(1050, 2).allowed);
  EXPECT_EQ(engine.log.size(), 2u);
  const Outcome denied = engine.Ask(1060, 1);
  EXPECT_EQ(denied.retry_at, 1100u);
  EXPECT_TRUE(engine.Ask(1100, 3).allowed);
  ASSERT_EQ(engine.log.size(), 2u);
  EXPECT_EQ(engine.log.At(0), 1050u);
  EXPECT_EQ(engine.state, (State{1200, 5}));
}

TEST(SlidingLog, NeverHoldsMoreEntriesThanItsLimit) {
  Engine engine = Make(kSlidingLog, 8, 1000);
  size_t most = 0;
  for (Tick now = 5000; now < 20'000; now += 37) {
    engine.Ask(now, 1);
    most = std::max(most, engine.log.size());
  }
  EXPECT_EQ(most, 8u);
}

TEST(SlidingLog, EntriesAheadOfNowBecomeOneMadeNow) {
  Engine engine = Make(kSlidingLog, 6, 100);
  for (const Tick at : {Tick{1000}, Tick{1040}, Tick{1200}, Tick{1250}}) EXPECT_TRUE(engine.Ask(at, 1).allowed);
  ASSERT_EQ(engine.log.size(), 2u);  // 1000 and 1040 have aged out
  const Outcome outcome = engine.Ask(1100, 1);
  EXPECT_TRUE(outcome.allowed);
  EXPECT_EQ(outcome.remaining, 3u);
  ASSERT_EQ(engine.log.size(), 1u);
  EXPECT_EQ(engine.log.At(0), 1100u);
  EXPECT_EQ(engine.log.UnitsThrough(0), 3u);
}

/// A log that counts how often it is looked at.
struct CountingLog {
  explicit CountingLog(size_t entries) : count(entries) {}
  size_t size() const noexcept { return count; }
  Tick At(size_t i) const noexcept {
    ++looks;
    return 10'000 + i;
  }
  uint64_t UnitsThrough(size_t i) const noexcept {
    ++looks;
    return i + 1;
  }
  size_t count;
  mutable int looks = 0;
};

TEST(SlidingLog, LooksAtALogarithmOfItsEntries) {
  const auto numbers = Resolve({kSlidingLog, 1'000'000, 2'000'000, 0});
  ASSERT_TRUE(numbers);
  const CountingLog log(1'000'000);
  LogChange change;
  for (const Tick now : {Tick{1'010'000}, Tick{2'009'999}, Tick{2'010'000}, Tick{2'500'000}, Tick{3'000'000}}) {
    for (const uint64_t cost : {uint64_t{1}, uint64_t{500'000}, uint64_t{1'000'000}}) {
      log.looks = 0;
      EvaluateLog(*numbers, log, now, cost, Spend::kYes, change);
      EXPECT_LE(log.looks, 80) << now << ' ' << cost;
    }
  }
}

TEST(Step, StoresTheWordsThatStateHppTells) {
  Engine bucket = Make(kTokenBucket, 5, kSecond);
  bucket.Ask(kStart, 2);
  EXPECT_EQ(bucket.state, (State{kStart + 400'000, 400'000}));
  Engine window = Make(kFixedWindow, 5, kSecond);
  window.Ask(kStart + 300, 2);
  EXPECT_EQ(window.state, (State{kStart + kSecond, 2}));
  Engine counter = Make(kSlidingCounter, 5, kSecond);
  counter.Ask(kStart + 300, 2);
  EXPECT_EQ(counter.state, (State{kStart + 2 * kSecond, 2}));
  counter.Ask(kStart + kSecond + 300, 1);
  EXPECT_EQ(counter.state, (State{kStart + 3 * kSecond, uint64_t{2} << 32 | 1}));
  Engine log = Make(kSlidingLog, 5, kSecond);
  log.Ask(kStart + 300, 2);
  EXPECT_EQ(log.state, (State{kStart + 300 + kSecond, 2}));
}

TEST(Step, ARefillOfManyCreditsPerTickIsExact) {
  // 1,000,003 per second: 1 unit is 10^6 credits, a tick refills 1,000,003 of them.
  Engine engine = Make(kTokenBucket, 1'000'003, kSecond, 3);
  EXPECT_EQ(engine.numbers.refill, 1'000'003u);
  EXPECT_TRUE(engine.Ask(kStart, 3).allowed);
  const Outcome denied = engine.Ask(kStart, 1);
  EXPECT_EQ(denied.retry_at, kStart + 1);
  uint64_t admitted = 0;
  for (Tick at = kStart + 1; at <= kStart + kSecond; ++at) {
    while (engine.Ask(at, 1).allowed) ++admitted;
  }
  EXPECT_EQ(admitted, 1'000'003u);
}

}  // namespace
}  // namespace ratel
