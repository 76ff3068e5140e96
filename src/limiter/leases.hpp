// Units that this process has paid for in advance, in blocks, and admits requests from without asking the store.
//
// A table of fixed size, eight places to a set, a lock for each set that is held for a few instructions. A place is one key (the states of a request as a
// whole): how much it has used lately, which says how large the next block is to be, and the block it has.
//
//   asks the store singly ──hot──> pays for a block (one thread; others go on singly) ──> admits from it ──> used up, or its life is over
//            ^                                    │ denied                                                       │
//            └──────── for one life ──────────────┘                                    what is left is handed back ┘
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "core/hash.hpp"
#include "limiter/snapshot.hpp"
#include "limiter/spin_lock.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// Requests with more limits than this are never leased.
inline constexpr size_t kMaxLeasedLimits = 4;

/// The instants of a request: its own, and what the registry's clock said before the store was asked.
struct Instants {
  Micros asked_at = 0;
  Micros local_at = 0;
};

/// A block that was paid for. Instants are the store's, unless said otherwise.
struct Lease {
  std::shared_ptr<const Snapshot> snapshot;      ///< owns what the charges point to
  std::array<Charge, kMaxLeasedLimits> charges;  ///< as answered
  size_t count = 0;
  std::string names;
  uint64_t left = 0;  ///< units
  Micros paid_at = 0;
  Micros until = 0;
  Micros local_at = 0;  ///< by the registry's clock, before it was paid for
  bool own_clock = false;
  Micros held = 0;  ///< for how long requests have seen it
  std::chrono::steady_clock::time_point paid;
  std::chrono::microseconds life{0};
  std::unique_ptr<Lease> next;  ///< of a list

  std::span<Charge> span() noexcept { return {charges.data(), count}; }
  /// The store's instant of a request; 0 when that is before the payment.
  Micros InstantOf(const Instants& instants) const noexcept;
};

/// The most that may be paid for in advance, and for how long; units 0 = never.
struct LeaseTerms {
  uint64_t units = 0;
  Micros life = 0;
};
LeaseTerms TermsOf(const RuleSet& set, std::span<const Charge> charges) noexcept;

/// Any threads.
class Leases {
 public:
  static constexpr size_t kCapacity = 4096;

  /// Throws std::bad_alloc.
  Leases() : sets_(new Set[kSets]) {}
  ~Leases();

  struct Turn {
    enum class Way : uint8_t {
      kTaken,  ///< admitted; `charges` tell the answer
      kAsk,    ///< ask the store singly
      kPay,    ///< ask the store for `block` units in place of the cost; Paid or NotPaid has to follow
    };
    Way way = Way::kAsk;
    uint64_t block = 0;
    Micros paid_at = 0;
  };
  /// Fills the charges' outcomes when it is taken.
  Turn Take(const Hash128& key, const LeaseTerms& terms, const Instants& instants, std::span<Charge> charges) noexcept;
  void Paid(const Hash128& key, std::unique_ptr<Lease> lease) noexcept;
  void NotPaid(const Hash128& key, const LeaseTerms& terms, const Instants& instants) noexcept;
  /// Until every kPay has been followed up, or that instant.
  void AwaitPayments(std::chrono::steady_clock::time_point until) noexcept;

  /// Ends blocks whose life is over, or all.
  void EndExpired(std::chrono::steady_clock::time_point now) noexcept;
  /// Ends those of other rule sets than `generation`; 0 = of all.
  void EndOthers(uint64_t generation) noexcept;
  /// Forgets blocks that hold one of these states. Nothing of them is to be handed back.
  void Drop(std::span<const Charge> charges) noexcept;
  /// A block that has ended; null when there is none.
  std::unique_ptr<Lease> TakeEnded() noexcept;

  /// Blocks that are out or wait to be handed back.
  size_t out() const noexcept { return out_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    bool used = false;
    bool paying = false;
    Hash128 key;
    std::unique_ptr<Lease> lease;
    uint64_t block = 0;     ///< the last one's units
    uint64_t units = 0;     ///< asked for since `since`
    Micros since = 0;       ///< by the registry's clock, as is:
    Micros not_before = 0;  ///< a block was denied
  };
  static constexpr size_t kWays = 8;
  static constexpr size_t kSets = kCapacity / kWays;
  struct Set {
    SpinLock lock;
    std::array<Entry, kWays> entries;

    Entry* Find(const Hash128& key) noexcept;
    /// A place for a key that has none; nullptr when all hold blocks.
    Entry* Room() noexcept;
  };

  Set& SetOf(const Hash128& key) noexcept { return sets_[key.high % kSets]; }
  static uint64_t NextBlock(Entry& entry, const LeaseTerms& terms, Micros now, uint64_t cost) noexcept;
  /// Takes the block out of its place; it waits to be handed back.
  void End(Entry& entry) noexcept;
  void PaymentBegins() noexcept;
  void PaymentEnds() noexcept;
  template <class Ends>
  void EndWhere(Ends ends) noexcept;
  static int64_t EndOf(const Lease& lease) noexcept;
  void EndsNotBefore(int64_t end) noexcept;

  std::unique_ptr<Set[]> sets_;
  /// No block's life is over before this, by the steady clock: until then nobody has to look at all places.
  std::atomic<int64_t> first_end_{INT64_MAX};
  std::atomic<size_t> out_{0};
  std::mutex ended_mutex_;
  std::unique_ptr<Lease> ended_;

  std::mutex payments_mutex_;
  std::condition_variable no_payments_;
  size_t payments_ = 0;  ///< under way
};

}  // namespace ratel
