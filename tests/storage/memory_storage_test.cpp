// The embedded store against the reference, and what is its own: growth, eviction, memory.
#include "storage/memory/memory_storage.hpp"

#include <gtest/gtest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "tests/storage/support.hpp"

namespace ratel::test {
namespace {

constexpr Micros kStart = 1'700'000'000'000'000;

Status ApplyOne(Storage& storage, Charge& charge, Micros now, Mode mode = Mode::kSpend) {
  Operation operation{{&charge, 1}, now, mode};
  return storage.Apply(operation);
}

bool Take(Storage& storage, const Versions& versions, uint64_t key, Micros now, uint64_t cost = 1) {
  Charge charge = ChargeFor(versions, 0, key, cost);
  EXPECT_EQ(ApplyOne(storage, charge, now), Status::kOk);
  return charge.outcome.allowed;
}

uint64_t Remaining(Storage& storage, const Versions& versions, uint64_t key, Micros now) {
  Charge charge = ChargeFor(versions, 0, key);
  EXPECT_EQ(ApplyOne(storage, charge, now, Mode::kPeek), Status::kOk);
  return charge.outcome.remaining;
}

uint64_t Keys(Storage& storage) {
  uint64_t keys = 0;
  EXPECT_EQ(storage.KeyCount(keys), Status::kOk);
  return keys;
}

class EachAlgorithm : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(EachAlgorithm, AdmitsTheLimitOfEveryKeyWhileTheTableGrows) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 3, 60'000'000)});
  constexpr uint64_t kCount = 60'000;
  for (int round = 0; round < 4; ++round) {
    for (uint64_t key = 0; key < kCount; ++key)
      ASSERT_EQ(Take(*storage, versions, key, kStart), round < 3) << "key " << key << " round " << round;
  }
  EXPECT_EQ(Keys(*storage), kCount);
}

// Keys of one corner make its pages split again and again while the rest is as it was: a key's page may then be several levels up.
TEST_P(EachAlgorithm, AdmitsTheLimitOfEveryKeyWhenPagesSplitUnevenly) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 3, 60'000'000)});
  const auto take_all = [&](uint64_t corner, uint64_t count, bool allowed) {
    for (uint64_t n = 0; n < count; ++n) {
      Charge charge = ChargeFor(versions, 0, 0);
      charge.key = Key(corner * 10'000 + n);
      charge.key.low = (charge.key.low & ~(uint64_t{15} << 6)) | corner << 6;
      ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
      ASSERT_EQ(charge.outcome.allowed, allowed) << "corner " << corner << " key " << n;
    }
  };
  const std::pair<uint64_t, uint64_t> corners[] = {{0, 2'000}, {15, 80}, {1, 2'000}, {9, 80}, {3, 2'000}, {7, 80}};
  for (int round = 0; round < 4; ++round) {
    for (const auto& [corner, count] : corners) take_all(corner, count, round < 3);
  }
}

// Random requests over few keys and over many, one limit and several, spends, peeks, settles, resets, reloads to other numbers, clocks that step back.
TEST_P(EachAlgorithm, AnswersAsTheReference) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const auto pick = [&](uint64_t below) { return random() % below; };
    const Versions versions({Make(GetParam(), 1 + pick(9), 1'000'000), Make(GetParam(), 1 + pick(20), 2'000'000),
                             Make(GetParam(), 999 + pick(3), 7'000'000)});
    const auto storage = MakeMemoryStorage({});
    ReferenceStorage reference;
    const uint64_t keys = std::array<uint64_t, 4>{5000, 16, 6, 1}[seed % 4];
    // Few keys lie in few lines: a request's charges then share some, and lie on both sides of others.
    const auto key_of = [&](uint64_t n) { return keys == 5000 ? Key(n) : KeyInLine(n % 3, n); };
    Micros now = kStart;
    std::array<Micros, 4> earlier{};  // instants at which was asked
    uint16_t version = 0;
    for (int step = 0; step < 4000; ++step) {
      // Among several keys one that equals "new" may be dropped at once, which a clock that steps back would show.
      if (keys == 1 && pick(10) == 0) now = now - pick(pick(5) == 0 ? 30'000'000 : 3'000'000);
      now += pick(4) == 0 ? pick(1'500'000) : pick(300);
      if (pick(500) == 0) version = static_cast<uint16_t>(pick(3));
      std::vector<Charge> charges;
      std::set<uint64_t> used;
      const uint64_t count = pick(4) == 0 ? 1 + pick(std::min<uint64_t>(keys, 12)) : 1;
      while (used.size() < count) {
        const uint64_t key = pick(keys);
        if (!used.insert(key).second) continue;
        charges.push_back(ChargeFor(versions, version, key, pick(5) == 0 ? 1 + pick(12) : 1, pick(6) == 0));
        charges.back().key = key_of(key);
      }
      std::vector<Charge> expected = charges;
      const uint64_t kind = pick(20);
      Operation operation{charges, now, kind == 0 ? Mode::kSettle : kind == 1 ? Mode::kForget : Mode::kSpend};
      operation.charged_at = pick(3) == 0 ? now - pick(1'200'000) : earlier[pick(earlier.size())];
      earlier[pick(earlier.size())] = now;
      operation.actual = pick(10);
      Operation same = operation;
      same.charges = expected;
      ASSERT_EQ(storage->Apply(operation), Status::kOk);
      ASSERT_EQ(reference.Apply(same), Status::kOk);
      if (operation.mode == Mode::kForget) continue;
      for (size_t i = 0; i < charges.size(); ++i) {
        ASSERT_TRUE(SameAnswer(charges[i].outcome, expected[i].outcome))
            << "step " << step << " charge " << i << " mode " << int(operation.mode) << " allowed "
            << charges[i].outcome.allowed << expected[i].outcome.allowed << " remaining "
            << charges[i].outcome.remaining << "/" << expected[i].outcome.remaining << " retry "
            << charges[i].outcome.retry_at << "/" << expected[i].outcome.retry_at << " reset "
            << charges[i].outcome.reset_at << "/" << expected[i].outcome.reset_at;
      }
    }
  }
}

// A key that a clock far ahead has written is pulled back by the request that finds it so, even if another limit denies that: it counts from there on.
TEST_P(EachAlgorithm, WhatTheClockFirewallPulledBackStaysSoWhenOthersDeny) {
  constexpr Micros kWindow = 1'000'000;
  const Versions versions({Make(GetParam(), 5, kWindow)});
  for (const bool the_full_one : {false, true}) {
    const auto storage = MakeMemoryStorage({});
    ReferenceStorage reference;
    const auto ask = [&](std::vector<std::pair<uint64_t, uint64_t>> keys_and_costs, Micros now, Mode mode) {
      std::vector<Charge> charges;
      for (const auto& [key, cost] : keys_and_costs) charges.push_back(ChargeFor(versions, 0, key, cost));
      std::vector<Charge> expected = charges;
      Operation operation{charges, now, mode};
      Operation same{expected, now, mode};
      ASSERT_EQ(storage->Apply(operation), Status::kOk);
      reference.Apply(same);
      for (size_t i = 0; i < charges.size(); ++i)
        ASSERT_TRUE(SameAnswer(charges[i].outcome, expected[i].outcome))
            << the_full_one << " charge " << i << " at " << now - kStart << ": " << charges[i].outcome.remaining << "/"
            << expected[i].outcome.remaining;
      ASSERT_EQ(Admits(charges), charges.size() == 1 && charges[0].outcome.allowed);
    };
    ask({{1, 4}}, the_full_one ? kStart : kStart + 10 * kWindow, Mode::kSpend);
    ask({{2, 5}}, the_full_one ? kStart + 10 * kWindow : kStart, Mode::kSpend);
    ask({{1, 1}, {2, 1}}, kStart, Mode::kSpend);
    for (const Micros later : {kWindow / 4, kWindow * 3 / 4, kWindow, kWindow * 3 / 2}) {
      ask({{1, 1}}, kStart + later, Mode::kPeek);
      ask({{2, 1}}, kStart + later, Mode::kPeek);
    }
  }
}

TEST_P(EachAlgorithm, PeekSpendsNothingAndTellsBeforeAndAfter) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 5, 1'000'000)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Take(*storage, versions, 1, kStart));
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Remaining(*storage, versions, 1, kStart), 2u);
  EXPECT_EQ(Remaining(*storage, versions, 2, kStart), 5u);
  EXPECT_EQ(Keys(*storage), 1u) << "a peek makes no key";
  Charge charge = ChargeFor(versions, 0, 1);
  ApplyOne(*storage, charge, kStart, Mode::kPeek);
  EXPECT_NE(charge.before, State{});
  EXPECT_NE(charge.after, charge.before);
}

TEST_P(EachAlgorithm, EvictIdleDropsWhatIsAsNewAndNothingElse) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 5, 1'000'000), Make(GetParam(), 5, 100'000'000)});
  for (uint64_t key = 0; key < 1000; ++key) Take(*storage, versions, key, kStart);
  for (uint64_t key = 1000; key < 1100; ++key) {
    Charge charge = ChargeFor(versions, 1, key);
    ApplyOne(*storage, charge, kStart);
  }
  uint64_t evicted = 0;
  ASSERT_EQ(storage->EvictIdle(kStart + 10'000'000, evicted), Status::kOk);
  EXPECT_EQ(evicted, 1000u);
  EXPECT_EQ(Keys(*storage), 100u);
  Charge alive = ChargeFor(versions, 1, 1000);
  ApplyOne(*storage, alive, kStart + 10'000'000, Mode::kPeek);
  EXPECT_EQ(alive.outcome.remaining, 4u);
  EXPECT_EQ(storage->Counters().evicted_live, 0u);
}

// As after more reloads than versions can tell apart.
TEST_P(EachAlgorithm, AStateUnderNumbersThatNobodyKnowsAnyMoreIsNew) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 5, 1'000'000)});
  Charge charge = ChargeFor(versions, 0, 1, 4);
  charge.version = 7;
  ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
  ASSERT_EQ(charge.outcome.remaining, 1u);
  EXPECT_EQ(Remaining(*storage, versions, 1, kStart), 5u);
  EXPECT_TRUE(Take(*storage, versions, 1, kStart, 5));
  EXPECT_FALSE(Take(*storage, versions, 1, kStart));
}

TEST_P(EachAlgorithm, AKeyIsHeldUntilTheTickAtWhichItIsAsNewAndNoLonger) {
  const auto storage = MakeMemoryStorage({});
  // Of a year, buckets and sliding counters have ticks above a microsecond.
  const Versions versions({Make(GetParam(), 5, 1'000'000), Make(GetParam(), 101, 31'536'000'000'000)});
  for (uint16_t version = 0; version < 2; ++version) {
    Charge charge = ChargeFor(versions, version, version);
    ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
    const Micros as_new = charge.outcome.reset_at * versions[version].tick;
    uint64_t evicted = 0;
    ASSERT_EQ(storage->EvictIdle(as_new - 1, evicted), Status::kOk);
    EXPECT_EQ(evicted, 0u);
    ASSERT_EQ(storage->EvictIdle(as_new, evicted), Status::kOk);
    EXPECT_EQ(evicted, 1u);
  }
  EXPECT_EQ(storage->Counters().evicted_live, 0u);
}

TEST_P(EachAlgorithm, NeverFitsMakesNoKey) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 5, 1'000'000)});
  Charge charge = ChargeFor(versions, 0, 1, 6);
  ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
  EXPECT_FALSE(charge.outcome.allowed);
  EXPECT_TRUE(charge.outcome.never_fits);
  EXPECT_EQ(charge.outcome.remaining, 5u);
  EXPECT_EQ(Keys(*storage), 0u);
}

TEST_P(EachAlgorithm, OneShotKeysDoNotMakeTheTableGrow) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 2, 1'000)});
  // At most 1,000 keys are alive at any time; each is seen once.
  for (uint64_t key = 0; key < 200'000; ++key) ASSERT_TRUE(Take(*storage, versions, key, kStart + key));
  EXPECT_LT(Keys(*storage), 20'000u);
  EXPECT_EQ(storage->Counters().evicted_live, 0u);
}

// Else a table through which keys pass would fill up before it is cleared.
TEST_P(EachAlgorithm, ANewKeyTakesASlotThatIsAsNewBeforeAnEmptyOne) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 2, 1'000)});
  const auto apply = [&](uint64_t n, Micros now, Mode mode = Mode::kSpend) {
    Charge charge = ChargeFor(versions, 0, 0);
    charge.key = KeyInLine(9, n);
    ASSERT_EQ(ApplyOne(*storage, charge, now, mode), Status::kOk);
  };
  for (const uint64_t first : {0, 1}) {
    apply(1, kStart);
    apply(2, kStart);
    apply(1 + first, kStart, Mode::kForget);
    ASSERT_EQ(Keys(*storage), 1u);
    apply(3, kStart + 2'000);
    EXPECT_EQ(Keys(*storage), 1u) << "it took the place of the other";
    apply(3, kStart, Mode::kForget);
  }
}

// B225: a full table drops one key at a time, never the attacker's own count.
TEST_P(EachAlgorithm, AtTheBoundTheKeyNearestToExpiryGoesFirst) {
  const auto storage = MakeMemoryStorage({.max_keys = 3});
  // Those of a year may have ticks above a microsecond.
  const Versions versions({Make(GetParam(), 5, 1'000'000), Make(GetParam(), 101, 31'536'000'000'000)});
  Charge late = ChargeFor(versions, 1, 1);
  ASSERT_EQ(ApplyOne(*storage, late, kStart), Status::kOk);
  ASSERT_TRUE(Take(*storage, versions, 2, kStart));
  Charge also_late = ChargeFor(versions, 1, 3);
  ASSERT_EQ(ApplyOne(*storage, also_late, kStart), Status::kOk);
  EXPECT_EQ(Keys(*storage), 3u);
  Charge fourth = ChargeFor(versions, 1, 4);
  ASSERT_EQ(ApplyOne(*storage, fourth, kStart), Status::kOk);
  EXPECT_EQ(Keys(*storage), 3u);
  EXPECT_EQ(storage->Counters().evicted_live, 1u);
  EXPECT_EQ(Remaining(*storage, versions, 2, kStart), 5u) << "this one was nearest to expiry";
  Charge again = ChargeFor(versions, 1, 1);
  ASSERT_EQ(ApplyOne(*storage, again, kStart, Mode::kPeek), Status::kOk);
  EXPECT_EQ(again.outcome.remaining, 100u);
}

TEST_P(EachAlgorithm, AtTheBoundAKeyAtItsLimitStaysBeforeOneThatIsNot) {
  const auto storage = MakeMemoryStorage({.max_keys = 100});
  const Versions versions({Make(GetParam(), 2, 1'000'000), Make(GetParam(), 2, 3600'000'000)});
  ASSERT_TRUE(Take(*storage, versions, 7, kStart));
  ASSERT_TRUE(Take(*storage, versions, 7, kStart));
  for (uint64_t key = 1000; key < 3000; ++key) {
    Charge charge = ChargeFor(versions, 1, key);
    ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
    ASSERT_TRUE(charge.outcome.allowed);
  }
  EXPECT_EQ(Keys(*storage), 100u);
  EXPECT_EQ(storage->Counters().evicted_live, 1901u);
  EXPECT_FALSE(Take(*storage, versions, 7, kStart))
      << "the flood must not free a key at its limit, though it expires first";
}

TEST_P(EachAlgorithm, InALargeTableEveryKeyBelowItsLimitGoesBeforeAnyThatIsAtIt) {
  const auto storage = MakeMemoryStorage({.max_keys = 40'000});
  const Versions versions({Make(GetParam(), 2, 1800'000'000), Make(GetParam(), 2, 3600'000'000)});
  const auto take = [&](uint16_t version, uint64_t key, uint64_t cost) {
    Charge charge = ChargeFor(versions, version, key, cost);
    ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
    ASSERT_TRUE(charge.outcome.allowed);
  };
  // The keys at their limit expire first. Some have been below it for a while.
  for (uint64_t key = 0; key < 1'000; ++key) take(1, 1'000'000 + key, 1);
  for (uint64_t key = 0; key < 39'000; ++key) {
    if (key % 3 == 0) {
      take(0, key, 1);
      take(0, key, 1);
    } else {
      take(0, key, 2);
    }
  }
  for (uint64_t key = 0; key < 1'000; ++key) take(1, 2'000'000 + key, 2);
  EXPECT_EQ(storage->Counters().evicted_live, 1'000u);
  for (uint64_t key = 0; key < 1'000; ++key) ASSERT_EQ(Remaining(*storage, versions, 1'000'000 + key, kStart), 2u);
  for (uint64_t key = 0; key < 39'000; ++key) ASSERT_EQ(Remaining(*storage, versions, key, kStart), 0u) << key;
  // Nothing else is left to go.
  take(1, 3'000'000, 2);
  EXPECT_EQ(storage->Counters().evicted_live, 1'001u);
  EXPECT_EQ(Keys(*storage), 40'000u);
}

// As many pages come to be meanwhile.
TEST_P(EachAlgorithm, AKeyThatHasAlwaysBeenBelowItsLimitGoesBeforeThoseAtTheirs) {
  constexpr uint64_t kBelow = 100;
  constexpr uint64_t kBound = 20'000;
  const auto storage = MakeMemoryStorage({.max_keys = kBound});
  const Versions versions({Make(GetParam(), 2, 3600'000'000)});
  for (uint64_t key = 0; key < kBound; ++key) ASSERT_TRUE(Take(*storage, versions, key, kStart, key < kBelow ? 1 : 2));
  for (uint64_t key = 0; key < kBelow; ++key) ASSERT_TRUE(Take(*storage, versions, kBound + key, kStart, 2));
  EXPECT_EQ(storage->Counters().evicted_live, kBelow);
  for (uint64_t key = 0; key < kBelow; ++key) ASSERT_EQ(Remaining(*storage, versions, key, kStart), 2u) << key;
  // Nor is it overlooked wherever it lies and the last one lay.
  for (uint64_t key = 2 * kBound; key < 2 * kBound + 100; key += 2) {
    ASSERT_TRUE(Take(*storage, versions, key, kStart));
    ASSERT_TRUE(Take(*storage, versions, key + 1, kStart, 2));
    ASSERT_EQ(Remaining(*storage, versions, key, kStart), 2u) << key;
  }
}

// In a large table as well: the search for room goes on at its begin when it comes to its end.
TEST_P(EachAlgorithm, WhatIsAsNewGoesBeforeAnyKeyAlive) {
  constexpr uint64_t kBound = 20'000;
  constexpr uint64_t kPageBits = uint64_t{1023} << 6;
  const auto storage = MakeMemoryStorage({.max_keys = kBound});
  const Versions versions({Make(GetParam(), 2, 3600'000'000), Make(GetParam(), 2, 1'000'000)});
  const auto take = [&](uint64_t n, uint16_t version, uint64_t page, Micros now) {
    Charge charge = ChargeFor(versions, version, n);
    charge.key.low = (charge.key.low & ~kPageBits) | page << 6;
    ASSERT_EQ(ApplyOne(*storage, charge, now), Status::kOk);
    ASSERT_TRUE(charge.outcome.allowed);
  };
  for (uint64_t n = 0; n < kBound; ++n) take(n, n < 20 ? 1 : 0, n < 20 ? 0 : n % 1024, kStart);
  for (uint64_t n = 0; n < 20; ++n) {
    take(kBound + n, 0, 1023, kStart + 2'000'000);
    EXPECT_EQ(storage->Counters().evicted_live, 0u);
  }
}

// In whichever way a state is written: one charge, two or ten of a request, a settle.
TEST_P(EachAlgorithm, AKeyThatComesBelowItsLimitAgainGoesBeforeThoseAtTheirs) {
  constexpr uint64_t kBack = 100;
  constexpr uint64_t kBound = 20'000;
  const Versions versions({Make(GetParam(), 3, 60'000'000), Make(GetParam(), 3, 3600'000'000)});
  for (const uint64_t together : {0, 1, 2, 10}) {
    SCOPED_TRACE(together == 0 ? "settled" : std::to_string(together) + " at once");
    const auto storage = MakeMemoryStorage({.max_keys = kBound});
    const auto fill = [&](uint16_t version, uint64_t key, Micros now) {
      Charge charge = ChargeFor(versions, version, key, 3);
      ASSERT_EQ(ApplyOne(*storage, charge, now), Status::kOk);
      ASSERT_TRUE(charge.outcome.allowed);
    };
    for (uint64_t key = 0; key < kBound; ++key) fill(key < kBack ? 0 : 1, key, kStart);
    // Two of their windows later the first ones have nothing spent, but are still held.
    const Micros later = together == 0 ? kStart : kStart + 120'000'000;
    for (uint64_t key = 0; key < kBack; key += std::max<uint64_t>(together, 1)) {
      std::vector<Charge> charges;
      for (uint64_t i = 0; i < std::max<uint64_t>(together, 1); ++i)
        charges.push_back(ChargeFor(versions, 0, key + i, together == 0 ? 3 : 1));
      Operation operation{charges, later, together == 0 ? Mode::kSettle : Mode::kSpend, kStart, 1};
      ASSERT_EQ(storage->Apply(operation), Status::kOk);
      ASSERT_EQ(charges.back().outcome.remaining, 2u);
    }
    ASSERT_EQ(Keys(*storage), kBound);
    for (uint64_t key = 0; key < kBack; ++key) fill(1, kBound + key, later);
    EXPECT_EQ(storage->Counters().evicted_live, kBack);
    for (uint64_t key = 0; key < kBack; ++key) ASSERT_EQ(Remaining(*storage, versions, key, later), 3u) << key;
  }
}

TEST_P(EachAlgorithm, ABoundedTableHoldsItsBoundAndNoMore) {
  const auto storage = MakeMemoryStorage({.max_keys = 5000});
  const Versions versions({Make(GetParam(), 2, 3600'000'000)});
  for (uint64_t key = 0; key < 5000; ++key) ASSERT_TRUE(Take(*storage, versions, key, kStart));
  EXPECT_EQ(storage->Counters().evicted_live, 0u);
  for (uint64_t key = 0; key < 5000; ++key) ASSERT_EQ(Remaining(*storage, versions, key, kStart), 1u);
  for (uint64_t key = 5000; key < 20'000; ++key) ASSERT_TRUE(Take(*storage, versions, key, kStart));
  EXPECT_EQ(Keys(*storage), 5000u);
  EXPECT_EQ(storage->Counters().evicted_live, 15'000u);
}

TEST_P(EachAlgorithm, SeveralLimitsNeedRoomTogetherEvenBeyondTheBound) {
  const auto storage = MakeMemoryStorage({.max_keys = 1});
  const Versions versions({Make(GetParam(), 2, 1'000'000)});
  std::vector<Charge> charges;
  for (uint64_t key = 0; key < 10; ++key) charges.push_back(ChargeFor(versions, 0, key));
  Operation operation{charges, kStart, Mode::kSpend};
  ASSERT_EQ(storage->Apply(operation), Status::kOk);
  EXPECT_TRUE(Admits(charges));
  EXPECT_EQ(Keys(*storage), 10u);
  ASSERT_TRUE(Take(*storage, versions, 77, kStart));
  EXPECT_EQ(Keys(*storage), 1u) << "and not for longer than it takes";
}

TEST_P(EachAlgorithm, ManyAnswersAsOneByOne) {
  const auto batch = MakeMemoryStorage({});
  const auto single = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 3, 1'000'000)});
  std::mt19937_64 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<Charge> a;
    for (int i = 0; i < 32; ++i) a.push_back(ChargeFor(versions, 0, random() % 200));
    std::vector<Charge> b = a;
    std::vector<Operation> operations;
    std::vector<Status> statuses(32);
    const Micros now = kStart + static_cast<Micros>(round) * 50'000;
    for (Charge& charge : a) operations.push_back({{&charge, 1}, now, Mode::kSpend});
    batch->ApplyMany(operations, statuses);
    for (size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(statuses[i], Status::kOk);
      ApplyOne(*single, b[i], now);
      ASSERT_TRUE(SameAnswer(a[i].outcome, b[i].outcome));
    }
  }
}

// A page that fills up with what is as new is to be cleared and not split, even if by chance more than usual is alive in it: else the table would grow for
// as long as new keys come. 61 of a page's 128 slots are alive on average here.
TEST(MemoryStorage, KeysThatComeOnceDoNotMakeTheTableGrow) {
  constexpr uint64_t kAlive = 61 * 256;
  constexpr Micros kLife = 600'000;  // one unit of 100 a minute
  const auto storage = MakeMemoryStorage({.max_keys = 40 * kAlive});
  const Versions versions({Make(Algorithm::kTokenBucket, 100, 60'000'000)});
  uint64_t most_early = 0;
  uint64_t most_late = 0;
  for (uint64_t key = 0; key < 60 * kAlive; ++key) {
    ASSERT_TRUE(Take(*storage, versions, key, kStart + key * kLife / kAlive));
    if (key % 64 != 0) continue;
    uint64_t& most = key < 10 * kAlive ? most_early : most_late;
    most = std::max(most, Keys(*storage));
  }
  EXPECT_LE(most_late, most_early + most_early / 100);
  EXPECT_LE(most_late, 256u * 108);
}

#ifdef __GLIBC__
// Rings go back and come again, whichever way a log gets rid of one: that it outgrew it, a reset, a sweep, a new key in its slot, a bound that is reached.
TEST(MemoryStorage, RingsOfEntriesAreUsedAgain) {
  const Versions versions({Make(Algorithm::kSlidingLog, 1'000, 1'000'000)});
  const auto kept = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const auto round = [&](Storage& storage, uint64_t keys, uint64_t first, Micros from, int entries) {
    for (uint64_t key = first; key < first + keys; ++key) {
      for (int i = 0; i < entries; ++i) ASSERT_TRUE(Take(storage, versions, key, from + static_cast<Micros>(i)));
    }
  };
  const auto holds = [&](const char* way, uint64_t max_keys, auto&& once) {
    SCOPED_TRACE(way);
    const auto storage = MakeMemoryStorage({.max_keys = max_keys});
    size_t most_early = 0;
    for (uint64_t i = 0; i < 20; ++i) {
      once(*storage, i, kStart + i * 10'000'000);
      if (i < 10) most_early = std::max(most_early, kept());
    }
    EXPECT_LE(kept(), most_early + 50'000);
  };
  holds("outgrown and forgotten", 1'000'000, [&](Storage& storage, uint64_t, Micros now) {
    round(storage, 500, 0, now, 40);
    for (uint64_t key = 0; key < 500; ++key) {
      Charge charge = ChargeFor(versions, 0, key);
      ASSERT_EQ(ApplyOne(storage, charge, now, Mode::kForget), Status::kOk);
    }
    EXPECT_EQ(Keys(storage), 0u);
  });
  holds("swept", 1'000'000, [&](Storage& storage, uint64_t, Micros now) {
    round(storage, 500, 0, now, 2);
    uint64_t evicted = 0;
    ASSERT_EQ(storage.EvictIdle(now + 5'000'000, evicted), Status::kOk);
    EXPECT_EQ(evicted, 500u);
  });
  holds("taken over by new keys", 1'000'000,
        [&](Storage& storage, uint64_t i, Micros now) { round(storage, 2'000, i * 2'000, now, 1); });
  holds("cleared at the bound", 3'000, [&](Storage& storage, uint64_t i, Micros now) {
    round(storage, 3'000, i * 3'000, now, 1);
    EXPECT_EQ(storage.Counters().evicted_live, 0u);
  });
  holds("dropped at the bound", 500,
        [&](Storage& storage, uint64_t i, Micros) { round(storage, 2'000, i * 2'000, kStart, 1); });
}
#endif

TEST(MemoryStorage, TooManyLimitsAreRefused) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(Algorithm::kTokenBucket, 2, 1'000'000)});
  std::vector<Charge> charges;
  for (uint64_t key = 0; key <= kMaxChargesPerOperation; ++key) charges.push_back(ChargeFor(versions, 0, key));
  Operation operation{charges, kStart, Mode::kSpend};
  EXPECT_EQ(storage->Apply(operation), Status::kUnsupported);
  EXPECT_EQ(Keys(*storage), 0u);
}

TEST(MemoryStorage, SaysItsSizeInAdvance) {
  EXPECT_EQ(MemoryTableBytes(1'000'000) % 4096, 0u);
  EXPECT_LE(MemoryTableBytes(1'000'000), 160u << 20);
  EXPECT_THROW(MakeMemoryStorage({.max_keys = uint64_t{1} << 60}), std::bad_alloc);
}

}  // namespace
}  // namespace ratel::test
