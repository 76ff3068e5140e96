// One line: what lies beside what in its words, and from when on a state counts as new.
#include "storage/memory/line.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>

namespace ratel::memory {
namespace {

TEST(Line, TheVersionWrapsAndLeavesWhatLiesBesideIt) {
  Line line{};
  uint64_t header = line.Lock();
  header = line.Write(0, {Tag{1, 2}, Lead::Of(9, 0, false, false, false), 3, 7}, header);
  header = line.Write(1, {Tag{4, 5}, Lead::Of(9, 0, false, false, false), 6, 0xffff}, header);
  line.Unlock(Line::WithReach(header, 63) | kVersionMask);
  const uint64_t after = line.ReadHeader();
  EXPECT_EQ(after & kVersionMask, 0u);
  EXPECT_EQ(after & kLocked, 0u);
  EXPECT_EQ(Line::ReachOf(after), 63u);
  EXPECT_EQ(Line::NumbersOf(after, 0), 7u);
  EXPECT_EQ(Line::NumbersOf(after, 1), 0xffffu);
}

// Each of the 96 bits tells keys apart, in either slot and beside any neighbour.
TEST(Line, HoldsAKeyByAllOfItsTag) {
  const Tag tags[] = {{0x0123456789abcdef, 0xfedcba98}, {0xffffffffffffffff, 0xffffffff}};
  Line line{};
  uint64_t header = line.Lock();
  for (size_t slot = 0; slot < kSlots; ++slot) {
    EXPECT_FALSE(line.Holds(slot, tags[slot]));
    header = line.Write(slot, {tags[slot], Lead::Of(9, 0, false, false, false), slot, 0}, header);
  }
  for (size_t slot = 0; slot < kSlots; ++slot) {
    EXPECT_TRUE(line.Holds(slot, tags[slot]));
    EXPECT_FALSE(line.Holds(slot, tags[1 - slot]));
    EXPECT_EQ(line.Read(slot, header).tag, tags[slot]);
    for (unsigned bit = 0; bit < 64; ++bit)
      EXPECT_FALSE(line.Holds(slot, {tags[slot].low ^ uint64_t{1} << bit, tags[slot].high})) << bit;
    for (unsigned bit = 0; bit < 32; ++bit)
      EXPECT_FALSE(line.Holds(slot, {tags[slot].low, tags[slot].high ^ uint32_t{1} << bit})) << bit;
  }
  line.Clear(0);
  EXPECT_FALSE(line.Holds(0, tags[0])) << "the tag is left in a slot that is empty";
  EXPECT_TRUE(line.Holds(1, tags[1]));
}

TEST(Lead, IsDeadFromItsExpiryOnWhateverItsTicks) {
  uint64_t tick = 1;
  for (unsigned exponent = 0; exponent <= 6; ++exponent, tick *= 10) {
    const Tick expiry = 1'700'000'000'000'000 / tick;
    const Lead lead = Lead::Of(expiry, exponent, true, true, true);
    EXPECT_EQ(lead.expiry(), expiry);
    EXPECT_EQ(lead.tick_exponent(), exponent);
    EXPECT_FALSE(lead.Dead(expiry * tick - 1)) << exponent;
    EXPECT_TRUE(lead.Dead(expiry * tick)) << exponent;
  }
}

}  // namespace
}  // namespace ratel::memory
