// What is owed to a store that was away: how it fades, and what the ledger keeps of it.
#include <gtest/gtest.h>

#include "limiter/errand.hpp"
#include "limiter/ledger.hpp"
#include "limiter/owed.hpp"
#include "storage/memory/memory_storage.hpp"

namespace ratel::test {
namespace {

constexpr Micros kStart = 1'700'000'000'000'000;
constexpr Micros kSecond = 1'000'000;

Numbers Make(Algorithm algorithm, uint64_t limit, Micros window) { return *Resolve({algorithm, limit, window, 0}); }

TEST(Owed, ABucketsFadesAtTheRateOfTheShare) {
  const Numbers share = Make(Algorithm::kTokenBucket, 10, 10 * kSecond);
  Owed owed;
  owed.Add(share, kStart, 10);
  EXPECT_EQ(owed.UnitsAt(share, kStart), 10u);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 1), 10u) << "rounded up";
  EXPECT_EQ(owed.UnitsAt(share, kStart + 4 * kSecond), 6u);
  owed.Add(share, kStart + 4 * kSecond, 3);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 4 * kSecond), 9u);
  owed.TakeBack(share, kStart + 4 * kSecond, kStart, 5);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 4 * kSecond), 4u);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 8 * kSecond), 0u);
  EXPECT_EQ(owed.UnitsAt(share, kStart - kSecond), 4u) << "an earlier instant counts as the stored one";
}

TEST(Owed, AFixedWindowsEndsWithItsWindow) {
  const Numbers share = Make(Algorithm::kFixedWindow, 10, 10 * kSecond);
  Owed owed;
  owed.Add(share, kStart + 9 * kSecond, 7);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 9 * kSecond), 7u);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 10 * kSecond), 0u);
  owed.Add(share, kStart + 11 * kSecond, 2);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 12 * kSecond), 2u);
  owed.TakeBack(share, kStart + 12 * kSecond, kStart + 9 * kSecond, 1);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 12 * kSecond), 2u) << "charged in a window that is over";
  owed.TakeBack(share, kStart + 12 * kSecond, kStart + 11 * kSecond, 1);
  EXPECT_EQ(owed.UnitsAt(share, kStart + 12 * kSecond), 1u);
}

TEST(Owed, WhatSlidesWeighsWhatStillOverlaps) {
  for (const Algorithm algorithm : {Algorithm::kSlidingCounter, Algorithm::kSlidingLog}) {
    const Numbers share = Make(algorithm, 10, 10 * kSecond);
    Owed owed;
    owed.Add(share, kStart, 10);
    EXPECT_EQ(owed.UnitsAt(share, kStart + 10 * kSecond), 10u);
    EXPECT_EQ(owed.UnitsAt(share, kStart + 15 * kSecond), 5u);
    owed.Add(share, kStart + 15 * kSecond, 1);
    owed.TakeBack(share, kStart + 15 * kSecond, kStart, 4);
    EXPECT_EQ(owed.UnitsAt(share, kStart + 15 * kSecond), 4u) << "half of six, and one";
    EXPECT_EQ(owed.UnitsAt(share, kStart + 20 * kSecond), 1u);
    EXPECT_EQ(owed.UnitsAt(share, kStart + 30 * kSecond), 0u);
  }
}

TEST(Owed, NothingOverflows) {
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kFixedWindow}) {
    const Numbers share = Make(algorithm, 1, 86'400 * kSecond);
    Owed owed;
    for (int i = 0; i < 4; ++i) owed.Add(share, kStart, UINT64_MAX);
    EXPECT_GT(owed.UnitsAt(share, kStart), 1'000'000u);
  }
}

/// A limit of the ledger's tests, with many keys.
struct OneLimit {
  explicit OneLimit(Algorithm algorithm = Algorithm::kFixedWindow) {
    numbers.numbers = Make(algorithm, 1000, 3600 * kSecond);
    numbers.local = Make(algorithm, 100, 3600 * kSecond);
    limit.record = std::make_shared<LimitRecord>();
    numbers.version = *limit.record->numbers.VersionOf(numbers.numbers);
    numbers.local_version = *limit.record->local.VersionOf(numbers.local);
    use = {nullptr, &limit, &numbers};
  }
  Charge ChargeOf(uint64_t key) const {
    Charge charge;
    charge.key = {key * 0x9e3779b97f4a7c15u, key * 0xbf58476d1ce4e5b9u};
    charge.name = "a name";
    return charge;
  }
  VersionedNumbers numbers;
  CompiledLimit limit;
  LimitUse use;
};

TEST(Ledger, HoldsOneEntryForAStateAndEndsItOnce) {
  Ledger ledger;
  const OneLimit one;
  EXPECT_EQ(ledger.Add(one.ChargeOf(1), one.use, kStart, 3), 0u);
  EXPECT_EQ(ledger.Add(one.ChargeOf(1), one.use, kStart, 4), 0u);
  EXPECT_EQ(ledger.Add(one.ChargeOf(2), one.use, kStart, 1), 0u);
  EXPECT_EQ(ledger.count(), 2u);
  const auto first = ledger.Next(kStart);
  const auto second = ledger.Next(kStart);
  ASSERT_TRUE(first && second);
  EXPECT_FALSE(first->key == second->key);
  const Charge asked = first->ChargeOf(5);
  EXPECT_EQ(asked.numbers->capacity, 1000u) << "the store's numbers, not those of the share";
  EXPECT_EQ(asked.name, "a name");
  Micros now = kStart;
  EXPECT_EQ(ledger.Take(one.ChargeOf(1).key, now), 7u);
  EXPECT_EQ(ledger.Take(one.ChargeOf(1).key, now), 0u);
  EXPECT_EQ(now, kStart);
  ledger.TakeBack(one.ChargeOf(2).key, kStart, kStart, 1);
  EXPECT_FALSE(ledger.Next(kStart)) << "nothing is owed";
  EXPECT_EQ(ledger.count(), 0u);
}

// Between the look at the clock and the charge, requests of a later window may have been admitted: they are charged in theirs.
TEST(Ledger, WhatIsAddedMeanwhileIsChargedAtItsOwnInstant) {
  Ledger ledger;
  TotalCounters totals;
  const OneLimit one;
  const auto storage = MakeMemoryStorage({});
  const Micros later = kStart + 5 * 3600 * kSecond;
  ledger.Add(one.ChargeOf(1), one.use, kStart, 10);
  const auto state = ledger.Next(kStart);
  ASSERT_TRUE(state);
  DebtReport report(ledger, totals, *state, kStart);
  ledger.Add(one.ChargeOf(1), one.use, later, 3);
  while (Operation* question = report.Next()) report.Answered(storage->Apply(*question));
  EXPECT_EQ(totals.Sum(TotalCount::kReportedBack), 3u);
  Charge look = state->ChargeOf(1);
  Operation peek{{&look, 1}, later, Mode::kPeek};
  ASSERT_EQ(storage->Apply(peek), Status::kOk);
  EXPECT_EQ(look.outcome.remaining, 997u);
}

TEST(Ledger, WhatHasEndedIsDroppedAndAFullOneDropsTheLeast) {
  Ledger ledger;
  const OneLimit one;
  uint64_t dropped = 0;
  constexpr uint64_t kKeys = 3 * Ledger::kCapacity;
  for (uint64_t key = 0; key < kKeys; ++key) dropped += ledger.Add(one.ChargeOf(key), one.use, kStart, 2);
  EXPECT_LE(ledger.count(), Ledger::kCapacity);
  EXPECT_EQ(ledger.count() * 2 + dropped, 2 * kKeys);
  uint64_t kept = 0;
  for (uint64_t key = kKeys; key < kKeys + 100; ++key) ledger.Add(one.ChargeOf(key), one.use, kStart, 50);
  Micros now = kStart;
  for (uint64_t key = kKeys; key < kKeys + 100; ++key) kept += ledger.Take(one.ChargeOf(key).key, now);
  EXPECT_EQ(kept, 5000u) << "the larger ones stay";
  EXPECT_FALSE(ledger.Next(kStart + 3600 * kSecond));
  EXPECT_EQ(ledger.count(), 0u);
}

}  // namespace
}  // namespace ratel::test
