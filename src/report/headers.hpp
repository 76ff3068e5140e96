// A decision as header fields and as a problem body.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "report/decision.hpp"

namespace ratel {

/// Bits as RL_HEADERS_* in rl.h (a test compares them).
enum HeaderForm : uint32_t {
  kHeadersX = 1u << 0,
  kHeadersResetDelta = 1u << 1,
  kHeadersRetryAfter = 1u << 2,
  kHeadersDraft11 = 1u << 3,
  kHeadersDraft8 = 1u << 4,
  kHeadersDraft7 = 1u << 5,
  kHeadersDraft6 = 1u << 6,
  kHeadersNone = 1u << 7,
};
inline constexpr uint32_t kHeadersDefault = kHeadersX | kHeadersRetryAfter;

/// Whether the bits make sense together: at most one draft, none beside kHeadersNone, no unknown bit.
bool IsValidHeaderForms(uint32_t forms) noexcept;

/// Writes lines "Name: value\r\n" and returns how many bytes they are; when that is above out.size(), `out` holds their beginning.
/// `limit_name` is the binding limit's. Nothing for a decision without a limit (no Retry-After then either).
size_t DecisionHeaders(const Decision& decision, std::string_view limit_name, uint32_t forms,
                       std::span<char> out) noexcept;

/// application/problem+json (RFC 9457) for a denial.
std::string DecisionProblem(const Decision& decision, std::string_view rule_name, std::string_view limit_name);

/// Whole seconds, rounded up, at least 1: the only place where a wait becomes Retry-After.
uint64_t RetryAfterSeconds(uint64_t retry_after_ns) noexcept;

}  // namespace ratel
