// The table by itself, where what a store does with it cannot be had at will.
#include "storage/memory/table.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>

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

/// Bytes of this process in huge pages.
uint64_t HugeBytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string line; std::getline(rollup, line);) {
    if (line.starts_with("AnonHugePages:")) return std::stoull(line.substr(14)) * 1024;
  }
  return 0;
}

/// Whether the system puts a region into one page when it is asked to: an old kernel, a sandbox or an administrator may refuse.
bool SystemMakesHugePages() {
  const Mapping probe(Mapping::kHugePage);
  char* const bytes = probe.As<char>();
  for (size_t i = 0; i < Mapping::kHugePage; i += 4096) bytes[i] = 1;
  return HugePagesAllowed() && probe.MakeHuge(0);
}

TEST(Table, RegionsThatAreFullBecomeHugePagesAndKeepTheirKeys) {
  constexpr uint64_t kKeys = 3 * Table::kPagesPerRegion * Table::kSlotsPerPage;
  RingPool rings;
  Table table(kKeys, rings);
  const auto entry_of = [](uint64_t n) {
    return Entry{Tag::Of(test::Key(n)), Lead::Of(kStart + 1 + n, 0, true, false, false), n, 7};
  };
  for (uint64_t n = 0; n < kKeys; ++n) ASSERT_TRUE(table.Insert(entry_of(n), kStart)) << n;
  const uint64_t before = HugeBytes();
  // Three times the slots of a region, half to five sixths full: at least the first region has all its pages in use. The system may be busy with one of
  // them, and asks to be asked again.
  for (int tries = 0; tries < 100 && HugeBytes() < before + Mapping::kHugePage; ++tries) table.MakeHuge();
  EXPECT_TRUE(HugeBytes() >= before + Mapping::kHugePage || !SystemMakesHugePages()) << before;
  for (uint64_t n = 0; n < kKeys; ++n) {
    const Place place = table.Find(entry_of(n).tag);
    ASSERT_TRUE(place) << n;
    ASSERT_EQ(place.line->ReadValue(place.slot), n);
  }
  EXPECT_EQ(table.used(), kKeys);
}

TEST(Table, WhatIsNotFullStaysInSmallPages) {
  RingPool rings;
  Table table(10'000'000, rings);
  for (uint64_t n = 0; n < 1000; ++n)
    ASSERT_TRUE(table.Insert({Tag::Of(test::Key(n)), Lead::Of(kStart + 1, 0, true, false, false), 0, 0}, kStart));
  const uint64_t before = HugeBytes();
  table.MakeHuge();
  EXPECT_EQ(HugeBytes(), before);
}

}  // namespace
}  // namespace ratel::memory
