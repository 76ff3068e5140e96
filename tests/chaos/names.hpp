// A host's name that can be unknown for a while: this program's getaddrinfo, which the library in its process uses, too.
#pragma once

#include <atomic>
#include <string_view>

namespace ratel::test {

/// The loopback, while it is known. All other names are the system's.
inline constexpr std::string_view kName = "redis.test.invalid";
extern std::atomic<bool> name_is_known;

}  // namespace ratel::test
