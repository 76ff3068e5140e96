// Where the entries of sliding logs live: rings of 4, 8, 16, ... entries from slabs that are kept until the end, so that a reader which
// was overtaken reads stale numbers and never freed memory.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "algorithm/state.hpp"

namespace ratel::memory {

/// A ring as its slot's value word names it: address in the low 48 bits, log2 of its capacity above. 0 = none.
/// Read by anybody (the line's version tells whether what was read was consistent), written under the line's lock.
class Ring {
 public:
  Ring() noexcept = default;
  explicit Ring(uint64_t handle) noexcept : handle_(handle) {}

  uint64_t handle() const noexcept { return handle_; }
  bool none() const noexcept { return handle_ == 0; }
  size_t capacity() const noexcept { return none() ? 0 : size_t{1} << (handle_ >> 48); }

  // What algorithm/sliding_log.hpp reads: entry 0 is the oldest.
  size_t size() const noexcept { return none() ? 0 : static_cast<size_t>(Word(0)); }
  Tick At(size_t i) const noexcept { return Word(kHeaderWords + 2 * Place(i)); }
  uint64_t UnitsThrough(size_t i) const noexcept { return Word(kHeaderWords + 2 * Place(i) + 1) - Word(2); }

  // Writing, under the line's lock.
  void Clear() noexcept;
  void DropFront(size_t count) noexcept;
  /// Appends; the caller has seen to room.
  void Append(Tick at, uint64_t cost) noexcept;
  /// Adds to the newest entry.
  void AddToNewest(uint64_t cost) noexcept;
  /// Entries from `from` on become one at `at`.
  void MergeFrom(size_t from, Tick at) noexcept;
  /// Entry i costs `cost` from now on; 0 removes it.
  void Replace(size_t i, uint64_t cost) noexcept;
  /// Makes it hold the entries of `from`, and those alone.
  void CopyFrom(const Ring& from) noexcept;

  static constexpr size_t kHeaderWords = 4;  // size, head, units dropped off the front, unused
  static constexpr unsigned kSmallest = 2;   // log2 of entries

 private:
  std::atomic<uint64_t>* words() const noexcept {
    return reinterpret_cast<std::atomic<uint64_t>*>(handle_ & ((uint64_t{1} << 48) - 1));
  }
  uint64_t Word(size_t i) const noexcept { return words()[i].load(std::memory_order_acquire); }
  void SetWord(size_t i, uint64_t value) noexcept { words()[i].store(value, std::memory_order_release); }
  size_t Place(size_t i) const noexcept { return static_cast<size_t>((Word(1) + i) & (capacity() - 1)); }
  void SetAt(size_t i, Tick at) noexcept { SetWord(kHeaderWords + 2 * Place(i), at); }
  void SetThrough(size_t i, uint64_t units) noexcept { SetWord(kHeaderWords + 2 * Place(i) + 1, units + Word(2)); }

  uint64_t handle_ = 0;
};

/// Any threads.
class RingPool {
 public:
  RingPool() = default;
  ~RingPool();
  RingPool(const RingPool&) = delete;
  RingPool& operator=(const RingPool&) = delete;

  /// A ring of at least `entries`, with whatever it held when it was last used; none when memory is out.
  Ring Get(size_t entries) noexcept;
  void Put(Ring ring) noexcept;

 private:
  static constexpr size_t kClasses = 33;
  struct Class {
    std::mutex mutex;
    uint64_t* free = nullptr;  // chained through the first word after the header
  };
  bool Refill(Class& cls, unsigned log2) noexcept;

  std::array<Class, kClasses> classes_;
  std::mutex slabs_mutex_;
  struct Slab {
    Slab* next;
  };
  Slab* slabs_ = nullptr;
};

}  // namespace ratel::memory
