// Where a server listens.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace ratel::redis {

struct Place {
  std::string host;  ///< empty with a unix socket
  uint16_t port = 6379;
  std::string path;  ///< of a unix socket; empty with TCP

  bool is_unix() const noexcept { return !path.empty(); }
  auto operator<=>(const Place&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// "host:6379", "[::1]:6379" or the socket's path.
inline std::string Shown(const Place& place) {
  if (place.is_unix()) return place.path;
  const bool v6 = place.host.find(':') != std::string::npos;
  return (v6 ? "[" + place.host + "]" : place.host) + ":" + std::to_string(place.port);
}

}  // namespace ratel::redis
