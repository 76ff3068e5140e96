// Ratel in front of an HTTP server: every request is decided on before anything else happens to it.
#pragma once

#include <httplib.h>

#include <cstdint>
#include <optional>
#include <ratel/rl.hpp>
#include <string>

#include "upstream.hpp"

namespace gateway {

struct Options {
  std::string host = "127.0.0.1";
  int port = 0;                    ///< 0 = any free one
  std::string rules;               ///< file or folder, watched
  std::string upstream;            ///< empty = the gateway answers by itself
  uint32_t watch_ms = 1000;        ///< how often the rules are looked at
  std::string redis;               ///< URL; empty = counts are in this process
  std::string secret;              ///< of all that share the Redis
  std::string idempotency_header;  ///< empty = none
};

class Gateway {
 public:
  /// Throws ratel::Error when the rules have faults, std::exception for other wrong options.
  explicit Gateway(const Options& options);

  /// Takes the port; false when it cannot be had.
  bool Bind();
  int port() const { return port_; }

  /// Serves until Stop(); returns when the requests under way are answered.
  void Serve() { server_.listen_after_bind(); }
  void Stop();

 private:
  using Verdict = httplib::Server::HandlerResponse;

  Verdict Arrive(const httplib::Request& received, httplib::Response& response);
  Verdict Decide(const httplib::Request& request, httplib::Response& response);
  Verdict Refuse(const ratel::Decision& decision, httplib::Response& response) const;
  void Answer(const httplib::Request& request, httplib::Response& response, const httplib::ContentReader* body) const;

  Options options_;
  ratel::Registry registry_;
  std::optional<Upstream> upstream_;
  httplib::Server server_;
  int port_ = 0;
};

}  // namespace gateway
