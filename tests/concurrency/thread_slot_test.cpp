// Slots of threads: whose they are, what is counted in them, and the handshake that stands in for a locked instruction.
#include "limiter/thread_slot.hpp"

#include <gtest/gtest.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/membarrier.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "limiter/counters.hpp"
#include "limiter/current.hpp"

namespace ratel {
namespace {

TEST(ThreadSlot, StaysTheThreads) {
  const size_t mine = ThreadSlot::Mine().index();
  EXPECT_LT(mine, ThreadSlot::Count());
  EXPECT_LE(ThreadSlot::Count(), ThreadSlot::kMax);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ThreadSlot::Mine().index(), mine);
}

// More threads than slots, all alive at once and adding to the same counters: what is lost would be missing from the sum. Twice, so that the second lot
// gets slots of threads that have ended.
TEST(ThreadSlot, NothingIsLostHoweverManyCount) {
  static constexpr uint64_t kThreads = 100;
  static constexpr uint64_t kTimes = 20'000;
  RuleCounterBlock block;
  const RuleCounters first = block.At(0);
  const RuleCounters last = block.At(kRulesInBlock - 1);
  for (uint64_t lot = 1; lot <= 2; ++lot) {
    std::barrier all_there(static_cast<std::ptrdiff_t>(kThreads));
    std::vector<std::thread> threads;
    for (uint64_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&] {
        all_there.arrive_and_wait();
        for (uint64_t i = 0; i < kTimes; ++i) {
          first.Add(RuleCount::kAllowed);
          last.Add(RuleCount::kExtraCost, 2);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(first.Sum(RuleCount::kAllowed), lot * kThreads * kTimes);
    EXPECT_EQ(last.Sum(RuleCount::kExtraCost), 2 * lot * kThreads * kTimes);
  }
  EXPECT_EQ(first.Sum(RuleCount::kDenied), 0u);
  EXPECT_EQ(block.At(1).Sum(RuleCount::kAllowed), 0u);
}

// One marks itself and looks whether the other has come; the other comes, makes all threads meet and looks for the mark. Without the meeting both miss each
// other now and then, even on x86: a store may wait in its processor while the load behind it is done. The rounds start by spinning, so that the two run at once.
TEST(ThreadSlot, NeitherMissesTheOtherAcrossAMeeting) {
  static constexpr uint64_t kRounds = 20'000;
  struct alignas(128) Word {
    std::atomic<uint64_t> value{0};
  };
  std::array<Word, ThreadSlot::kMax> marks;
  Word come;
  Word started;
  Word ended;
  std::atomic<bool> reader_saw{false};
  std::thread reader([&] {
    const ThreadSlot slot = ThreadSlot::Mine();
    for (uint64_t round = 1; round <= kRounds; ++round) {
      for (int spin = 0; started.value.load(std::memory_order_acquire) != round; ++spin) {
        if (spin > 2000) std::this_thread::yield();
      }
      slot.Add(marks[slot.index()].value, 1);
      std::atomic_signal_fence(std::memory_order_seq_cst);
      reader_saw.store(come.value.load(std::memory_order_seq_cst) == round, std::memory_order_relaxed);
      ended.value.store(round, std::memory_order_release);
    }
  });
  uint64_t missed = 0;
  for (uint64_t round = 1; round <= kRounds; ++round) {
    started.value.store(round, std::memory_order_release);
    for (uint64_t wait = round % 128; wait != 0; --wait) std::atomic_signal_fence(std::memory_order_seq_cst);
    come.value.store(round, std::memory_order_seq_cst);
    EXPECT_TRUE(ThreadSlot::MeetAll());
    uint64_t marked = 0;
    for (const Word& mark : marks) marked += mark.value.load(std::memory_order_seq_cst);
    while (ended.value.load(std::memory_order_acquire) != round) std::this_thread::yield();
    missed += marked != round && !reader_saw.load(std::memory_order_relaxed);
  }
  reader.join();
  EXPECT_EQ(missed, 0u);
}

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
// A sandbox as a host may go into once it has set up: membarrier(2) is refused from now on.
bool RefuseMembarrier() {
  std::array<sock_filter, 4> filter{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  }};
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

bool OldOneEndsAtReplace() {
  CurrentSnapshot current;
  auto old = std::make_shared<Snapshot>();
  const std::weak_ptr<const Snapshot> watched = old;
  current.Replace(std::move(old));
  current.Replace(std::make_shared<Snapshot>());
  return watched.expired();
}

TEST(CurrentSnapshot, TheOldOneStaysWhenThreadsCannotBeMadeToMeet) {
  EXPECT_TRUE(OldOneEndsAtReplace());
  const long offered = syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);
  if (offered < 0 || (offered & MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0 || prctl(PR_GET_SECCOMP) < 0)
    GTEST_SKIP() << "nothing depends on membarrier here, or it cannot be refused";
  EXPECT_EXIT(_exit(!RefuseMembarrier()     ? 2
                    : ThreadSlot::MeetAll() ? 3
                    : OldOneEndsAtReplace() ? 4
                                            : 0),
              testing::ExitedWithCode(0), "");
}
#endif

}  // namespace
}  // namespace ratel
