// The cache of denials, which takes no lock, with accesses that hand over.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "tests/interleaving/hooked.hpp"
// What comes below is compiled with those atomics.
#include "limiter/denials.cpp"

namespace ratel::test {
namespace {

/// All of one number.
Denial Of(uint64_t n) {
  Denial denial;
  denial.upsets = denial.asked_at = denial.decided_at = denial.until = n;
  denial.retry_at = denial.reset_at = denial.remaining = denial.denied = n;
  return denial;
}

/// Keys of one set, of which it holds four.
Hash128 KeyOf(uint64_t n) { return {n, 7}; }

template <class Work, class Other, class Check>
void Interleaved(Work work, Other other, Check check) {
  for (const bool work_first : {true, false}) {
    for (const uint64_t slice : {kToTheEnd, uint64_t{1}, uint64_t{2}, uint64_t{5}, uint64_t{9}}) {
      uint64_t accesses = kToTheEnd;
      for (uint64_t head = 0; head < accesses; ++head) {
        const uint64_t turns[] = {head, slice, slice};
        accesses = work_first ? TakeTurns(work, other, turns) : TakeTurns(other, work, turns);
        ASSERT_TRUE(check()) << work_first << " for " << head << ", then by " << slice;
      }
    }
  }
}

TEST(DenialCache, AReaderReadsWhatOneHasWrittenOfItsKey) {
  DenialCache cache;
  std::optional<Denial> found;
  // The fifth key takes the first one's place, which ends first, and the other way round.
  for (uint64_t n = 2; n <= 4; ++n) cache.Put(KeyOf(n), Of(1'000'000));
  uint64_t next = 10;
  cache.Put(KeyOf(1), Of(next));
  Interleaved([&] { found = cache.Find(KeyOf(1)); }, [&] { cache.Put(KeyOf(5), Of(next + 1)); },
              [&] {
                const bool good = !found || *found == Of(next);
                next += 2;
                cache.Put(KeyOf(1), Of(next));
                return good;
              });
  // Its own place, written once more.
  Interleaved([&] { found = cache.Find(KeyOf(1)); }, [&] { cache.Put(KeyOf(1), Of(next + 1)); },
              [&] {
                const bool good = !found || *found == Of(next) || *found == Of(next + 1);
                ++next;
                return good;
              });
}

TEST(DenialCache, OfTwoWritersOneWrites) {
  DenialCache cache;
  uint64_t next = 10;
  Interleaved([&] { cache.Put(KeyOf(1), Of(next)); }, [&] { cache.Put(KeyOf(1), Of(next + 1)); },
              [&] {
                const std::optional<Denial> found = cache.Find(KeyOf(1));
                const bool good = found && (*found == Of(next) || *found == Of(next + 1));
                next += 2;
                return good;
              });
}

}  // namespace
}  // namespace ratel::test
