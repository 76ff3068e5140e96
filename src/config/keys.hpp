// Every word that the rule format knows. schema/rules.schema.json is held against these lists by a test.
#pragma once

#include <array>
#include <string_view>

namespace ratel {

inline constexpr auto kTopKeys = std::to_array<std::string_view>(
    {"version", "match", "ignore_case", "trusted_proxies", "client_ip_from", "ipv6_prefix", "max_keys", "instances",
     "local_factor", "lease_life", "lease_units", "headers", "regions", "rules", "default"});

inline constexpr auto kHeaderKeys = std::to_array<std::string_view>({"x_ratelimit", "retry_after", "reset", "ietf"});

inline constexpr auto kRuleKeys = std::to_array<std::string_view>(
    {"name", "method", "path", "path_match", "when", "limits", "scope", "algorithm", "limit", "window", "burst",
     "overrides", "cost", "shadow", "on_store_error", "local_tier", "action", "region"});

inline constexpr auto kDefaultKeys =
    std::to_array<std::string_view>({"name", "limits", "scope", "algorithm", "limit", "window", "burst", "overrides",
                                     "cost", "shadow", "on_store_error", "local_tier", "action", "region"});

inline constexpr auto kLimitKeys =
    std::to_array<std::string_view>({"name", "scope", "algorithm", "limit", "window", "burst", "overrides", "shadow"});

inline constexpr auto kOverrideKeys = std::to_array<std::string_view>({"limit", "window", "burst"});

/// Those of kLimitKeys that stand at the rule when it has one limit and no `limits`.
inline constexpr auto kInlineKeys =
    std::to_array<std::string_view>({"scope", "algorithm", "limit", "window", "burst", "overrides"});

// In the order of their enums; algorithms have ToText in algorithm/numbers.hpp.
inline constexpr auto kAlgorithmWords =
    std::to_array<std::string_view>({"token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"});
inline constexpr auto kPathMatchWords = std::to_array<std::string_view>({"prefix", "literal", "exact"});
inline constexpr auto kOnStoreErrorWords = std::to_array<std::string_view>({"local", "open", "closed"});
inline constexpr auto kLocalTierWords = std::to_array<std::string_view>({"none", "denials", "leases"});
inline constexpr auto kActionWords = std::to_array<std::string_view>({"limit", "block", "unlimited"});
/// In the order of ForwardedField.
inline constexpr auto kClientIpFromWords = std::to_array<std::string_view>({"any", "x_forwarded_for", "forwarded"});
inline constexpr auto kRegionWords = std::to_array<std::string_view>({"share", "global"});
inline constexpr auto kMatchWords = std::to_array<std::string_view>({"most_specific", "all"});
inline constexpr auto kResetWords = std::to_array<std::string_view>({"epoch", "delta"});
inline constexpr auto kIetfWords =
    std::to_array<std::string_view>({"off", "draft-11", "draft-8", "draft-7", "draft-6"});
inline constexpr auto kScopeWords =
    std::to_array<std::string_view>({"user", "api_key", "ip", "global", "attribute:<name>"});

}  // namespace ratel
