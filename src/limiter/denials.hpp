// Denials of the store whose end is known. A state only moves forward, so until then the same request is denied by what is remembered.
//
// A table of fixed size, four places to a set; the one that ends first makes room. Reading takes no lock: a place has a version that is odd while it is
// written, and who has read between two versions reads nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "core/hash.hpp"
#include "core/time.hpp"

namespace ratel {

/// One denial. Instants are the store's, except `asked_at`.
struct Denial {
  uint64_t upsets = 0;  ///< of its states, when the store was asked
  Micros asked_at = 0;  ///< by the registry's clock
  Micros decided_at = 0;
  Micros until = 0;       ///< it holds before this
  uint64_t retry_at = 0;  ///< of the binding limit, in its ticks
  uint64_t reset_at = 0;  ///< likewise
  uint64_t remaining = 0;
  uint64_t denied = 0;   ///< a bit for each charge that did not admit
  uint32_t binding = 0;  ///< index of the charge
  uint32_t own_clock =
      0;  ///< 1: the store decides by a clock of its own: between the two lies what has passed since asked_at
  friend bool operator==(const Denial&, const Denial&) = default;
};

class DenialCache {
 public:
  static constexpr size_t kCapacity = 8192;

  /// Throws std::bad_alloc.
  DenialCache() : slots_(new Slot[kCapacity]) {}

  /// Any threads.
  std::optional<Denial> Find(const Hash128& key) const noexcept;
  /// Any threads. Where another thread is just writing, nothing is kept.
  void Put(const Hash128& key, const Denial& denial) noexcept;

 private:
  static constexpr size_t kWays = 4;
  struct Record {
    Hash128 key;
    Denial denial;
  };
  static constexpr size_t kWords = sizeof(Record) / sizeof(uint64_t);
  static constexpr size_t kUntil = offsetof(Record, denial.until) / sizeof(uint64_t);
  static_assert(sizeof(Record) % sizeof(uint64_t) == 0);

  struct Slot {
    std::atomic<uint32_t> version{0};
    std::array<std::atomic<uint64_t>, kWords> words{};

    /// False when it is being written, or holds another key.
    bool Read(const Hash128& key, Record& out) const noexcept;
    Hash128 key() const noexcept;
    Micros until() const noexcept;
    bool Write(const Record& record) noexcept;
  };

  size_t SetOf(const Hash128& key) const noexcept { return key.high % (kCapacity / kWays) * kWays; }

  std::unique_ptr<Slot[]> slots_;
};

}  // namespace ratel
