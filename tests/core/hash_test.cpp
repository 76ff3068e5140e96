#include "core/hash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace ratel {
namespace {

TEST(Semantics8Hash, TheSameSecretGivesTheSameHash) {
  const KeyedHasher one = KeyedHasher::FromSecret("0123456789abcdef");
  const KeyedHasher same = KeyedHasher::FromSecret("0123456789abcdef");
  const KeyedHasher other = KeyedHasher::FromSecret("0123456789abcdeg");
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16}, size_t{100}, size_t{1000}}) {
    const std::string bytes(size, 'x');
    EXPECT_EQ(one(bytes), same(bytes)) << size;
    EXPECT_NE(one(bytes), other(bytes)) << size;
  }
}

// Processes of different versions share what they store: whoever changes these loses every state.
TEST(Semantics8Hash, StaysWhatItIs) {
  const KeyedHasher hasher = KeyedHasher::FromSecret("0123456789abcdef");
  const auto of_size = [&](size_t size) { return ToHex(hasher(std::string(size, 'x'))); };
  EXPECT_EQ(of_size(0), "a90c516890b163802664fcc249f92de4");
  EXPECT_EQ(of_size(1), "ba1612361226afa9ac14323048b0fd60");
  EXPECT_EQ(of_size(12), "1e545b24da7322c8e6ec3eab43c7f6b8");
  EXPECT_EQ(of_size(100), "63e70f6de593ac729fbc3de782db7dfb");
  EXPECT_EQ(of_size(200), "29f25f24599f0fa0212df4e0a79d6fa2");
  EXPECT_EQ(of_size(1000), "614d05011e49f62282398c777a2d0ae0");
  std::string kinds;
  for (size_t kind = 0; kind < KeyedHasher::kKinds; ++kind) kinds += ToHex(hasher.Kind(kind));
  EXPECT_EQ(ToHex(hasher(kinds)), "0f17a719dd0d4098d4b710dd80ded722");
  EXPECT_EQ(ToHex(hasher.OfKind(1, "x")), "9db1fcc65c454e65cec86314133a3f00");
}

TEST(Semantics8Hash, KindsNeverMeet) {
  for (const KeyedHasher& hasher : {KeyedHasher::Random(), KeyedHasher::FromSecret("0123456789abcdef")}) {
    std::set<std::string> hashes{ToHex(hasher("x"))};
    for (size_t kind = 0; kind < KeyedHasher::kKinds; ++kind) hashes.insert(ToHex(hasher.OfKind(kind, "x")));
    EXPECT_EQ(hashes.size(), 1 + KeyedHasher::kKinds);
  }
}

TEST(Semantics8Hash, RandomSecretsDiffer) {
  const KeyedHasher one = KeyedHasher::Random();
  const KeyedHasher other = KeyedHasher::Random();
  EXPECT_NE(one("key"), other("key"));
  for (size_t kind = 0; kind < KeyedHasher::kKinds; ++kind) EXPECT_NE(one.Kind(kind), other.Kind(kind)) << kind;
}

TEST(Semantics8Hash, BothHalvesTellKeysApart) {
  const KeyedHasher hasher = KeyedHasher::FromSecret("0123456789abcdef");
  std::set<uint64_t> low;
  std::set<uint64_t> high;
  for (int i = 0; i < 100'000; ++i) {
    const Hash128 hash = hasher("user-" + std::to_string(i));
    low.insert(hash.low);
    high.insert(hash.high);
  }
  EXPECT_EQ(low.size(), 100'000u);
  EXPECT_EQ(high.size(), 100'000u);
}

TEST(Semantics8Hash, Hex) {
  EXPECT_EQ(ToHex({0x0123456789abcdef, 0xfedcba9876543210}), "fedcba98765432100123456789abcdef");
  EXPECT_EQ(ToHex({}), std::string(32, '0'));
}

}  // namespace
}  // namespace ratel
