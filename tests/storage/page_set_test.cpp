#include "storage/memory/page_set.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <set>

namespace ratel::memory {
namespace {

TEST(PageSet, HoldsAndFindsAsASetDoes) {
  // Pages at both ends of words, in a set that does not end with a word.
  constexpr uint64_t kPages = 333;
  PageSet pages(kPages);
  std::set<uint64_t> expected;
  std::mt19937_64 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint64_t page = random() % 2 == 0 ? random() % kPages : random() % 6 * 64 + (random() % 2 == 0 ? 0 : 63);
    if (page < kPages && random() % 3 != 0) {
      pages.Add(page);
      expected.insert(page);
    } else if (page < kPages) {
      pages.Remove(page);
      expected.erase(page);
    }
    if (round % 10 != 0) continue;
    for (uint64_t from = 0; from <= kPages; ++from) {
      ASSERT_TRUE(from == kPages || pages.Has(from) == expected.contains(from)) << from;
      const uint64_t to = from + random() % (kPages + 1 - from);
      const auto next = expected.lower_bound(from);
      ASSERT_EQ(pages.Next(from, to), next == expected.end() || *next >= to ? to : *next) << from << " to " << to;
    }
  }
}

TEST(PageSet, TellsARowThatIsWhole) {
  PageSet pages(5 * 64);
  for (uint64_t page = 64; page < 4 * 64; ++page) {
    EXPECT_FALSE(pages.HasAll(64, 3 * 64)) << page;
    pages.Add(page);
  }
  EXPECT_TRUE(pages.HasAll(64, 3 * 64));
  EXPECT_FALSE(pages.HasAll(0, 2 * 64));
  EXPECT_FALSE(pages.HasAll(3 * 64, 2 * 64));
  for (const uint64_t page : {64, 127, 200, 4 * 64 - 1}) {
    pages.Remove(page);
    EXPECT_FALSE(pages.HasAll(64, 3 * 64)) << page;
    pages.Add(page);
  }
}

}  // namespace
}  // namespace ratel::memory
