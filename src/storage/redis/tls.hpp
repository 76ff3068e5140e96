// TLS over bytes: OpenSSL between two buffers, so that the socket stays with Stream.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "storage/redis/options.hpp"

namespace ratel::redis {

class TlsSession;

/// Certificates and trust, for all connections. Immutable.
class TlsContext {
 public:
  /// kConfig when a file cannot be used, kUnsupported in a build without TLS.
  static Result<std::shared_ptr<const TlsContext>> Make(const Options& options);
  virtual ~TlsContext() = default;
  /// `host`: what the server's certificate has to be for, unless the options say otherwise.
  virtual std::unique_ptr<TlsSession> NewSession(const std::string& host) const = 0;
};

/// One connection's. One thread.
class TlsSession {
 public:
  enum class Step { kOk, kClosed, kFailed };
  virtual ~TlsSession() = default;
  /// Takes what came from the peer; appends to `plain` what it says and to `out` what the peer has to get.
  virtual Step Receive(std::string_view cipher, std::string& plain, std::string& out) = 0;
  /// Takes what is to be said; appends to `out` what the peer has to get. Before ready() it is kept. The first call starts the handshake.
  virtual Step Send(std::string_view plain, std::string& out) = 0;
  virtual bool ready() const = 0;
  virtual const std::string& fault() const = 0;
};

}  // namespace ratel::redis
