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

TEST(Semantics8Hash, RandomSecretsDiffer) { EXPECT_NE(KeyedHasher::Random()("key"), KeyedHasher::Random()("key")); }

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
