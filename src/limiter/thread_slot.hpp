// Where a thread writes what it must not meet other threads over: counters and reader marks.
//
// The first threads that come get a slot of their own, in which they write with plain stores: an addition is a load and a store, where a locked
// instruction takes as long as fifty others. Whoever comes later shares slots and pays for it.
//
// A slot belongs to the address of a thread's control block, which no two living threads share. It is never given back: a thread that gets the address of one
// that has ended goes on in its slot, and has seen all that was written there, as its creation came after that end. No thread-local storage is needed, which a
// library that is loaded late may not get.
#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ratel {

class ThreadSlot {
 public:
  static constexpr size_t kMaxOwn = 32;
  static constexpr size_t kMaxShared = 16;
  static constexpr size_t kMax = kMaxOwn + kMaxShared;

  /// How many this machine wants. At most kMax, the same in all calls.
  static size_t Count() noexcept;

  /// The calling thread's.
  static ThreadSlot Mine() noexcept {
    const uint64_t self = Self();
    const Owner& owner = owners_[HomeOf(self)];
    const bool here = owner.thread.load(std::memory_order_relaxed) == self;
    return ThreadSlot(here ? owner.index.load(std::memory_order_relaxed) : Search());
  }

  /// Below Count().
  size_t index() const noexcept { return word_ & ~kShared; }

  /// Adds to a word of this slot. Who owns it writes `order`ed as told; who shares it does so at least.
  void Add(std::atomic<uint64_t>& word, uint64_t amount,
           std::memory_order order = std::memory_order_relaxed) const noexcept {
    if ((word_ & kShared) == 0) [[likely]] {
      word.store(word.load(std::memory_order_relaxed) + amount, order);
    } else {
      word.fetch_add(amount, std::memory_order_seq_cst);
    }
  }

  /// Afterwards every thread has made known what it wrote into its slot before this call, and what it writes there from now on comes after what the caller
  /// has written (the costly half of a Dekker handshake, whose cheap half is a plain store; membarrier(2)). False when the kernel refuses, as a sandbox may
  /// that the process has gone into since: then none of this is sure.
  [[nodiscard]] static bool MeetAll() noexcept;

 private:
  struct Owner {
    std::atomic<uint64_t> thread;
    std::atomic<uint32_t> index;
  };
  static constexpr size_t kOwners = 64;  ///< places for kMaxOwn threads, so that they seldom meet

  static constexpr uint32_t kShared = uint32_t{1} << 31;

  explicit ThreadSlot(uint32_t word) noexcept : word_(word) {}

  static uint64_t Self() noexcept {
#if __has_builtin(__builtin_thread_pointer) && (defined(__x86_64__) || defined(__aarch64__))
    return reinterpret_cast<uint64_t>(__builtin_thread_pointer());
#else
    return static_cast<uint64_t>(pthread_self());
#endif
  }
  static size_t HomeOf(uint64_t self) noexcept { return static_cast<size_t>((self >> 6) * 0x9e3779b97f4a7c15u >> 58); }
  [[gnu::cold]] static uint32_t Search() noexcept;

  static std::array<Owner, kOwners> owners_;
  static std::atomic<uint32_t> owned_;

  uint32_t word_;  ///< the index, with kShared when others may write here too
};

}  // namespace ratel
