// A state as portable bytes, for storages that hold bytes: a host's own map, a database, a cache. Self-describing, so that a reader knows under
// which numbers it was written, and checked, so that cut, damaged or foreign bytes are recognised.
//
//   offset  size
//        0     4   "RtlS"
//        4     1   format version, 1
//        5     1   algorithm, as in Algorithm
//        6     1   tick exponent
//        7     1   0
//        8     8   limit
//       16     8   window, microseconds
//       24     8   burst, 0 = limit
//       32     8   expiry, ticks          the two words of State
//       40     8   value
//       48     4   entries n              0 but for a sliding log
//       52   16n   entries                at (ticks), cost; 8 bytes each, oldest first
//   52+16n     4   FNV-1a, 32 bits, of all bytes before it
//
// Integers are little-endian and unsigned. A state that equals "new" need not be held at all.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithm/numbers.hpp"
#include "algorithm/state.hpp"

namespace ratel {

struct Decoded {
  Numbers numbers;  ///< under which it was written
  State state;
  std::vector<LogEntry> entries;
};

/// `entries` is empty but for a sliding log, and holds fewer than 2^32. Throws std::bad_alloc.
std::vector<uint8_t> Encode(const Numbers& numbers, const State& state, std::span<const LogEntry> entries);

/// Nothing when the bytes are not what Encode makes: another format or version, cut, damaged, or values that no step could have left.
/// What is returned can be stepped and converted without overflow. Throws std::bad_alloc.
std::optional<Decoded> Decode(std::string_view bytes);

}  // namespace ratel
