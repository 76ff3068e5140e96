// What a rule's values have to be, wherever the rule comes from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "config/words.hpp"
#include "rules/rule.hpp"

namespace ratel {

inline constexpr uint64_t kMaxUnits = (uint64_t{1} << 53) - 1;  ///< limits, bursts, costs
inline constexpr size_t kMaxLimits = 32;                        ///< of one rule
inline constexpr size_t kMaxConditions = 32;                    ///< of one rule
inline constexpr size_t kMaxMethods = 64;                       ///< of one rule
inline constexpr size_t kMaxScopeParts = 8;
inline constexpr size_t kMaxName = 128;
inline constexpr size_t kMaxRegions = 64;
inline constexpr uint64_t kMaxWeight = 1'000'000;
inline constexpr size_t kMaxPath = 4096;

using FaultSink = std::function<void(const Where&, std::string message)>;

/// Checks a rule's values and brings it into the form that rule.hpp promises: methods and conditions sorted, limits
/// named, addresses in overrides canonical (not yet cut to `ipv6_prefix`). `inline_limit` says that the one limit's
/// keys stand at the rule itself.
void CheckRule(Rule& rule, const Where& where, bool inline_limit, const FaultSink& fault);

}  // namespace ratel
