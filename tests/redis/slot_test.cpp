// Slots of keys, against values that others have published or computed.
#include "storage/redis/slot.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "redis/support.hpp"
#include "storage/redis/exchange.hpp"

namespace ratel::redis {
namespace {

TEST(Slot, TheChecksumIsTheOneOfTheSpecification) {
  EXPECT_EQ(Crc16("123456789"), 0x31c3);
  EXPECT_EQ(Crc16(""), 0);
}

TEST(Slot, OnlyATagThatIsNotEmptyCounts) {
  EXPECT_EQ(SlotOf("{user1000}.following"), SlotOf("{user1000}.followers"));
  EXPECT_EQ(SlotOf("{user1000}.following"), SlotOf("user1000"));
  EXPECT_EQ(SlotOf("foo{}{bar}"), Crc16("foo{}{bar}") % kSlots);
  EXPECT_EQ(SlotOf("foo{{bar}}zap"), SlotOf("{bar"));
  EXPECT_EQ(SlotOf("foo{bar}{zap}"), SlotOf("bar"));
  EXPECT_EQ(SlotOf("foo{bar"), Crc16("foo{bar") % kSlots);
}

TEST(Slot, AgreesWithAServer) {
  test::RedisServer server({"--cluster-enabled", "yes"});
  for (const char* key : {"", "a", "foo", "123456789", "rl:numbers", "rl{Xq3}mJ3kT0", "x{}y", "{{a}}"})
    EXPECT_EQ(SlotOf(key), server.Integer({"CLUSTER", "KEYSLOT", key})) << key;
}

TEST(Slot, TagsSpreadOverAllSlots) {
  std::vector<int> tags(kSlots);
  Charge charge;
  for (uint32_t group = 0; group < 1u << 18; ++group) {
    charge.group = group;
    ++tags[SlotOf(KeyName({}, charge))];
  }
  const auto [least, most] = std::ranges::minmax(tags);
  EXPECT_GE(least, 8);
  EXPECT_LE(most, 32);
}

}  // namespace
}  // namespace ratel::redis
