// The 64-byte line in which the table keeps two keys: everything a decision reads or writes.
//
//   word  0          1        2        3        4        5          6          7
//         header     slot 0 state      slot 1 state      tag 0      tag 1      tags' upper halves
//         |          |  lead |  value   lead   value     low 64     low 64     0: low 32, 1: high 32
//         |          +- expiry, tick, flags (0 = nothing here)
//         +- lock 1, reach 6, version 25, numbers version of slot 0 and 1: 16 each
//
// All words are atomics of natural size. A reader takes a snapshot and then proves that the header did not change (a sequence
// lock); a writer locks by compare-and-swap on the very header it has read, which proves the same, and unlocks with the next version. The data
// words are read with acquire and written with release order: that keeps the two header accesses around them without a
// fence, which ThreadSanitizer does not understand. The version never repeats while a reader can sleep through it: 2^25 writes to one line.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "algorithm/state.hpp"
#include "core/hash.hpp"
#include "core/time.hpp"

namespace ratel::memory {

inline constexpr size_t kSlots = 2;

inline constexpr uint64_t kLocked = 1;
inline constexpr unsigned kReachShift = 1;
inline constexpr uint64_t kReachMask = uint64_t{63} << kReachShift;
inline constexpr unsigned kVersionShift = 7;
inline constexpr uint64_t kVersionMask = ((uint64_t{1} << 25) - 1) << kVersionShift;
inline constexpr unsigned kNumbersShift = 32;

/// The first word of a slot's state.
class Lead {
 public:
  static constexpr uint64_t kExpiryMask = (uint64_t{1} << 54) - 1;

  constexpr Lead() noexcept = default;
  explicit constexpr Lead(uint64_t word) noexcept : word_(word) {}
  static constexpr Lead Of(Tick expiry, unsigned tick_exponent, bool at_limit, bool log, bool blank) noexcept {
    return Lead((expiry & kExpiryMask) | uint64_t{tick_exponent} << 54 | uint64_t{at_limit} << 57 |
                uint64_t{log} << 58 | uint64_t{blank} << 59 | uint64_t{1} << 63);
  }

  constexpr uint64_t word() const noexcept { return word_; }
  constexpr bool empty() const noexcept { return word_ == 0; }
  constexpr Tick expiry() const noexcept { return word_ & kExpiryMask; }
  constexpr unsigned tick_exponent() const noexcept { return word_ >> 54 & 7; }
  /// Nothing was left to spend when it was last written.
  constexpr bool at_limit() const noexcept { return word_ >> 57 & 1; }
  /// `value` names a ring of entries.
  constexpr bool log() const noexcept { return word_ >> 58 & 1; }
  /// Reserved for a request that is being decided; the state is new, `expiry` only says how long to keep the place.
  constexpr bool blank() const noexcept { return word_ >> 59 & 1; }

  /// Whether the state equals "new" at `now`, so that the slot can be had.
  bool Dead(Micros now) const noexcept { return expiry() <= now / kPowersOfTen[tick_exponent()]; }

 private:
  static constexpr std::array<uint64_t, 8> kPowersOfTen{1, 10, 100, 1000, 10'000, 100'000, 1'000'000, 1'000'000};
  uint64_t word_ = 0;
};

/// What the table stores of a key's hash: 96 bits, from which page and line are taken too, so that moving an entry never needs the key.
struct Tag {
  uint64_t low = 0;
  uint32_t high = 0;

  static Tag Of(Hash128 key) noexcept { return {key.low, static_cast<uint32_t>(key.high)}; }
  size_t home_line() const noexcept { return low & 63; }
  uint64_t page_bits() const noexcept { return low >> 6; }
  friend bool operator==(const Tag&, const Tag&) = default;
};

/// One slot, copied out.
struct Entry {
  Tag tag;
  Lead lead;
  uint64_t value = 0;
  uint16_t numbers = 0;  ///< version of the numbers that the state was written under
};

class alignas(64) Line {
 public:
  uint64_t ReadHeader() const noexcept { return words_[0].load(std::memory_order_acquire); }

  /// The header of a line that nobody holds; waits for that.
  uint64_t StableHeader() const noexcept {
    const uint64_t header = ReadHeader();
    return (header & kLocked) == 0 ? header : AwaitHeader();
  }
  /// Whether everything read since `header` was read still stands.
  bool Unchanged(uint64_t header) const noexcept { return words_[0].load(std::memory_order_relaxed) == header; }

  /// Locks only if nothing happened since `header` was read.
  bool TryLock(uint64_t header) noexcept {
    return words_[0].compare_exchange_strong(header, header | kLocked, std::memory_order_acquire,
                                             std::memory_order_relaxed);
  }
  /// Waits and locks; returns the header from before.
  uint64_t Lock() noexcept {
    for (;;) {
      const uint64_t header = StableHeader();
      if (TryLock(header)) return header;
    }
  }
  /// Unlocks after a write; `header` is the one from before the lock, maybe with another reach or other numbers.
  void Unlock(uint64_t header) noexcept { words_[0].store(NextVersion(header), std::memory_order_release); }
  /// Unlocks a line in which nothing was written.
  void UnlockUntouched(uint64_t header) noexcept { words_[0].store(header, std::memory_order_release); }

  Lead ReadLead(size_t slot) const noexcept { return Lead(Get(1 + 2 * slot)); }
  uint64_t ReadValue(size_t slot) const noexcept { return Get(2 + 2 * slot); }
  bool Holds(size_t slot, Tag tag) const noexcept {
    return Get(5 + slot) == tag.low && static_cast<uint32_t>(Get(7) >> (32 * slot)) == tag.high &&
           Get(1 + 2 * slot) != 0;
  }
  Entry Read(size_t slot, uint64_t header) const noexcept {
    return {{Get(5 + slot), static_cast<uint32_t>(Get(7) >> (32 * slot))},
            ReadLead(slot),
            ReadValue(slot),
            NumbersOf(header, slot)};
  }

  // Writes: only while the line is locked.
  void WriteState(size_t slot, Lead lead, uint64_t value) noexcept {
    Put(1 + 2 * slot, lead.word());
    Put(2 + 2 * slot, value);
  }
  /// Writes a whole slot and returns the header with its numbers version.
  [[nodiscard]] uint64_t Write(size_t slot, const Entry& entry, uint64_t header) noexcept {
    WriteState(slot, entry.lead, entry.value);
    Put(5 + slot, entry.tag.low);
    const unsigned shift = static_cast<unsigned>(32 * slot);
    Put(7, (Get(7) & ~(uint64_t{0xffffffff} << shift)) | uint64_t{entry.tag.high} << shift);
    return WithNumbers(header, slot, entry.numbers);
  }
  void Clear(size_t slot) noexcept { WriteState(slot, Lead(), 0); }

  static unsigned ReachOf(uint64_t header) noexcept {
    return static_cast<unsigned>((header & kReachMask) >> kReachShift);
  }
  static uint64_t WithReach(uint64_t header, unsigned reach) noexcept {
    return (header & ~kReachMask) | uint64_t{reach} << kReachShift;
  }
  static uint16_t NumbersOf(uint64_t header, size_t slot) noexcept {
    return static_cast<uint16_t>(header >> (kNumbersShift + 16 * slot));
  }
  static uint64_t WithNumbers(uint64_t header, size_t slot, uint16_t numbers) noexcept {
    const unsigned shift = static_cast<unsigned>(kNumbersShift + 16 * slot);
    return (header & ~(uint64_t{0xffff} << shift)) | uint64_t{numbers} << shift;
  }

  static void Pause(unsigned spin) noexcept {
    if (spin < 256) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      __asm__ volatile("yield");
#endif
    } else {
      sched_yield();
    }
  }

 private:
  // Kept out of line: what calls it then need not keep its own values where a call leaves them.
  [[gnu::noinline, gnu::cold]] uint64_t AwaitHeader() const noexcept {
    for (unsigned spin = 0;; ++spin) {
      const uint64_t header = ReadHeader();
      if ((header & kLocked) == 0) return header;
      Pause(spin);
    }
  }
  static uint64_t NextVersion(uint64_t header) noexcept {
    return header ^ ((header ^ (header + (uint64_t{1} << kVersionShift))) & kVersionMask);
  }
  uint64_t Get(size_t word) const noexcept { return words_[word].load(std::memory_order_acquire); }
  void Put(size_t word, uint64_t value) noexcept { words_[word].store(value, std::memory_order_release); }

  std::array<std::atomic<uint64_t>, 8> words_;
};
static_assert(sizeof(Line) == 64 && alignof(Line) == 64);
static_assert(std::atomic<uint64_t>::is_always_lock_free);

}  // namespace ratel::memory
