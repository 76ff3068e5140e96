// The worked values of semantics.md 2, on a clock that starts at an even second.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "property/engine.hpp"

namespace ratel {
namespace {

constexpr Micros kSecond = 1'000'000;
constexpr Tick kStart = 1'700'000'040 * kSecond;  // a whole minute

Engine Make(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  auto numbers = Resolve({algorithm, limit, window, burst});
  EXPECT_TRUE(numbers);
  return Engine(*numbers);
}

class FivePerSecond : public testing::TestWithParam<std::pair<Algorithm, Tick>> {};

TEST_P(FivePerSecond, AdmitsFiveOfSevenAndTellsTheWait) {
  Engine engine = Make(GetParam().first, 5, kSecond);
  for (uint64_t i = 0; i < 5; ++i) {
    const Outcome outcome = engine.Ask(kStart, 1);
    EXPECT_TRUE(outcome.allowed);
    EXPECT_EQ(outcome.remaining, 4 - i);
  }
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = engine.Ask(kStart, 1);
    EXPECT_FALSE(outcome.allowed);
    EXPECT_FALSE(outcome.never_fits);
    EXPECT_EQ(outcome.remaining, 0u);
    EXPECT_EQ(outcome.retry_at, kStart + GetParam().second);
  }
}

INSTANTIATE_TEST_SUITE_P(WorkedValues, FivePerSecond,
                         testing::Values(std::pair{Algorithm::kTokenBucket, kSecond / 5},
                                         std::pair{Algorithm::kLeakyBucket, kSecond / 5},
                                         std::pair{Algorithm::kFixedWindow, kSecond},
                                         std::pair{Algorithm::kSlidingLog, kSecond},
                                         std::pair{Algorithm::kSlidingCounter, kSecond + kSecond / 5}));

int Admitted(Engine& engine, Tick at, int requests) {
  int admitted = 0;
  for (int i = 0; i < requests; ++i) admitted += engine.Ask(at, 1).allowed ? 1 : 0;
  return admitted;
}

TEST(WorkedValues, ABurstAcrossTheBorderOfAFixedWindowPassesTwice) {
  Engine engine = Make(Algorithm::kFixedWindow, 5, kSecond);
  EXPECT_EQ(Admitted(engine, kStart + 900'000, 5), 5);
  EXPECT_EQ(Admitted(engine, kStart + 1'000'000, 5), 5);
}

TEST(WorkedValues, ABurstAcrossTheBorderOfASlidingCounterPassesOnce) {
  Engine engine = Make(Algorithm::kSlidingCounter, 5, kSecond);
  EXPECT_EQ(Admitted(engine, kStart + 900'000, 5), 5);
  EXPECT_EQ(Admitted(engine, kStart + 1'000'000, 5), 0);
}

TEST(WorkedValues, SlidingLogThreePerMinute) {
  Engine engine = Make(Algorithm::kSlidingLog, 3, 60 * kSecond);
  std::string answers;
  for (const Tick at : std::vector<Tick>{0, 10'000, 20'000, 30'000, 59'000, 60'500, 61'000, 75'000}) {
    answers += engine.Ask(kStart + at * 1000, 1).allowed ? 'A' : 'D';
  }
  EXPECT_EQ(answers, "AAADDADA");
}

TEST(WorkedValues, TokenBucketFivePerMinuteWaitsTwelveSeconds) {
  Engine engine = Make(Algorithm::kTokenBucket, 5, 60 * kSecond);
  EXPECT_EQ(Admitted(engine, kStart, 5), 5);
  EXPECT_EQ(engine.Ask(kStart, 1).retry_at, kStart + 12 * kSecond);
}

TEST(WorkedValues, LeakyBucketDelaysWhatIsQueued) {
  Engine engine = Make(Algorithm::kLeakyBucket, 1, kSecond, 5);
  for (const Tick delay : {Tick{0}, kSecond, 2 * kSecond}) {
    const Outcome outcome = engine.Ask(kStart, 1);
    EXPECT_TRUE(outcome.allowed);
    EXPECT_EQ(outcome.delay, delay);
  }
}

TEST(WorkedValues, BurstChangesTheCapacityAndNeverTheRate) {
  Engine engine = Make(Algorithm::kTokenBucket, 60, 60 * kSecond, 10);
  EXPECT_EQ(Admitted(engine, kStart, 20), 10);
  EXPECT_EQ(Admitted(engine, kStart + 1 * kSecond, 5), 1);
  EXPECT_EQ(Admitted(engine, kStart + 4 * kSecond, 5), 3);
}

// field-cases.md, by number.

TEST(FieldCases, B009APartlyGrownTokenShortensTheWait) {
  Engine engine = Make(Algorithm::kTokenBucket, 1, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 1).allowed);
  EXPECT_EQ(engine.Ask(kStart + 200'000, 1).retry_at, kStart + kSecond);
}

TEST(FieldCases, B012DebtMintsNothing) {
  Engine engine = Make(Algorithm::kTokenBucket, 50, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 50).allowed);
  engine.Correct(kStart, kStart, 50, 80);
  const Outcome outcome = engine.Peek(kStart, 1);
  EXPECT_FALSE(outcome.allowed);
  EXPECT_EQ(outcome.remaining, 0u);
  EXPECT_EQ(outcome.retry_at, kStart + 31 * kSecond / 50);
}

TEST(FieldCases, B015PolledFlatOutNeverAboveTheRate) {
  Engine engine = Make(Algorithm::kTokenBucket, 80'000, kSecond, 2);
  int admitted = 0;
  for (Tick at = kStart; at < kStart + kSecond; ++at) admitted += engine.Ask(at, 1).allowed ? 1 : 0;
  EXPECT_LE(admitted, 80'002);
  EXPECT_GE(admitted, 80'000);
}

TEST(FieldCases, B045AFractionOfAUnitIsCarried) {
  Engine engine = Make(Algorithm::kTokenBucket, 7, 3 * kSecond, 1);
  uint64_t admitted = 0;
  for (Tick at = kStart; at < kStart + 3000 * kSecond; at = std::max(at + 1, engine.Peek(at, 1).retry_at)) {
    admitted += engine.Ask(at, 1).allowed ? 1 : 0;
  }
  EXPECT_EQ(admitted, 7000u);
}

TEST(FieldCases, B036And030MoreThanTheCapacityNeverFits) {
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kLeakyBucket, Algorithm::kFixedWindow,
                                    Algorithm::kSlidingLog, Algorithm::kSlidingCounter}) {
    Engine engine = Make(algorithm, 10, kSecond);
    const Outcome outcome = engine.Ask(kStart, 11);
    EXPECT_FALSE(outcome.allowed);
    EXPECT_TRUE(outcome.never_fits);
    EXPECT_FALSE(outcome.changed);
    EXPECT_EQ(outcome.remaining, 10u);
    EXPECT_EQ(engine.state, State{});
    EXPECT_TRUE(engine.Ask(kStart, 10).allowed);
  }
}

TEST(FieldCases, B042AnIntervalGivesBackAllOfIt) {
  Engine engine = Make(Algorithm::kTokenBucket, 6, kSecond);
  EXPECT_EQ(Admitted(engine, kStart, 9), 6);
  EXPECT_EQ(Admitted(engine, kStart + kSecond, 9), 6);
}

TEST(FieldCases, B048AnEntryAgedExactlyOneWindowNoLongerCounts) {
  Engine engine = Make(Algorithm::kSlidingLog, 1, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 1).allowed);
  EXPECT_FALSE(engine.Ask(kStart + kSecond - 1, 1).allowed);
  EXPECT_TRUE(engine.Ask(kStart + kSecond, 1).allowed);
}

TEST(FieldCases, B057LeakingGoesOnThroughEveryHit) {
  Engine engine = Make(Algorithm::kLeakyBucket, 10, 30 * kSecond);
  std::string remaining;
  for (Tick i = 0; i < 11; ++i) remaining += std::to_string(engine.Ask(kStart + i * kSecond, 1).remaining) + ' ';
  EXPECT_EQ(remaining, "9 8 7 7 6 5 5 4 3 3 2 ");
}

TEST(FieldCases, B066SlidingCounterWeighsThePreviousWindow) {
  Engine engine = Make(Algorithm::kSlidingCounter, 100, 10 * kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 50).allowed);
  EXPECT_TRUE(engine.Ask(kStart + 10 * kSecond, 10).allowed);
  EXPECT_EQ(engine.Peek(kStart + 11 * kSecond, 1).remaining, 45u);
}

TEST(FieldCases, B069TwoIdleWindowsForgetThePrevious) {
  Engine engine = Make(Algorithm::kSlidingCounter, 4, kSecond);
  EXPECT_TRUE(engine.Ask(kStart, 4).allowed);
  const Outcome outcome = engine.Ask(kStart + 1000 * kSecond, 1);
  EXPECT_TRUE(outcome.allowed);
  EXPECT_EQ(outcome.remaining, 3u);
  EXPECT_EQ(engine.Peek(kStart + 1000 * kSecond, 1).remaining, 3u);
}

TEST(FieldCases, B078ADenialDoesNotExtendTheWindow) {
  for (const Algorithm algorithm : {Algorithm::kFixedWindow, Algorithm::kSlidingLog}) {
    Engine engine = Make(algorithm, 1, 60 * kSecond);
    EXPECT_TRUE(engine.Ask(kStart, 1).allowed);
    const Outcome denied = engine.Ask(kStart + 59 * kSecond, 1);
    EXPECT_EQ(denied.retry_at, kStart + 60 * kSecond);
    EXPECT_EQ(denied.reset_at, kStart + 60 * kSecond);
    EXPECT_TRUE(engine.Ask(kStart + 60 * kSecond, 1).allowed);
  }
}

TEST(FieldCases, B087ABucketIdleForLongHoldsNoMoreThanItsCapacity) {
  Engine engine = Make(Algorithm::kTokenBucket, 3, kSecond / 2);
  EXPECT_TRUE(engine.Ask(kStart, 3).allowed);
  EXPECT_EQ(Admitted(engine, kStart + 5 * kSecond, 4), 3);
}

TEST(FieldCases, B096ABackwardStepNeitherRefillsNorPunishes) {
  Engine engine = Make(Algorithm::kTokenBucket, 3, 60 * kSecond);
  EXPECT_EQ(Admitted(engine, kStart, 2), 2);
  const Outcome outcome = engine.Ask(kStart - 11 * kSecond, 1);
  EXPECT_TRUE(outcome.allowed);
  EXPECT_EQ(outcome.remaining, 0u);
  EXPECT_EQ(engine.Ask(kStart - 11 * kSecond, 1).retry_at, kStart + 20 * kSecond);
}

}  // namespace
}  // namespace ratel
