// The decision, as the engine hands it out.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/result.hpp"

namespace ratel {

enum class Source : uint8_t {
  kExact,
  kLeased,
  kCachedDenial,
  kLocalFallback,
  kFailOpen,
  kFailClosed,
  kNoRule,
  kAction
};
enum class Reason : uint8_t { kNone, kLimited, kNeverFits, kBlocked, kStore };

inline constexpr uint64_t kNever = UINT64_MAX;

/// Same fields and units as rl_decision (spans in ns); see there. Each has the place that it has there, so that one can be made where the caller wants
/// it; hence may_alias.
struct [[gnu::may_alias]] Decision {
  uint32_t size = 0;  ///< the border's
  Status status = Status::kOk;
  bool allowed = false;
  Source source = Source::kExact;
  Reason reason = Reason::kNone;
  bool shadow_denied : 1 = false;
  bool peeked : 1 = false;
  uint8_t no_flag : 6 = 0;  ///< the rest of the border's byte
  uint32_t rule = 0;
  uint32_t limit_id = 0;
  uint32_t limit_count = 0;
  uint64_t generation = 0;
  uint64_t now_ns = 0;
  int64_t cost = 0;
  uint64_t limit = 0;
  uint64_t window_ns = 0;
  uint64_t capacity = 0;
  uint64_t remaining = 0;
  uint64_t retry_after_ns = 0;
  uint64_t reset_after_ns = 0;
  uint64_t delay_ns = 0;
};

}  // namespace ratel
