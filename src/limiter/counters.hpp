// What is counted, striped so that counting never makes two threads meet.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "limiter/stripes.hpp"

namespace ratel {

/// Adds up one set of counters over all stripes. `Field` is an enum with a kCount.
template <class Field>
class StripedCounters {
 public:
  /// Throws std::bad_alloc.
  StripedCounters() : count_(StripeCount()), stripes_(new Stripe[count_]) {}

  void Add(Field field, uint64_t amount = 1) noexcept {
    stripes_[StripeOf(count_)].values[static_cast<size_t>(field)].fetch_add(amount, std::memory_order_relaxed);
  }
  uint64_t Sum(Field field) const noexcept {
    uint64_t sum = 0;
    for (size_t i = 0; i < count_; ++i)
      sum += stripes_[i].values[static_cast<size_t>(field)].load(std::memory_order_relaxed);
    return sum;
  }

 private:
  struct alignas(64) Stripe {
    std::array<std::atomic<uint64_t>, static_cast<size_t>(Field::kCount)> values{};
  };
  size_t count_;
  std::unique_ptr<Stripe[]> stripes_;
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

using RuleCounters = StripedCounters<RuleCount>;
using TotalCounters = StripedCounters<TotalCount>;

}  // namespace ratel
