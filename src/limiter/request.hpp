// One question to the engine. Borrowed bytes; nothing is copied.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

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

}  // namespace ratel
