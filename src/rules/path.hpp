// The normal form under which a request's path is matched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace ratel {

/// Writes the normal form of a request target into `buffer` (needs raw.size() + 1 bytes at most) and returns a view of it: absolute form and query
/// cut off, `;parameters` cut from every segment, percent-encoded unreserved characters decoded once, dot segments and repeated
/// slashes resolved, %2F and other escapes kept (hex digits in capitals). Always starts with '/'. Bytes that are not valid
/// escapes stay as they are. Never allocates.
std::string_view NormalizePath(std::string_view raw, std::span<char> buffer) noexcept;

/// The same, for the loader and for explain.
std::string NormalizePath(std::string_view raw);

}  // namespace ratel
