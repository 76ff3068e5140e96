// One question to the engine. Borrowed bytes; nothing is copied.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/result.hpp"
#include "core/time.hpp"
#include "rules/key.hpp"
#include "rules/matcher.hpp"

namespace ratel {

inline constexpr int64_t kCostOfRule = INT64_MIN;

/// Same fields and units as rl_request; see there.
struct Request {
  uint64_t now_ns = 0;  ///< 0 = the registry's clock
  int64_t cost = kCostOfRule;
  uint32_t rule = 0;  ///< 0 = find it by method and path
  std::string_view method;
  std::string_view path;
  Identity identity;  ///< user, api_key, ip, key, attributes
  std::string_view idempotency_id;
};

constexpr bool IsValidCost(int64_t cost) noexcept { return cost == kCostOfRule || cost >= 1; }
constexpr bool IsValidInstant(uint64_t now_ns) noexcept { return FloorToMicros(now_ns) <= kMaxMicros; }

inline Status CheckRequest(const Request& request) noexcept {
  return IsValidCost(request.cost) && IsValidInstant(request.now_ns) ? Status::kOk : Status::kInvalidArgument;
}

}  // namespace ratel
