// Instants as people and access logs write them. All in nanoseconds since the Unix epoch, UTC.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratel::tool {

/// "2026-07-01T12:00:00Z", with a fraction or an offset too, or seconds since the epoch ("1782907200.25").
std::optional<uint64_t> ParseInstant(std::string_view text);

/// "17/May/2015:10:05:03 +0000".
std::optional<uint64_t> ParseLogTime(std::string_view text);

/// "2015-05-17 10:05:03".
std::string FormatInstant(uint64_t ns);

}  // namespace ratel::tool
