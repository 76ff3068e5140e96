// A connected pair of byte queues: a non-blocking socket, TCP or unix, with or without TLS. One thread.
#pragma once

#include <sys/socket.h>

#include <memory>
#include <string>
#include <string_view>

#include "storage/redis/tls.hpp"

namespace ratel::redis {

/// An address to connect to.
struct Endpoint {
  sockaddr_storage address{};
  socklen_t size = 0;
};

Endpoint UnixEndpoint(const std::string& path);

class Stream {
 public:
  /// Begins to connect. On failure open() is false and fault() says why. `host` is for TLS.
  Stream(const Endpoint& endpoint, const TlsContext* tls, const std::string& host);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  bool open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  const std::string& fault() const noexcept { return fault_; }
  /// What poll() has to wait for.
  short events() const noexcept;

  /// Queues bytes; Flush sends them.
  void Write(std::string_view bytes) { plain_out_.append(bytes); }
  /// Sends as much as the socket takes, in one call. False when the stream is gone.
  bool Flush();
  /// Takes what has come and appends it to `in`. False when the stream is gone (what came before is appended).
  bool Read(std::string& in);
  /// After poll(): ends a connect that was under way. False when the stream is gone.
  bool FinishConnect();

 private:
  bool Fail(std::string why);
  bool FailByErrno(const char* what);

  int fd_ = -1;
  bool connecting_ = true;
  std::unique_ptr<TlsSession> tls_;
  std::string plain_out_;
  std::string out_;
  size_t sent_ = 0;  ///< of out_
  std::string fault_;
};

}  // namespace ratel::redis
