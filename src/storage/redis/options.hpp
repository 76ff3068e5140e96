// Where a Redis is and how it is to be used: what a URL says.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/result.hpp"

namespace ratel::redis {

struct Options {
  std::string host;  ///< empty with a unix socket
  uint16_t port = 6379;
  std::string path;  ///< of a unix socket; empty with TCP
  std::string user;  ///< empty = the default user
  std::string password;
  uint32_t database = 0;

  bool tls = false;
  std::string ca;           ///< file of certificates to trust; empty = the system's
  std::string certificate;  ///< file of our own, with its chain; empty = none
  std::string key;          ///< file of its key
  std::string server_name;  ///< to be found in the server's certificate; empty = the host

  std::chrono::milliseconds deadline{10};  ///< for each decision
  bool server_time = true;                 ///< decide at the server's time, else at the caller's
  std::string prefix = "rl";               ///< of every key
  uint32_t connections = 1;
  uint64_t ttl_margin_ms = 0;  ///< keys outlive their state's use by so much

  bool is_unix() const noexcept { return !path.empty(); }
};

/// Reads redis://, rediss:// and unix:// (docs/redis.md). kConfig for what is wrong, kUnsupported for what this build or version cannot do; messages
/// never hold the password.
Result<Options> ParseUrl(std::string_view url);

/// Where it is, for messages: "redis://host:6379/0". Never with credentials.
std::string Shown(const Options& options);

}  // namespace ratel::redis
