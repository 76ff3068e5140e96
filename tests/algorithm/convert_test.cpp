// A state over a reload (semantics.md 9).

#include "algorithm/convert.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "algorithm/bucket.hpp"
#include "property/engine.hpp"

namespace ratel {
namespace {

using enum Algorithm;

constexpr Micros kSecond = 1'000'000;
constexpr Tick kStart = 1'700'000'040 * kSecond;

Numbers Make(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  auto numbers = Resolve({algorithm, limit, window, burst});
  EXPECT_TRUE(numbers);
  return *numbers;
}

/// What a state leaves at an instant.
uint64_t Remaining(const Numbers& numbers, State state, Micros now) {
  return Step(numbers, state, numbers.TickOf(now), 1, Spend::kNo).remaining;
}

State Spent(const Numbers& numbers, uint64_t cost, Micros now) {
  State state;
  EXPECT_TRUE(Step(numbers, state, numbers.TickOf(now), cost, Spend::kYes).allowed);
  return state;
}

TEST(Convert, NewStaysNewAndTheSameNumbersChangeNothing) {
  for (const Algorithm algorithm : {kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingCounter}) {
    const Numbers from = Make(algorithm, 10, kSecond);
    const Numbers to = Make(algorithm, 20, 2 * kSecond);
    EXPECT_EQ(Convert(from, to, {}, kStart), State{});
    const State spent = Spent(from, 3, kStart);
    EXPECT_EQ(Convert(from, from, spent, kStart), spent);
    EXPECT_EQ(Convert(from, to, spent, kStart + 2 * kSecond), State{});
  }
}

TEST(Convert, ABucketsLevelCarriesOverInUnits) {
  const Numbers ten = Make(kTokenBucket, 10, kSecond);
  const State three_left = Spent(ten, 7, kStart);
  EXPECT_EQ(Remaining(Make(kTokenBucket, 20, kSecond),
                      Convert(ten, Make(kTokenBucket, 20, kSecond), three_left, kStart), kStart),
            3u);
  EXPECT_EQ(Remaining(Make(kTokenBucket, 2, kSecond), Convert(ten, Make(kTokenBucket, 2, kSecond), three_left, kStart),
                      kStart),
            2u);
  EXPECT_EQ(Convert(ten, Make(kTokenBucket, 2, kSecond), three_left, kStart), State{});
}

TEST(Convert, TheNewRateAppliesFromTheReloadOn) {
  const Numbers slow = Make(kTokenBucket, 10, 10 * kSecond);
  const Numbers fast = Make(kTokenBucket, 1000, kSecond);
  State state = Convert(slow, fast, Spent(slow, 10, kStart), kStart + 2 * kSecond);
  EXPECT_EQ(Remaining(fast, state, kStart + 2 * kSecond), 2u);
  EXPECT_EQ(Remaining(fast, state, kStart + 2 * kSecond + 10'000), 12u);
}

TEST(Convert, AQueueCarriesOverInUnits) {
  const Numbers ten = Make(kLeakyBucket, 10, 10 * kSecond);
  const State seven_queued = Spent(ten, 7, kStart);
  const Numbers twenty = Make(kLeakyBucket, 20, 10 * kSecond);
  EXPECT_EQ(Remaining(twenty, Convert(ten, twenty, seven_queued, kStart), kStart), 13u);
  const Numbers four = Make(kLeakyBucket, 4, 10 * kSecond);
  const State full = Convert(ten, four, seven_queued, kStart);
  EXPECT_EQ(full.value, four.full);
}

TEST(Convert, ADebtCarriesOverOneNewCapacityDeepAtMost) {
  for (const Algorithm algorithm : {kTokenBucket, kLeakyBucket}) {
    const Numbers ten = Make(algorithm, 10, 10 * kSecond);
    State state = Spent(ten, 10, kStart);
    Settle(ten, state, kStart, kStart, 10, 16);
    const Numbers eight = Make(algorithm, 8, 10 * kSecond);
    EXPECT_EQ(Convert(ten, eight, state, kStart).value, eight.full + 6 * eight.unit);
    const Numbers four = Make(algorithm, 4, 10 * kSecond);
    EXPECT_EQ(Convert(ten, four, state, kStart).value, 2 * four.full);
  }
}

TEST(Convert, ARunningCountMovesIntoTheWindowThatHoldsNow) {
  const Numbers minute = Make(kFixedWindow, 10, 60 * kSecond);
  const State seven = Spent(minute, 7, kStart + kSecond);
  const Numbers second = Make(kFixedWindow, 9, kSecond);
  const Micros now = kStart + 30 * kSecond + 1;
  EXPECT_EQ(Convert(minute, second, seven, now), (State{kStart + 31 * kSecond, 7}));
  const Numbers hour = Make(kFixedWindow, 5, 3600 * kSecond);
  const State kept = Convert(minute, hour, seven, now);
  EXPECT_EQ(kept.value, 7u);
  EXPECT_EQ(kept.expiry % (3600 * kSecond), 0u);
  EXPECT_EQ(Remaining(hour, kept, now), 0u);
  EXPECT_EQ(Convert(minute, Make(kFixedWindow, 2, kSecond), seven, now).value, 7u);
}

TEST(Convert, ASlidingCounterAddsWhatThePreviousWindowStillWeighs) {
  const Numbers from = Make(kSlidingCounter, 10, 10 * kSecond);
  State state = Spent(from, 7, kStart);
  EXPECT_TRUE(Step(from, state, kStart + 11 * kSecond, 2, Spend::kYes).allowed);
  const Numbers to = Make(kSlidingCounter, 20, 60 * kSecond);
  // At 13 s the seven weigh 4.9, taken for 5.
  EXPECT_EQ(Convert(from, to, state, kStart + 13 * kSecond), (State{kStart + 120 * kSecond, 7}));
}

TEST(Convert, LogEntriesCarryOverAsTheyAre) {
  const Numbers from = Make(kSlidingLog, 10, 10 * kSecond);
  const Numbers to = Make(kSlidingLog, 2, 60 * kSecond);
  const std::vector<LogEntry> entries{{kStart, 2}, {kStart + 5 * kSecond, 3}};
  EXPECT_EQ(ConvertEntries(from, to, entries, kStart + 9 * kSecond), entries);
  EXPECT_EQ(ConvertEntries(from, to, entries, kStart + 10 * kSecond), std::vector<LogEntry>({entries[1]}));
  EXPECT_TRUE(ConvertEntries(from, to, entries, kStart + 15 * kSecond).empty());
  EXPECT_TRUE(ConvertEntries(from, to, {}, kStart).empty());
  const std::vector<LogEntry> pulled_back{{kStart - 20 * kSecond, 5}};
  EXPECT_EQ(ConvertEntries(from, to, entries, kStart - 20 * kSecond), pulled_back);
}

TEST(Convert, InstantsAreRoundedUpButNotPastNow) {
  const Numbers fine = Make(kSlidingLog, 10, 10 * kSecond);
  Numbers coarse = fine;  // as no log has them today
  coarse.tick_exponent = 6;
  coarse.tick = kSecond;
  coarse.window = 10;
  const std::vector<LogEntry> entries{{3'200'000, 2}, {3'300'000, 3}, {9'000'001, 1}, {11'000'001, 1}};
  EXPECT_EQ(ConvertEntries(fine, coarse, entries, 9'000'002), std::vector<LogEntry>({{4, 5}, {9, 1}, {12, 1}}));
  const std::vector<LogEntry> seconds{{4, 5}};
  EXPECT_EQ(ConvertEntries(coarse, fine, seconds, 9 * kSecond), std::vector<LogEntry>({{4'000'000, 5}}));
}

LimitSpec RandomSpec(std::mt19937_64& random, Algorithm algorithm) {
  LimitSpec spec{algorithm, 1 + (random() >> (random() % 64)), 1 + (random() >> (11 + random() % 53)), 0};
  if (random() % 2) spec.window = (spec.window / kSecond + 1) * kSecond;
  if (IsBucket(algorithm) && random() % 2) spec.burst = 1 + (random() >> (random() % 64));
  return spec;
}

Numbers RandomNumbers(std::mt19937_64& random, Algorithm algorithm) {
  for (;;) {
    if (auto numbers = Resolve(RandomSpec(random, algorithm))) return *numbers;
  }
}

// For any two sets of numbers: valid afterwards, nothing handed back at the instant of the reload, and nothing more than the new rate gives later.
TEST(Convert, HandsNothingBackForAnyNumbers) {
  constexpr uint64_t kSeed = 4242;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  for (int i = 0; i < 40'000; ++i) {
    const Algorithm algorithm = std::vector{kTokenBucket, kLeakyBucket, kFixedWindow, kSlidingCounter}[random() % 4];
    const Numbers from = RandomNumbers(random, algorithm);
    const Numbers to = RandomNumbers(random, algorithm);
    const Micros now = (random() >> 11) % kMaxMicros;
    State state;
    for (int spent = 0; spent < 3; ++spent) {
      const Micros at = now - std::min<Micros>(now, (random() % 3) * (from.spec.window / 3));
      Step(from, state, from.TickOf(at), 1 + random() % from.capacity, Spend::kYes);
      if (random() % 4 == 0)
        Settle(from, state, from.TickOf(at), from.TickOf(at), 0, random() % (2 * from.capacity + 1));
    }
    const State converted = Convert(from, to, state, now);
    if (state.expiry <= from.TickOf(now)) {
      ASSERT_EQ(converted, State{});
      continue;
    }
    const uint64_t before = Remaining(from, state, now);
    const uint64_t after = Remaining(to, converted, now);
    if (algorithm == kTokenBucket) {
      ASSERT_LE(after, before);
      ASSERT_GE(after + 1, std::min(before, to.capacity));
    } else {
      const uint64_t held = from.capacity - before;
      ASSERT_LE(after, SubtractFloor(to.capacity,
                                     std::min(held, to.capacity) - (algorithm == kLeakyBucket && held > 0 ? 1 : 0)));
    }
    const State again = Convert(to, from, converted, now);
    const bool bucket =
        algorithm == kTokenBucket || algorithm == kLeakyBucket;  // cut to the smaller capacity, by contract
    ASSERT_LE(Remaining(from, again, now), bucket ? from.capacity : before);
    if (converted == State{}) continue;
    State copy = converted;
    const Outcome outcome = Step(to, copy, to.TickOf(now), to.capacity, Spend::kNo);
    ASSERT_GT(outcome.reset_at, to.TickOf(now));
  }
}

// A count far above the limit, from before a reload, is neither handed back nor does it overflow: the wait stays tight.
TEST(Convert, ACountFarAboveTheLimitFadesAsAnyOther) {
  for (const Algorithm algorithm : {kFixedWindow, kSlidingCounter}) {
    for (const uint64_t window : {uint64_t{1}, 7 * kSecond, 86'400 * kSecond, kMaxWindow}) {
      const uint64_t most = algorithm == kFixedWindow ? kMaxExact / 3 : kMaxExact / 5 / kSecond;
      const Numbers large = Make(algorithm, most, kSecond);
      const Numbers small = Make(algorithm, 5, window);
      State state;
      Step(large, state, large.TickOf(kStart), large.capacity, Spend::kYes);
      Settle(large, state, large.TickOf(kStart), large.TickOf(kStart), 0, 2 * large.capacity);
      const State converted = Convert(large, small, state, kStart);
      const Tick now = small.TickOf(kStart);
      State copy = converted;
      const Outcome denied = Step(small, copy, now, 1, Spend::kYes);
      ASSERT_FALSE(denied.allowed);
      ASSERT_EQ(denied.remaining, 0u);
      ASSERT_EQ(copy, converted);
      ASSERT_TRUE(Step(small, copy, denied.retry_at, 1, Spend::kNo).allowed) << ToText(algorithm) << window;
      ASSERT_FALSE(Step(small, copy, denied.retry_at - 1, 1, Spend::kNo).allowed) << ToText(algorithm) << window;
      Settle(small, copy, now, now, 0, 10);
      ASSERT_EQ(copy, converted);
      ASSERT_EQ(Remaining(large, Convert(small, large, converted, kStart), kStart), 0u);
    }
  }
}

__extension__ typedef __int128 Int;

/// What a bucket of `to` has to owe at least at the reload, in credits of `from` times units of `to`: exact, unrounded.
Int OwedAtLeast(const Numbers& from, const Numbers& to, uint64_t debt) {
  const Int scale = to.unit;
  const Int capacity = static_cast<Int>(to.capacity) * from.unit * scale;
  if (to.spec.algorithm == kLeakyBucket) {
    const Int beyond = std::min(capacity, std::max<Int>(0, static_cast<Int>(debt) - from.full) * scale);
    return std::min(static_cast<Int>(debt) * scale, capacity + beyond);
  }
  const Int level = (static_cast<Int>(from.full) - debt) * scale;
  return capacity - std::max(-capacity, std::min(level, capacity));
}

// From the reload on, and not earlier than the stored instant, a bucket is paid back at the new rate and no faster: neither what the rounding of
// credits nor what the rounding of ticks gives is handed to the key.
TEST(Convert, ABucketIsPaidBackAtTheNewRateAndNoFaster) {
  constexpr uint64_t kSeed = 77;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  int coarse = 0;
  int ahead = 0;
  for (int i = 0; i < 60'000; ++i) {
    const Algorithm algorithm = random() % 2 ? kTokenBucket : kLeakyBucket;
    const auto spec = [&] {
      return LimitSpec{algorithm, 1 + random() % 1000, (1 + random() % 86'400) * kSecond,
                       1 + (random() >> (34 + random() % 30))};
    };
    const auto from = Resolve(spec());
    const auto to = Resolve(spec());
    if (!from || !to || from->spec == to->spec) continue;
    const Micros now = kStart + random() % (1000 * kSecond);
    State state;
    Step(*from, state, from->TickOf(now - random() % kSecond), 1 + random() % from->capacity, Spend::kYes);
    if (random() % 3 == 0) Settle(*from, state, from->TickOf(now), 0, 0, random() % (2 * from->capacity));
    const Micros asked = random() % 3 == 0 ? now - random() % from->spec.window : now;
    const Level level = LevelAt(*from, state, from->TickOf(asked));
    if (level.debt == 0) continue;
    const State converted = Convert(*from, *to, state, asked);
    const Micros since = std::max(asked, level.at * from->tick);
    coarse += to->tick > from->tick ? 1 : 0;
    ahead += since > asked ? 1 : 0;
    const Int owed = OwedAtLeast(*from, *to, level.debt);
    for (const Micros later :
         {Micros{0}, Micros{1}, to->tick - 1, to->tick, 7 * to->tick + 3, random() % to->spec.window}) {
      const Micros at = since + later;
      const Int debt = LevelAt(*to, converted, to->TickOf(at)).debt;
      const Int paid = static_cast<Int>(later) * to->refill * from->unit;
      ASSERT_GE(debt * from->unit * to->tick + paid, owed * to->tick)
          << ToText(algorithm) << ' ' << i << " later " << later << " ticks " << from->tick << ' ' << to->tick;
    }
  }
  EXPECT_GT(coarse, 500);
  EXPECT_GT(ahead, 500);
}

}  // namespace
}  // namespace ratel
