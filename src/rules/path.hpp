// The normal form under which a request's path is matched.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ratel {

/// The normal form of a request target: absolute form ("http://host/p" -> "/p"), query and fragment cut off, `;parameters` cut from every
/// segment, percent-encoded unreserved characters decoded once, dot segments and repeated slashes resolved, %2F and other escapes kept (hex
/// digits in capitals). Always starts with '/'; a slash at the end is kept. Bytes that are no valid escape stay as they are. A target that does
/// not start with '/' gets one: "" -> "/", "*" -> "/*", "host:443" -> "/host:443".
///
/// Returns a view of `raw` when what remains of it is normal already (the usual case), else of `buffer`, which needs raw.size() + 1 bytes and may be
/// the memory that holds `raw`. An empty view (never a normal form) says that `buffer` was needed and too small. Linear in
/// raw.size(), any bytes, never allocates.
std::string_view NormalizePath(std::string_view raw, std::span<char> buffer) noexcept;

/// The same, for the loader and for explain.
std::string NormalizePath(std::string_view raw);

}  // namespace ratel
