#include "limiter/thread_slot.hpp"

#include <algorithm>
#include <bit>
#include <thread>

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ratel {
namespace {

#ifdef __linux__
long Membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }
bool Register() noexcept { return Membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0; }
bool Meet() noexcept { return Membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0; }
#else
bool Register() noexcept { return false; }
bool Meet() noexcept { return true; }
#endif

struct Machine {
  uint32_t shared = static_cast<uint32_t>(
      std::min(ThreadSlot::kMaxShared, std::bit_ceil(size_t{std::max(1u, std::thread::hardware_concurrency())})));
  /// None where the kernel cannot make the others' plain stores known: there everybody shares.
  uint32_t own = Register() ? 2 * shared : 0;
};

const Machine& ThisMachine() noexcept {
  static const Machine machine;
  return machine;
}

}  // namespace

std::array<ThreadSlot::Owner, ThreadSlot::kOwners> ThreadSlot::owners_{};
std::atomic<uint32_t> ThreadSlot::owned_{0};

size_t ThreadSlot::Count() noexcept { return ThisMachine().own + ThisMachine().shared; }

uint32_t ThreadSlot::Search() noexcept {
  const uint64_t self = Self();
  const size_t home = HomeOf(self);
  static constexpr size_t kReach = 8;
  static constexpr uint64_t kBeingTaken = 1;
  const Machine& machine = ThisMachine();
  for (size_t i = 0; i < kReach; ++i) {
    Owner& owner = owners_[(home + i) % kOwners];
    uint64_t thread = owner.thread.load(std::memory_order_relaxed);
    if (thread == self) return owner.index.load(std::memory_order_relaxed);
    if (thread != 0) continue;
    if (owned_.load(std::memory_order_relaxed) >= machine.own) break;
    if (!owner.thread.compare_exchange_strong(thread, kBeingTaken, std::memory_order_relaxed)) continue;
    const uint32_t index = owned_.fetch_add(1, std::memory_order_relaxed);
    if (index >= machine.own) break;  // the place is lost, but there are no more slots for it either
    owner.index.store(index, std::memory_order_relaxed);
    owner.thread.store(self, std::memory_order_relaxed);
    return index;
  }
  return (machine.own + (static_cast<uint32_t>(home) & (machine.shared - 1))) | kShared;
}

bool ThreadSlot::MeetAll() noexcept { return ThisMachine().own == 0 || Meet(); }

}  // namespace ratel
