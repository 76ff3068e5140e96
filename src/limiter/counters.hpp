// What is counted, each thread in a slot of its own (thread_slot.hpp), so that counting never makes two threads meet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "limiter/thread_slot.hpp"

namespace ratel {

/// Sets of counters that are added up over all slots. `Field` is an enum with a kCount. In a slot the sets of a block lie side by side, which one
/// alone would not fill.
template <class Field, size_t kSets>
class CounterBlock {
  struct alignas(64) Slot {
    std::array<std::array<std::atomic<uint64_t>, static_cast<size_t>(Field::kCount)>, kSets> values{};
  };

 public:
  /// Throws std::bad_alloc.
  CounterBlock() : slots_(new Slot[ThreadSlot::Count()]) {}

  /// One of the sets, by reference; valid as long as the block.
  class Set {
   public:
    Set() noexcept = default;

    void Add(Field field, uint64_t amount = 1) const noexcept { Add(ThreadSlot::Mine(), field, amount); }
    /// The same when the calling thread's slot is known.
    void Add(ThreadSlot slot, Field field, uint64_t amount = 1) const noexcept {
      slot.Add(first_[slot.index()].values[set_][static_cast<size_t>(field)], amount);
    }
    uint64_t Sum(Field field) const noexcept {
      uint64_t sum = 0;
      for (size_t i = 0; i < ThreadSlot::Count(); ++i)
        sum += first_[i].values[set_][static_cast<size_t>(field)].load(std::memory_order_relaxed);
      return sum;
    }

   private:
    friend class CounterBlock;
    Slot* first_ = nullptr;
    size_t set_ = 0;
  };

  Set At(size_t set) noexcept {
    Set out;
    out.first_ = slots_.get();
    out.set_ = set;
    return out;
  }

 private:
  std::unique_ptr<Slot[]> slots_;
};

/// Per rule. `cost_allowed` is allowed + kExtraCost, so that a request of cost 1 counts once.
enum class RuleCount : uint8_t { kAllowed, kDenied, kNeverFits, kShadowDenied, kExtraCost, kCount };

/// Per registry: what the rules' own counters do not add up to. kMoreAllowed and kMoreDenied: how often a request was counted for a further rule under
/// `match: all`. kShadowRequests: requests in which a shadow limit would have denied. kReportedBack and kUnreported: units.
enum class TotalCount : uint8_t {
  kNoRule,
  kMoreAllowed,
  kMoreDenied,
  kBlocked,
  kNeverFits,
  kShadowRequests,
  kLocalFallback,
  kLeased,
  kCachedDenial,
  kReportedBack,
  kUnreported,
  kFailOpen,
  kFailClosed,
  kStoreErrors,
  kUnknownClient,
  kEvictedIdle,
  kReloads,
  kReloadFailures,
  kCount
};

inline constexpr size_t kRulesInBlock = 16;
using RuleCounterBlock = CounterBlock<RuleCount, kRulesInBlock>;
using RuleCounters = RuleCounterBlock::Set;

class TotalCounters {
 public:
  /// Throws std::bad_alloc.
  TotalCounters() : set_(block_.At(0)) {}
  void Add(TotalCount field, uint64_t amount = 1) noexcept { set_.Add(field, amount); }
  /// The same when the calling thread's slot is known.
  void Add(ThreadSlot slot, TotalCount field) noexcept { set_.Add(slot, field); }
  uint64_t Sum(TotalCount field) const noexcept { return set_.Sum(field); }

 private:
  CounterBlock<TotalCount, 1> block_;
  CounterBlock<TotalCount, 1>::Set set_;
};

}  // namespace ratel
