// The state of a key, in the form in which every store keeps it: two words, and for the sliding log its entries.
#pragma once

#include <cstdint>

#include "core/time.hpp"

namespace ratel {

/// Two words. All zero = "new": a full bucket, an empty queue, a window without requests.
///
///                   expiry                                     value
///   buckets         tick at which it is full (empty) again     debt (queue) in credits at the stored instant
///   fixed window    end of the window held                     units counted
///   sliding counter tick at which both counts have faded out   previous << 32 | current
///   sliding log     tick at which the newest entry leaves      units in the entries held (they are kept beside it)
///
/// `expiry` tells without knowing the limit when the state equals "new": from that tick on. The stored instant of a bucket is
/// expiry - ceil(value / refill); of a window its start; of a log its newest entry.
struct State {
  Tick expiry = 0;
  uint64_t value = 0;
  friend bool operator==(const State&, const State&) = default;
};

/// One admitted request of a sliding log. Requests of one tick are one entry.
struct LogEntry {
  Tick at = 0;
  uint64_t cost = 0;
  friend bool operator==(const LogEntry&, const LogEntry&) = default;
};

}  // namespace ratel
