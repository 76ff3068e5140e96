// The rule set in force, and the slots in which its readers mark themselves, with accesses that hand over and threads that are whoever a test says.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "tests/interleaving/hooked.hpp"

namespace ratel {
namespace {

thread_local uint64_t self = 0;
/// In place of the two ways in which a thread is told from others.
[[maybe_unused]] void* SelfPointer() { return reinterpret_cast<void*>(self); }
[[maybe_unused]] uint64_t SelfNumber() { return self; }

uint64_t meetings = 0;
template <class... Args>
long CountedCall(Args... args) {
  ++meetings;
  return ::syscall(args...);
}

}  // namespace
}  // namespace ratel

namespace std::this_thread {
inline void hooked_yield() noexcept { ratel::test::Wait(); }
}  // namespace std::this_thread

#define __builtin_thread_pointer SelfPointer
#define pthread_self SelfNumber
#define yield hooked_yield
#define syscall CountedCall
#include "limiter/current.hpp"
#include "limiter/thread_slot.cpp"

namespace ratel::test {
namespace {

/// Threads whose places in the table of owners begin at the same one.
constexpr uint64_t kOne = 64 * 1000 + 1;
constexpr uint64_t kTwo = 64 * 1000 + 2;
constexpr uint64_t kOthers = 64 * 2000;

size_t IndexOf(uint64_t thread) {
  self = thread;
  return ThreadSlot::Mine().index();
}

/// Who owns a slot adds with a load and a store, who shares one with one access.
bool Owns(uint64_t thread) {
  self = thread;
  const ThreadSlot slot = ThreadSlot::Mine();
  std::hooked_atomic<uint64_t> word;
  return CountAccesses([&] { slot.Add(word, 1); }) == 2;
}

/// Slots are never given back: in a process of its own, nobody has one yet. What `test` returns, below 100.
int InOwnProcess(const std::function<int()>& test) {
  const pid_t child = fork();
  if (child == 0) _exit(test());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 100;
}

TEST(ThreadSlot, AThreadKeepsItsSlotAndOwnsItAlone) {
  const int own = InOwnProcess([] {
    int count = 0;
    while (Owns(kOthers + 64 * static_cast<uint64_t>(count))) ++count;
    return count;
  });
  if (own == 0) GTEST_SKIP() << "nobody owns a slot here";
  // Two come at once, for the first slots and for the last one.
  for (const int taken : {0, own - 1}) {
    for (uint64_t head = 0; head < 10; ++head) {
      for (uint64_t then = 1; then < 10; ++then) {
        const int fault = InOwnProcess([&] {
          for (int i = 0; i < taken; ++i) IndexOf(kOthers + 64 * static_cast<uint64_t>(i));
          std::array<size_t, 2> index{};
          const uint64_t turns[] = {head, then};
          TakeTurns([&] { index[0] = IndexOf(kOne); }, [&] { index[1] = IndexOf(kTwo); }, turns);
          if (index[0] == index[1]) return 1;
          if (Owns(kOne) != (index[0] < static_cast<size_t>(own))) return 2;
          if (Owns(kTwo) != (index[1] < static_cast<size_t>(own))) return 3;
          if (IndexOf(kOne) != index[0] || IndexOf(kTwo) != index[1]) return 4;
          return index[0] < ThreadSlot::Count() && index[1] < ThreadSlot::Count() ? 0 : 5;
        });
        ASSERT_EQ(fault, 0) << taken << " taken, " << head << ", then " << then;
      }
    }
  }
}

/// A rule set in force, and those that come after it.
struct Sets {
  CurrentSnapshot current;
  std::array<Snapshot, 3> all;

  void Put(size_t i) {
    current.Replace(std::shared_ptr<const Snapshot>(&all[i], [this, i](const Snapshot*) { all[i].ended = true; }));
  }
};

// A reader is stopped anywhere, two reloads come, and in between it goes on for a little.
TEST(CurrentSnapshot, NoReaderSeesOneThatHasEnded) {
  ASSERT_EQ(IndexOf(kOne), 0u);
  ASSERT_NE(IndexOf(kTwo), 0u);
  for (uint64_t i = 0; i < 100; ++i) IndexOf(kOthers + 64 * i);
  uint64_t last = kOthers + 64 * 100;
  while (IndexOf(last) != ThreadSlot::Count() - 1) last += 64;

  uint64_t accesses_of_reload = 0;
  {
    Sets sets;
    self = kTwo;
    sets.Put(0);
    accesses_of_reload = CountAccesses([&] {
      self = kTwo;
      sets.Put(1);
    });
  }
  for (const uint64_t reader : {kOne, last}) {
    for (const uint64_t slice : {accesses_of_reload, uint64_t{3}, uint64_t{kToTheEnd}}) {
      for (uint64_t head = 0; head < 20; ++head) {
        for (uint64_t then = 1; then < 20; ++then) {
          Sets sets;
          self = kTwo;
          sets.Put(0);
          bool saw_one_that_has_ended = false;
          const uint64_t turns[] = {head, slice, then};
          TakeTurns(
              [&] {
                self = reader;
                const CurrentSnapshot::Reader seen(sets.current);
                for (int i = 0; i < 4; ++i) {
                  BeforeAccess();
                  saw_one_that_has_ended |= seen->ended;
                }
              },
              [&] {
                self = kTwo;
                sets.Put(1);
                sets.Put(2);
              },
              turns);
          ASSERT_FALSE(saw_one_that_has_ended)
              << "slot " << IndexOf(reader) << ", " << head << ", " << slice << ", then " << then;
          ASSERT_TRUE(sets.all[0].ended && sets.all[1].ended && !sets.all[2].ended);
        }
      }
    }
  }
}

// Before one reader goes the next one comes.
TEST(CurrentSnapshot, ReadersWithoutAPauseDoNotHoldAReloadUp) {
  Sets sets;
  self = kTwo;
  sets.Put(0);
  bool done = false;
  int readers = 0;
  TakeTurns(
      [&] {
        self = kOne;
        auto reader = std::make_unique<CurrentSnapshot::Reader>(sets.current);
        for (; !done && readers < 1'000; ++readers) reader = std::make_unique<CurrentSnapshot::Reader>(sets.current);
      },
      [&] {
        self = kTwo;
        sets.Put(1);
        done = true;
      },
      std::vector<uint64_t>(10'000, 7));
  EXPECT_LT(readers, 1'000);
}

// A mark is a plain store, which a reload may not see yet: it has to make threads meet when the new set stands, before it looks for marks.
TEST(CurrentSnapshot, AReloadMakesThreadsMeet) {
  if (ThreadSlot::Count() == ThreadSlot::kMaxShared) GTEST_SKIP() << "every mark is a locked instruction here";
  Sets sets;
  self = kTwo;
  for (size_t i = 0; i < 3; ++i) {
    const uint64_t before = meetings;
    sets.Put(i);
    EXPECT_EQ(meetings, before + 1);
  }
}

}  // namespace
}  // namespace ratel::test
