// What a step answers.
#pragma once

#include <cstdint>

#include "core/time.hpp"

namespace ratel {

/// Whether a step writes.
enum class Spend : bool { kNo, kYes };

/// The answer of one limit. Instants are in the limit's own ticks.
struct Outcome {
  bool allowed = false;
  bool never_fits = false;  ///< the cost is above the capacity; `retry_at` means nothing then
  bool changed = false;     ///< the state has to be written: it was spent from, or the clock firewall pulled it back
  uint64_t remaining = 0;   ///< whole units a request of cost 1 could still spend now, after this decision
  Tick retry_at = 0;        ///< denied: the first tick at which the same request is admitted if nothing else comes
  Tick reset_at = 0;        ///< the first tick at which the state equals "new"; not before now
  Tick delay = 0;           ///< leaky bucket: ticks until what was queued ahead has drained
};

}  // namespace ratel
