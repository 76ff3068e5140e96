// The steps against the naive model and against what they promise, over seeded random traces. A failure prints the seed of its trace.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "property/engine.hpp"
#include "property/naive_model.hpp"

namespace ratel {
namespace {

constexpr uint64_t kFirstSeed = 20240607;
constexpr Algorithm kAlgorithms[] = {Algorithm::kTokenBucket, Algorithm::kLeakyBucket, Algorithm::kFixedWindow,
                                     Algorithm::kSlidingLog, Algorithm::kSlidingCounter};

/// Random numbers for one trace.
class Dice {
 public:
  explicit Dice(uint64_t seed) : engine_(seed) {}
  uint64_t Between(uint64_t low, uint64_t high) { return std::uniform_int_distribution<uint64_t>(low, high)(engine_); }
  bool OneIn(uint64_t n) { return Between(1, n) == 1; }
  /// Every order of magnitude alike.
  uint64_t Spread(uint64_t high) {
    const unsigned bits = static_cast<unsigned>(Between(1, 64 - static_cast<unsigned>(__builtin_clzll(high))));
    return std::clamp<uint64_t>(engine_() >> (64 - bits), 1, high);
  }

 private:
  std::mt19937_64 engine_;
};

/// The largest burst (or limit, for a window) that still resolves.
LimitSpec Largest(LimitSpec spec) {
  uint64_t& grown = IsBucket(spec.algorithm) ? spec.burst : spec.limit;
  uint64_t low = 1;
  uint64_t high = kMaxExact;
  while (low < high) {
    const uint64_t middle = low + (high - low + 1) / 2;
    grown = middle;
    if (Resolve(spec)) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  grown = low;
  return spec;
}

LimitSpec AnySpec(Dice& dice, Algorithm algorithm) {
  LimitSpec spec;
  spec.algorithm = algorithm;
  switch (dice.Between(0, 3)) {
    case 0:  // so small that every border is met
      spec.limit = dice.Between(1, 6);
      spec.window = dice.Between(1, 12);
      if (dice.OneIn(2)) spec.burst = dice.Between(1, 9);
      break;
    case 1:  // what people write
      spec.limit = dice.Between(1, 1000);
      spec.window = dice.Between(1, 120) * 500'000;
      if (dice.OneIn(2)) spec.burst = dice.Between(1, 2000);
      break;
    case 2:  // anything
      spec.limit = dice.Spread(kMaxExact);
      spec.window = dice.Spread(kMaxWindow);
      if (dice.OneIn(2)) spec.burst = dice.Spread(kMaxExact);
      break;
    default:  // at the bounds
      spec.limit = IsBucket(algorithm) ? dice.Spread(uint64_t{1} << 40) : 1;
      spec.window = dice.OneIn(2) ? kMaxWindow : dice.Spread(kMaxWindow);
      if (dice.OneIn(2)) spec.window = std::max<Micros>(spec.window / 1'000'000 * 1'000'000, 1'000'000);
      spec = Largest(spec);
      break;
  }
  if (!IsBucket(algorithm)) spec.burst = 0;
  return spec;
}

Numbers AnyNumbers(Dice& dice, Algorithm algorithm) {
  for (;;) {
    if (auto numbers = Resolve(AnySpec(dice, algorithm))) return *numbers;
  }
}

std::string Name(const Numbers& numbers, uint64_t seed) {
  return std::string(ToText(numbers.spec.algorithm)) + " limit " + std::to_string(numbers.spec.limit) + " window " +
         std::to_string(numbers.spec.window) + "us burst " + std::to_string(numbers.spec.burst) + " tick 10^" +
         std::to_string(numbers.tick_exponent) + "us, seed " + std::to_string(seed);
}

/// One trace's clock and costs.
class Trace {
 public:
  Trace(Dice& dice, const Numbers& numbers) : dice_(dice), numbers_(numbers), last_(kMaxMicros / numbers.tick) {
    now_ = dice.OneIn(3) ? 0 : dice.Between(0, last_);
    if (dice.OneIn(10)) now_ = last_ - std::min(last_, dice.Between(0, 3 * numbers.window));
  }

  Tick now() const { return now_; }
  void Forward() {
    switch (dice_.Between(0, 5)) {
      case 0:
        break;
      case 1:
        Go(now_ + dice_.Between(0, 2));
        break;
      case 2:
        Go(now_ + dice_.Between(0, std::max<Tick>(numbers_.window / numbers_.capacity * 2, 1)));
        break;
      case 3:
        Go(now_ + dice_.Between(0, numbers_.window));
        break;
      case 4:
        Go((now_ / numbers_.window + 1) * numbers_.window - dice_.Between(0, 1));
        break;
      default:
        Go(now_ + dice_.Between(0, 3) * numbers_.window + dice_.Between(0, 2));
        break;
    }
  }
  void Backward() {
    const Tick back = dice_.OneIn(2) ? dice_.Between(0, numbers_.window) : dice_.Between(0, 4 * numbers_.window + 2);
    now_ -= std::min(now_, back);
  }
  void Go(Tick to) { now_ = std::clamp(to, now_, last_); }

  uint64_t Cost() {
    if (dice_.OneIn(2)) return 1;
    if (dice_.OneIn(8)) return numbers_.capacity + dice_.Between(0, 2);
    if (dice_.OneIn(50)) return UINT64_MAX - dice_.Between(0, 1);
    return dice_.OneIn(2) ? dice_.Between(1, numbers_.capacity)
                          : dice_.Between(1, std::max<uint64_t>(numbers_.capacity / 4, 1));
  }

 private:
  Dice& dice_;
  const Numbers& numbers_;
  const Tick last_;
  Tick now_ = 0;
};

void ExpectSame(const naive::Answer& right, const Outcome& outcome, Tick now) {
  EXPECT_EQ(right.allowed, outcome.allowed);
  EXPECT_EQ(right.never_fits, outcome.never_fits);
  EXPECT_EQ(static_cast<uint64_t>(right.remaining), outcome.remaining);
  EXPECT_EQ(static_cast<Tick>(right.reset_at), outcome.reset_at);
  EXPECT_EQ(static_cast<Tick>(right.delay), outcome.delay);
  if (!right.never_fits) {
    EXPECT_EQ(static_cast<Tick>(right.retry_at), outcome.retry_at);
  }
  EXPECT_GE(outcome.reset_at, now);
}

struct Spent {
  Tick at;
  uint64_t cost;
};

uint64_t Actual(Dice& dice, uint64_t spent, uint64_t capacity) {
  switch (dice.Between(0, 3)) {
    case 0:
      return 0;
    case 1:
      return dice.Between(0, spent);
    case 2:
      return spent + dice.Between(0, capacity);
    default:
      return dice.OneIn(4) ? UINT64_MAX : spent + dice.Between(0, 3 * capacity);
  }
}

class AlgorithmProperty : public testing::TestWithParam<Algorithm> {};

// semantics.md 2 to 5: every field of every answer, with peeks, settles and clocks that go backwards.
TEST_P(AlgorithmProperty, AnswersAsTheModelDoes) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 2500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    const auto model = naive::MakeModel(engine.numbers);
    Trace trace(dice, engine.numbers);
    const bool straight = dice.OneIn(2);
    std::vector<Spent> spent;
    SCOPED_TRACE(Name(engine.numbers, seed));
    for (int i = 0; i < 40 && !HasFailure(); ++i) {
      SCOPED_TRACE("step " + std::to_string(i) + " at " + std::to_string(trace.now()));
      if (!spent.empty() && dice.OneIn(6)) {
        const Spent& charge = spent[dice.Between(0, spent.size() - 1)];
        const uint64_t actual = Actual(dice, charge.cost, engine.numbers.capacity);
        const Engine before = engine;
        const Outcome outcome = engine.Correct(trace.now(), charge.at, charge.cost, actual);
        ExpectSame(model->Correct(trace.now(), charge.at, charge.cost, actual), outcome, trace.now());
        if (!outcome.changed) {
          EXPECT_TRUE(engine.SameState(before));
        }
      } else {
        const uint64_t cost = trace.Cost();
        const bool spend = !dice.OneIn(5);
        const Engine before = engine;
        const Outcome outcome = engine.Ask(trace.now(), cost, spend ? Spend::kYes : Spend::kNo);
        ExpectSame(model->Ask(trace.now(), cost, spend), outcome, trace.now());
        if (!outcome.changed) {
          EXPECT_TRUE(engine.SameState(before));
        }
        if (outcome.changed && outcome.allowed) spent.push_back({trace.now(), cost});
        if (!outcome.allowed && !outcome.never_fits && dice.OneIn(2)) trace.Go(outcome.retry_at - dice.Between(0, 1));
        if (dice.OneIn(12)) trace.Go(outcome.reset_at - dice.Between(0, 1));
      }
      EXPECT_TRUE(engine.IsSound());
      if (!straight && dice.OneIn(8)) trace.Backward();
      trace.Forward();
    }
    if (HasFailure()) return;
  }
}

// semantics.md 3: "The wait is tight".
TEST_P(AlgorithmProperty, TheWaitIsTightBothWays) {
  uint64_t denials = 0;
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 2500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    Trace trace(dice, engine.numbers);
    SCOPED_TRACE(Name(engine.numbers, seed));
    for (int i = 0; i < 40; ++i) {
      const uint64_t cost = trace.Cost();
      const Outcome outcome = engine.Ask(trace.now(), cost);
      if (outcome.allowed && dice.OneIn(5)) {
        engine.Correct(trace.now(), trace.now(), cost, Actual(dice, cost, engine.numbers.capacity));
      }
      if (!outcome.allowed && !outcome.never_fits) {
        ++denials;
        ASSERT_GT(outcome.retry_at, trace.now());
        ASSERT_TRUE(engine.Peek(outcome.retry_at, cost).allowed);
        ASSERT_FALSE(engine.Peek(outcome.retry_at - 1, cost).allowed);
        ASSERT_EQ(engine.Peek(outcome.retry_at - 1, cost).retry_at, outcome.retry_at);
      }
      if (dice.OneIn(10)) trace.Backward();
      trace.Forward();
    }
  }
  EXPECT_GT(denials, 1000u);
}

// semantics.md 3: "Idle equals new", and not a tick before it says so.
TEST_P(AlgorithmProperty, IdleEqualsNewFromTheResetOn) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    Trace trace(dice, engine.numbers);
    SCOPED_TRACE(Name(engine.numbers, seed));
    Outcome outcome;
    for (int i = 0; i < 20; ++i) {
      outcome = engine.Ask(trace.now(), trace.Cost());
      ASSERT_EQ(std::max(engine.state.expiry, trace.now()), outcome.reset_at);
      const Tick idle = outcome.reset_at + dice.Between(0, 1) * dice.Between(0, engine.numbers.window);
      Engine fresh(engine.numbers);
      Engine idled = engine;
      for (const uint64_t cost : {uint64_t{1}, trace.Cost(), engine.numbers.capacity}) {
        const Outcome first = fresh.Ask(idle, cost);
        const Outcome second = idled.Ask(idle, cost);
        ASSERT_EQ(first.allowed, second.allowed);
        ASSERT_EQ(first.remaining, second.remaining);
        ASSERT_EQ(first.retry_at, second.retry_at);
        ASSERT_EQ(first.reset_at, second.reset_at);
        ASSERT_EQ(first.delay, second.delay);
        ASSERT_EQ(fresh.state, idled.state);
      }
      if (outcome.reset_at > trace.now()) {
        ASSERT_NE(engine.Peek(outcome.reset_at - 1, 1).reset_at, outcome.reset_at - 1);
      }
      trace.Forward();
    }
  }
}

// semantics.md 2: "A denied request changes no count and reports the true remaining".
TEST_P(AlgorithmProperty, ADenialChangesNothing) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    Trace trace(dice, engine.numbers);
    SCOPED_TRACE(Name(engine.numbers, seed));
    for (int i = 0; i < 30; ++i) {
      const Engine before = engine;
      const Outcome outcome = engine.Ask(trace.now(), trace.Cost());
      if (!outcome.allowed) {
        ASSERT_FALSE(outcome.changed);
        ASSERT_TRUE(engine.SameState(before));
        if (outcome.remaining > 0) {
          ASSERT_TRUE(engine.Peek(trace.now(), outcome.remaining).allowed);
        }
        if (outcome.remaining < engine.numbers.capacity) {
          ASSERT_FALSE(engine.Peek(trace.now(), outcome.remaining + 1).allowed);
        }
      }
      trace.Forward();
    }
  }
}

// semantics.md 5: giving everything back leaves the key as if the request had not been.
TEST_P(AlgorithmProperty, SettleToNothingUndoesAllow) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    Trace trace(dice, engine.numbers);
    SCOPED_TRACE(Name(engine.numbers, seed));
    for (int i = 0; i < 30; ++i) {
      const Engine before = engine;
      const uint64_t cost = trace.Cost();
      if (engine.Ask(trace.now(), cost).allowed) {
        Engine undone = engine;
        undone.Correct(trace.now(), trace.now(), cost, 0);
        for (const Tick later :
             {Tick{0}, Tick{1}, engine.numbers.window / 3, engine.numbers.window, 2 * engine.numbers.window}) {
          const Outcome expected = before.Peek(trace.now() + later, 1);
          const Outcome outcome = undone.Peek(trace.now() + later, 1);
          ASSERT_EQ(expected.allowed, outcome.allowed);
          ASSERT_EQ(expected.remaining, outcome.remaining);
          ASSERT_EQ(expected.retry_at, outcome.retry_at);
          ASSERT_EQ(expected.reset_at, outcome.reset_at);
        }
      }
      trace.Forward();
    }
  }
}

// What each algorithm promises about any interval, on clocks that go forward.
TEST_P(AlgorithmProperty, NeverAboveTheLimitInAnyWindowItPromises) {
  for (uint64_t seed = kFirstSeed; seed < kFirstSeed + 1500; ++seed) {
    Dice dice(seed);
    Engine engine(AnyNumbers(dice, GetParam()));
    const Numbers& numbers = engine.numbers;
    Trace trace(dice, numbers);
    SCOPED_TRACE(Name(numbers, seed));
    std::vector<Spent> admitted;
    for (int i = 0; i < 60; ++i) {
      const uint64_t cost = trace.Cost();
      const Outcome outcome = engine.Ask(trace.now(), cost);
      if (outcome.allowed) admitted.push_back({trace.now(), cost});
      if (!outcome.allowed && !outcome.never_fits) trace.Go(outcome.retry_at);
      if (dice.OneIn(2)) trace.Forward();
    }
    for (size_t from = 0; from < admitted.size(); ++from) {
      Wide sum = 0;
      for (size_t to = from; to < admitted.size(); ++to) {
        sum += admitted[to].cost;
        const Tick span = admitted[to].at - admitted[from].at;
        const bool same_window = admitted[to].at / numbers.window == admitted[from].at / numbers.window;
        if (IsBucket(GetParam())) {
          ASSERT_LE(sum * numbers.window, static_cast<Wide>(numbers.capacity) * numbers.window +
                                              static_cast<Wide>(span) * numbers.spec.limit);
        } else if (GetParam() == Algorithm::kSlidingLog ? span < numbers.window : same_window) {
          ASSERT_LE(sum, numbers.spec.limit);
        } else if (span < numbers.window) {
          ASSERT_LE(sum, Wide{2} * numbers.spec.limit);
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(All, AlgorithmProperty, testing::ValuesIn(kAlgorithms),
                         [](const auto& param) { return std::string(ToText(param.param)); });

}  // namespace
}  // namespace ratel
