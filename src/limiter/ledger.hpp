// What the fallback has admitted while the store was away, until the store has been told.
//
// A table of fixed size, eight places to a set. What no longer counts makes room first; in a full set the smallest amount goes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "limiter/evaluation.hpp"
#include "limiter/owed.hpp"
#include "limiter/spin_lock.hpp"

namespace ratel {

/// One state of which something is owed: enough to ask the store about it.
struct OwedState {
  Hash128 key;
  uint32_t group = 0;
  uint16_t version = 0;
  const Numbers* numbers = nullptr;
  std::shared_ptr<const LimitRecord> record;  ///< owns all numbers
  std::string name;                           ///< for stores that want names

  /// A charge of `cost` units; borrows the name.
  Charge ChargeOf(uint64_t cost) const noexcept;
};

/// Any threads.
class Ledger {
 public:
  static constexpr size_t kCapacity = 16'384;

  /// Throws std::bad_alloc.
  Ledger() : sets_(new Set[kSets]) {}

  /// `charge` as the store would have been asked. Returns the units that had to be dropped for it, its own included.
  uint64_t Add(const Charge& charge, const LimitUse& use, Micros now, uint64_t units) noexcept;
  /// Units admitted at `charged_at` are not owed after all, as far as they still stand here.
  void TakeBack(const Hash128& key, Micros now, Micros charged_at, uint64_t units) noexcept;
  void Forget(const Hash128& key) noexcept;

  /// A state of which something is still owed, another one each time; nothing when there is none. What has ended is dropped on the way. One thread at a time.
  std::optional<OwedState> Next(Micros now);
  /// Ends the entry and returns what is owed. `now` becomes the instant of what was added meanwhile when that is later: the store has to charge it there.
  uint64_t Take(const Hash128& key, Micros& now) noexcept;

  size_t count() const noexcept { return count_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    bool used = false;
    OwedState state;
    const Numbers* share = nullptr;
    Owed owed;
  };
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = kCapacity / kWays;
  struct Set {
    SpinLock lock;
    std::array<Entry, kWays> entries;

    Entry* Find(const Hash128& key) noexcept;
  };

  Set& SetOf(const Hash128& key) noexcept { return sets_[key.high % kSets]; }
  /// A place for a new entry; `dropped` grows by what stood there.
  Entry& Room(Set& set, Micros now, uint64_t& dropped) noexcept;
  void Clear(Entry& entry) noexcept;

  std::unique_ptr<Set[]> sets_;
  std::atomic<size_t> count_{0};
  size_t cursor_ = 0;
};

}  // namespace ratel
