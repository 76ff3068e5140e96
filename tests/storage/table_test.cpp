// The table by itself, where what a store does with it cannot be had at will.
#include "storage/memory/table.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "storage/memory/held.hpp"
#include "tests/storage/support.hpp"

namespace ratel::memory {
namespace {

constexpr Micros kStart = 1'700'000'000'000'000;

Entry Reserved(uint64_t n) {
  return {Tag::Of(test::Key(n)), Lead::Of(kStart + 1'000'000, 0, false, false, true), 0, 0};
}

// As a request leaves it that ran out of memory.
TEST(Table, APlaceThatIsReservedIsNoState) {
  RingPool rings;
  Table table(10, rings);
  ASSERT_TRUE(table.Insert(Reserved(1), kStart));
  const test::Versions versions({test::Make(Algorithm::kFixedWindow, 5, 60'000'000)});
  const Charge charge = test::ChargeFor(versions, 0, 1);
  Outcome outcome;
  EXPECT_FALSE(SpendHeld<StepFixedWindow>(table, SingleCharge::Of(charge), kStart, outcome))
      << "that is for the long way";
}

TEST(Table, APlaceThatIsReservedGoesWhenThereIsNoOther) {
  RingPool rings;
  Table table(1, rings);
  ASSERT_TRUE(table.Insert(Reserved(1), kStart));
  const Entry entry{Tag::Of(test::Key(2)), Lead::Of(kStart + 1, 0, true, false, false), 0, 0};
  EXPECT_TRUE(table.Insert(entry, kStart));
  EXPECT_TRUE(table.Find(entry.tag));
  EXPECT_FALSE(table.FindSurely(Reserved(1).tag));
  EXPECT_EQ(table.used(), 1u);
}

}  // namespace
}  // namespace ratel::memory
