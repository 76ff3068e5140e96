// Units that this process has admitted by itself and that the store has not been told of, as they count at a later instant.
//
// A bucket's fade at the rate of the local share: what all processes owe together then fades at the limit's rate. A window's count while it is the window
// that holds now; those of the window before it weigh what still overlaps, where the algorithm slides.
#pragma once

#include <algorithm>
#include <cstdint>

#include "algorithm/fixed_window.hpp"
#include "algorithm/numbers.hpp"
#include "core/wide.hpp"

namespace ratel {

/// `share` is always the numbers of the local share, the same ones throughout.
class Owed {
 public:
  void Add(const Numbers& share, Micros now, uint64_t units) noexcept {
    Advance(share, now);
    current_ = Saturated(static_cast<Wide>(units) * UnitOf(share) + current_);
  }

  /// Units that were charged at `charged_at` are not owed after all.
  void TakeBack(const Numbers& share, Micros now, Micros charged_at, uint64_t units) noexcept {
    Advance(share, now);
    const uint64_t amount = Saturated(static_cast<Wide>(units) * UnitOf(share));
    if (IsBucket(share.spec.algorithm)) {
      current_ = SubtractFloor(current_, amount);
      return;
    }
    const Tick window = WindowStart(share, share.TickOf(charged_at));
    if (window == at_) current_ = SubtractFloor(current_, amount);
    if (window + share.window == at_) previous_ = SubtractFloor(previous_, amount);
  }

  /// The latest instant at which it is known: the end of what was added, or the start of its window.
  Micros KnownAt(const Numbers& share) const noexcept { return at_ * share.tick; }

  /// Rounded up.
  uint64_t UnitsAt(const Numbers& share, Micros now) const noexcept {
    Owed later = *this;
    later.Advance(share, now);
    if (IsBucket(share.spec.algorithm)) return CeilDiv(later.current_, share.unit);
    if (share.spec.algorithm == Algorithm::kFixedWindow) return later.current_;
    const Tick elapsed = SubtractFloor(share.TickOf(now), later.at_);
    const Wide weight = static_cast<Wide>(later.previous_) * SubtractFloor(share.window, elapsed);
    return Saturated(later.current_ + (weight + share.window - 1) / share.window);
  }

 private:
  static uint64_t UnitOf(const Numbers& share) noexcept { return IsBucket(share.spec.algorithm) ? share.unit : 1; }
  static uint64_t Saturated(Wide amount) noexcept {
    constexpr uint64_t kMost = uint64_t{1} << 62;
    return amount > kMost ? kMost : static_cast<uint64_t>(amount);
  }

  /// Brings the amounts to `now`; an earlier instant counts as the stored one.
  void Advance(const Numbers& share, Micros now) noexcept {
    const Tick tick = share.TickOf(now);
    if (IsBucket(share.spec.algorithm)) {
      if (tick <= at_) return;
      current_ = SubtractFloor(current_, Saturated(static_cast<Wide>(tick - at_) * share.refill));
      at_ = tick;
      return;
    }
    const Tick start = WindowStart(share, tick);
    if (start <= at_) return;
    previous_ = start - at_ == share.window ? current_ : 0;
    current_ = 0;
    at_ = start;
  }

  Tick at_ = 0;            ///< buckets: the instant of `current_`; windows: the start of the one that `current_` counts
  uint64_t current_ = 0;   ///< buckets: credits
  uint64_t previous_ = 0;  ///< windows: units of the one before
};

}  // namespace ratel
