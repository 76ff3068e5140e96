#include "core/address.hpp"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <set>
#include <string>

namespace ratel {
namespace {

std::string Canonical(std::string_view text) {
  const std::optional<Address> address = Address::Parse(text);
  return address ? address->ToText() : "-";
}

TEST(Semantics8Addresses, IPv4) {
  for (const char* text : {"0.0.0.0", "192.0.2.1", "255.255.255.255", "10.0.100.9"}) {
    const std::optional<Address> address = Address::Parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_TRUE(address->is_v4());
    EXPECT_EQ(address->bytes().size(), 4u);
    EXPECT_EQ(address->ToText(), text);
  }
}

// B144
TEST(Semantics8Addresses, WhatIsNoAddressIsRefused) {
  for (const char* text : {"",
                           " ",
                           "unknown",
                           "localhost",
                           "23189987",
                           "1",
                           "1.2",
                           "1.2.3",
                           "1.2.3.4.5",
                           "1.2.3.",
                           ".1.2.3",
                           "1..2.3",
                           "256.1.1.1",
                           "1.2.3.256",
                           "01.2.3.4",
                           "1.2.3.04",
                           "1.2.3.0x4",
                           "0x7f.0.0.1",
                           "0177.0.0.1",
                           "127.1",
                           "+1.2.3.4",
                           "1.2.3.-4",
                           "1.2.3.4 5",
                           "1 .2.3.4",
                           "1.2.3.4/8",
                           "1.2.3.4%eth0",
                           "[1.2.3.4]",
                           "1.2.3.4:",
                           "1.2.3.4:65536",
                           "1.2.3.4:080",
                           "1.2.3.4:http",
                           "1.2.3.4:1:2",
                           "1.2.3.99999999999",
                           ":",
                           ":::",
                           "::1::",
                           "1::2::3",
                           ":1::2",
                           "1:2:3:4:5:6:7",
                           "1:2:3:4:5:6:7:8:9",
                           "1:2:3:4:5:6:7:8::",
                           "::1:2:3:4:5:6:7:8",
                           "1:2:3:4:5:6:7:",
                           "12345::",
                           "g::",
                           "::-1",
                           "[::1",
                           "::1]",
                           "[]",
                           "[::1]x",
                           "[::1]:",
                           "[::1]:99999",
                           "[[::1]]",
                           "::1%",
                           "::1%e/0",
                           "::ffff:1.2.3",
                           "::ffff:1.2.3.256",
                           "::1.2.3.4:5",
                           "1.2.3.4::",
                           "1:2:3:4:5:6:7:1.2.3.4",
                           "\"",
                           "\"\"",
                           "\"1.2.3.4",
                           "1.2.3.4\"",
                           "_hidden",
                           "1.2.3.4:_",
                           "1.2.3.4:_a b",
                           "2001:db8::1:443:x"}) {
    EXPECT_EQ(Canonical(text), "-") << text;
  }
  EXPECT_EQ(Canonical(std::string_view("1.2.3.4\0", 8)), "-");
  EXPECT_EQ(Canonical(std::string_view("::1\0", 4)), "-");
}

// B138
TEST(Semantics8Addresses, EverySpellingIsOneAddress) {
  for (const char* text :
       {"2001:db8::1", "2001:DB8::1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8:0:0:0:0:0:1",
        "2001:db8::0:1", "2001:db8:0::1", "2001:db8::0.0.0.1", "[2001:db8::1]", "[2001:db8::1]:443",
        "[2001:db8::1]:_p1", "2001:db8::1%eth0", "[2001:db8::1%25eth0.1]:8080", " 2001:db8::1\t",
        "\"[2001:db8::1]:80\"", " \" 2001:db8::1 \" "}) {
    EXPECT_EQ(Canonical(text), "2001:db8::1") << text;
  }
}

// B135
TEST(Semantics8Addresses, MappedAddressesAreIPv4) {
  for (const char* text : {"::ffff:192.0.2.1", "::FFFF:192.0.2.1", "::ffff:c000:201", "0:0:0:0:0:ffff:c000:0201",
                           "[::ffff:192.0.2.1]:80", "::ffff:192.0.2.1%eth0", "192.0.2.1:80", "\"192.0.2.1\""}) {
    const std::optional<Address> address = Address::Parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_TRUE(address->is_v4()) << text;
    EXPECT_EQ(*address, Address::Parse("192.0.2.1")) << text;
  }
  const std::optional<Address> one = Address::Parse("::ffff:192.0.2.1");
  const std::optional<Address> other = Address::Parse("::ffff:198.51.100.7");
  EXPECT_NE(one->Cut(56), other->Cut(56));
  EXPECT_NE(one->Cut(64), other->Cut(64));
  EXPECT_FALSE(Address::Parse("::192.0.2.1")->is_v4());
  EXPECT_FALSE(Address::Parse("64:ff9b::192.0.2.1")->is_v4());
  EXPECT_FALSE(Address::Parse("::ffff:0:192.0.2.1")->is_v4());
}

TEST(Semantics8Addresses, TextAsInRfc5952) {
  struct {
    const char* text;
    const char* canonical;
  } cases[] = {{"0:0:0:0:0:0:0:0", "::"},
               {"0:0:0:0:0:0:0:1", "::1"},
               {"1:0:0:0:0:0:0:0", "1::"},
               {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
               {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},
               {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},
               {"2001:db8:aaaa:bbbb:cccc:dddd:eeee:00AA", "2001:db8:aaaa:bbbb:cccc:dddd:eeee:aa"},
               {"0:1:0:1:0:1:0:1", "0:1:0:1:0:1:0:1"},
               {"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
               {"::2:3:4:5:6:7:8", "0:2:3:4:5:6:7:8"},
               {"1:2:3:4:5:6::", "1:2:3:4:5:6::"},
               {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"}};
  for (const auto& c : cases) EXPECT_EQ(Canonical(c.text), c.canonical) << c.text;
}

/// The bytes that the system's own parser sees; strictness aside both have to agree.
TEST(Semantics8Addresses, AgreesWithTheSystemOnRandomText) {
  std::mt19937 random(1);
  static constexpr std::string_view kPieces[] = {":",        "::", "0",     "1",  "ffff", "db8",
                                                 "10.0.0.1", ".",  "12345", "0a", "255"};
  int accepted = 0;
  for (int i = 0; i < 300'000; ++i) {
    std::string text;
    for (size_t pieces = 1 + random() % 15; pieces > 0; --pieces) {
      text += kPieces[random() % std::size(kPieces)];
      if (random() % 2 == 0) text += ':';
    }
    std::array<unsigned char, 16> theirs{};
    const bool valid = inet_pton(AF_INET6, text.c_str(), theirs.data()) == 1;
    const std::optional<Address> ours = Address::Parse(text);
    if (!ours) {
      EXPECT_FALSE(valid) << text;
    } else if (!ours->is_v4()) {
      ASSERT_TRUE(valid) << text;
      EXPECT_EQ(std::memcmp(ours->bytes().data(), theirs.data(), 16), 0) << text;
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(Semantics8Addresses, TextAndBackAgain) {
  std::mt19937 random(2);
  for (int i = 0; i < 100'000; ++i) {
    std::array<unsigned char, 16> bytes{};
    for (unsigned char& byte : bytes) byte = random() % 3 == 0 ? static_cast<unsigned char>(random()) : 0;
    char theirs[INET6_ADDRSTRLEN];
    ASSERT_NE(inet_ntop(AF_INET6, bytes.data(), theirs, sizeof(theirs)), nullptr);
    const std::optional<Address> address = Address::Parse(theirs);
    ASSERT_TRUE(address) << theirs;
    EXPECT_EQ(Address::Parse(address->ToText()), address) << theirs;
    EXPECT_LE(address->ToText().size(), Address::kMaxText);
    const bool dotted = std::string_view(theirs).find('.') != std::string_view::npos;
    EXPECT_TRUE(dotted || address->ToText() == theirs) << theirs;
  }
}

// B138
TEST(Semantics8Addresses, CutToAPrefix) {
  const auto cut = [](const char* text, unsigned bits) { return Address::Parse(text)->Cut(bits).ToText(); };
  EXPECT_EQ(cut("2001:db8:1:2:3:4:5:6", 64), "2001:db8:1:2::");
  EXPECT_EQ(cut("2001:db8:1:2:ffff:ffff:ffff:ffff", 64), "2001:db8:1:2::");
  EXPECT_EQ(cut("2001:db8:ffff:ffff::", 36), "2001:db8:f000::");
  EXPECT_EQ(cut("2001:db8:ffff:ffff::", 57), "2001:db8:ffff:ff80::");
  EXPECT_EQ(cut("2001:db8:ffff::", 32), "2001:db8::");
  EXPECT_EQ(cut("2001:db8::1", 128), "2001:db8::1");
  EXPECT_EQ(cut("2001:db8::1", 127), "2001:db8::");
  EXPECT_EQ(cut("192.0.2.1", 32), "192.0.2.1");
  EXPECT_EQ(cut("::ffff:192.0.2.1", 64), "192.0.2.1");
}

TEST(Semantics8Networks, HoldTheirAddresses) {
  struct {
    const char* network;
    const char* inside;
    const char* outside;
  } cases[] = {{"10.0.0.0/8", "10.255.0.1", "11.0.0.0"},
               {"192.0.2.128/25", "192.0.2.129", "192.0.2.127"},
               {"192.0.2.1", "192.0.2.1", "192.0.2.2"},
               {"192.0.2.1/32", "::ffff:192.0.2.1", "192.0.2.0"},
               {"0.0.0.0/0", "255.1.2.3", "::1"},
               {"::/0", "2001:db8::1", "1.2.3.4"},
               {"2001:db8::/32", "2001:db8:ffff::", "2001:db9::"},
               {"2001:db8::/33", "2001:db8:7fff::", "2001:db8:8000::"},
               {"::1", "0::1", "::2"},
               {"::ffff:10.0.0.0/104", "10.1.2.3", "11.0.0.0"},
               {"::ffff:0:0/96", "1.2.3.4", "::1"}};
  for (const auto& c : cases) {
    const std::optional<Network> network = Network::Parse(c.network);
    ASSERT_TRUE(network) << c.network;
    EXPECT_TRUE(network->Contains(*Address::Parse(c.inside))) << c.network << " " << c.inside;
    EXPECT_FALSE(network->Contains(*Address::Parse(c.outside))) << c.network << " " << c.outside;
  }
}

TEST(Semantics8Networks, WhatIsNoNetworkIsRefused) {
  for (const char* text : {"",
                           "/8",
                           "10.0.0.0/",
                           "10.0.0.0/33",
                           "10.0.0.0/-1",
                           "10.0.0.0/08",
                           "10.0.0.0/8/8",
                           "10.0.0.0/8 ",
                           " 10.0.0.0/8",
                           "10.0.0.1/8",
                           "10.0.0.0:80/8",
                           "10.0.0.0:80",
                           "[2001:db8::]/32",
                           "2001:db8::%eth0/32",
                           "2001:db8::1/32",
                           "2001:db8::/129",
                           "\"10.0.0.0/8\"",
                           "10.0.0.0/255.0.0.0",
                           "10/8",
                           "::ffff:10.0.0.0/95",
                           "::ffff:10.0.0.1/104",
                           "10.0.0.0/999999999999",
                           "name/8"}) {
    EXPECT_FALSE(Network::Parse(text)) << text;
  }
}

TEST(Semantics8Networks, MatchBitByBit) {
  std::mt19937 random(3);
  for (unsigned bits = 0; bits <= 128; ++bits) {
    std::string text;
    for (int i = 0; i < 8; ++i) text += (i > 0 ? ":" : "") + std::string(1, "123456789abcdef"[random() % 15]) + "abc";
    const Address base = Address::Parse(text)->Cut(bits);
    const std::optional<Network> network = Network::Parse(base.ToText() + "/" + std::to_string(bits));
    ASSERT_TRUE(network) << text << " " << bits;
    EXPECT_TRUE(network->Contains(*Address::Parse(text)));
    for (unsigned flipped = 0; flipped < 128; ++flipped) {
      std::array<unsigned char, 16> bytes{};
      std::memcpy(bytes.data(), base.bytes().data(), 16);
      bytes[flipped / 8] = static_cast<unsigned char>(bytes[flipped / 8] ^ (0x80u >> flipped % 8));
      char other[INET6_ADDRSTRLEN];
      ASSERT_NE(inet_ntop(AF_INET6, bytes.data(), other, sizeof(other)), nullptr);
      EXPECT_EQ(network->Contains(*Address::Parse(other)), flipped >= bits) << other << " in /" << bits;
    }
  }
}

TEST(Semantics8Addresses, HugeTextIsRefused) {
  for (const char filler : {' ', '1', ':', '.', '[', '%', '"', 'f', '\xff'}) {
    EXPECT_FALSE(Address::Parse(std::string(1'000'000, filler)));
    EXPECT_FALSE(Address::Parse("1.2.3.4:" + std::string(1'000'000, filler)));
    EXPECT_FALSE(Address::Parse("[::1" + std::string(1'000'000, filler)));
  }
}

}  // namespace
}  // namespace ratel
