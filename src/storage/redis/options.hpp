// Where a Redis is and how it is to be used: what a URL says.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "storage/redis/place.hpp"

namespace ratel::redis {

enum class Deployment : uint8_t { kServer, kCluster, kSentinel };

struct Options {
  Deployment deployment = Deployment::kServer;
  std::vector<Place> places;  ///< the server; some nodes of the cluster; the sentinels
  std::string user;           ///< empty = the default user
  std::string password;
  uint32_t database = 0;

  std::string master;             ///< kSentinel: the name that the sentinels watch it under
  std::string sentinel_user;      ///< likewise: at the sentinels; empty = the default user
  std::string sentinel_password;  ///< likewise; empty = none
  bool slot_by_rule = false;      ///< kCluster: limits that have nothing in common share their rule's slot

  bool tls = false;
  std::string ca;           ///< file of certificates to trust; empty = the system's
  std::string certificate;  ///< file of our own, with its chain; empty = none
  std::string key;          ///< file of its key
  std::string server_name;  ///< to be found in the server's certificate; empty = the host

  std::chrono::milliseconds deadline{10};  ///< for each decision
  bool server_time = true;                 ///< decide at the server's time, else at the caller's
  std::string prefix = "rl";               ///< of every key
  uint32_t connections = 1;
  uint32_t batch = 64;               ///< most decisions that share a call of the script; 1 = each has one of its own
  uint64_t ttl_margin_ms = 0;        ///< keys outlive their state's use by so much
  uint64_t idempotency_ms = 60'000;  ///< how long the answer to a request with an id is kept
};

/// Reads redis://, redis+cluster:// and redis+sentinel://, each with TLS as rediss, and unix:// (docs/redis.md). kConfig for what is wrong, kUnsupported
/// for what this build cannot do; messages never hold a password.
Result<Options> ParseUrl(std::string_view url);

/// Where it is, for messages: "redis://host:6379/0". Never with credentials.
std::string Shown(const Options& options);
/// One of its servers.
std::string Shown(const Options& options, const Place& place);

}  // namespace ratel::redis
