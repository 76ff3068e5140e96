// What nodes say about slots, as bytes.
#include "storage/redis/slot_map.hpp"

#include <gtest/gtest.h>

namespace ratel::redis {
namespace {

std::optional<SlotMap> Read(std::string_view bytes) {
  ReplyReader reader;
  EXPECT_TRUE(reader.Feed(bytes));
  const ReplyPtr reply = reader.Next();
  EXPECT_NE(reply, nullptr);
  return reply == nullptr ? std::nullopt : SlotMap::Read(*reply, {"asked.example", 7000, ""});
}

TEST(SlotMap, HostsByAddressByNameAndOfTheOneThatWasAsked) {
  const auto map = Read(
      "*3\r\n"
      "*4\r\n:0\r\n:5460\r\n*3\r\n$9\r\n127.0.0.1\r\n:7001\r\n$1\r\na\r\n*3\r\n$3\r\n::1\r\n:7004\r\n$1\r\nb\r\n"
      "*3\r\n:5461\r\n:5461\r\n*4\r\n$6\r\nnode-b\r\n:7002\r\n$1\r\nc\r\n*0\r\n"
      "*4\r\n:5462\r\n:16383\r\n*3\r\n$-1\r\n:7003\r\n$1\r\nd\r\n*3\r\n$0\r\n\r\n:7005\r\n$1\r\ne\r\n");
  ASSERT_TRUE(map);
  ASSERT_EQ(map->masters().size(), 3u);
  EXPECT_EQ(map->masters()[map->OwnerOf(0)], (Place{"127.0.0.1", 7001, ""}));
  EXPECT_EQ(map->masters()[map->OwnerOf(5461)], (Place{"node-b", 7002, ""}));
  EXPECT_EQ(map->masters()[map->OwnerOf(16383)], (Place{"asked.example", 7003, ""}));
  EXPECT_EQ(map->Nodes().size(), 5u);
  EXPECT_EQ(map->Nodes()[3], (Place{"::1", 7004, ""}));
  EXPECT_EQ(map->Nodes()[4], (Place{"asked.example", 7005, ""}));
}

TEST(SlotMap, SlotsWithoutAnOwnerAndNodesThatCannotBeReached) {
  const auto map = Read(
      "*2\r\n*3\r\n:10\r\n:20\r\n*3\r\n$1\r\nh\r\n:7001\r\n$1\r\na\r\n"
      "*3\r\n:21\r\n:30\r\n*3\r\n$1\r\n?\r\n:7002\r\n$1\r\nb\r\n");
  ASSERT_TRUE(map);
  EXPECT_EQ(map->OwnerOf(9), SlotMap::kNobody);
  EXPECT_EQ(map->OwnerOf(10), 0);
  EXPECT_EQ(map->OwnerOf(20), 0);
  EXPECT_EQ(map->OwnerOf(21), SlotMap::kNobody);
}

TEST(SlotMap, WhatIsNone) {
  for (const char* bytes : {"+OK\r\n", "*0\r\n", "*1\r\n+x\r\n", "*1\r\n*2\r\n:1\r\n:2\r\n",
                            "*1\r\n*3\r\n:0\r\n:16384\r\n*3\r\n$1\r\nh\r\n:7001\r\n$1\r\na\r\n",
                            "*1\r\n*3\r\n:5\r\n:4\r\n*3\r\n$1\r\nh\r\n:7001\r\n$1\r\na\r\n",
                            "*1\r\n*3\r\n:-1\r\n:4\r\n*3\r\n$1\r\nh\r\n:7001\r\n$1\r\na\r\n",
                            "*1\r\n*3\r\n:0\r\n:4\r\n*3\r\n$1\r\nh\r\n:0\r\n$1\r\na\r\n"})
    EXPECT_FALSE(Read(bytes)) << bytes;
}

TEST(SlotMap, ASlotMovesToANodeThatWasNotKnown) {
  auto map = Read("*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$1\r\nh\r\n:7001\r\n$1\r\na\r\n");
  ASSERT_TRUE(map);
  const Place other{"i", 7002, ""};
  EXPECT_FALSE(map->HasMaster(other));
  map->Move(77, other);
  EXPECT_TRUE(map->HasMaster(other));
  EXPECT_EQ(map->masters()[map->OwnerOf(77)], other);
  EXPECT_EQ(map->OwnerOf(78), 0);
}

TEST(Redirection, WhatServersSay) {
  const Place from{"here", 7000, ""};
  const auto moved = ReadRedirection("MOVED 3999 127.0.0.1:6381", from);
  ASSERT_TRUE(moved);
  EXPECT_TRUE(moved->moved);
  EXPECT_EQ(moved->slot, 3999);
  EXPECT_EQ(moved->place, (Place{"127.0.0.1", 6381, ""}));
  const auto ask = ReadRedirection("ASK 0 fe80::1:6381", from);
  ASSERT_TRUE(ask);
  EXPECT_FALSE(ask->moved);
  EXPECT_EQ(ask->place, (Place{"fe80::1", 6381, ""}));
  EXPECT_EQ(ReadRedirection("MOVED 1 :6381", from)->place, (Place{"here", 6381, ""}));
  EXPECT_EQ(ReadRedirection("MOVED 1 node.example:6381", from)->place.host, "node.example");
}

TEST(Redirection, WhatIsNone) {
  const Place from{"here", 7000, ""};
  for (const char* text :
       {"", "ERR", "MOVED", "MOVED 1", "MOVED 1 h", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 ?:7000",
        "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED x h:1", "ASKING 1 h:1", "TRYAGAIN later:1"})
    EXPECT_FALSE(ReadRedirection(text, from)) << text;
}

}  // namespace
}  // namespace ratel::redis
