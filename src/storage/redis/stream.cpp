#include "storage/redis/stream.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>

namespace ratel::redis {
namespace {

constexpr size_t kReadSize = 65536;

int OpenSocket(int family) noexcept {
  const int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0 || family == AF_UNIX) return fd;
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle_seconds = 30;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  return fd;
}

}  // namespace

Endpoint UnixEndpoint(const std::string& path) {
  Endpoint endpoint;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), std::min(path.size() + 1, sizeof address.sun_path));
  std::memcpy(&endpoint.address, &address, sizeof address);
  endpoint.size = sizeof address;
  return endpoint;
}

Stream::Stream(const Endpoint& endpoint, const TlsContext* tls, const std::string& host) {
  if (tls != nullptr) tls_ = tls->NewSession(host);
  fd_ = OpenSocket(endpoint.address.ss_family);
  if (fd_ < 0) {
    FailByErrno("socket");
    return;
  }
  const auto* address = reinterpret_cast<const sockaddr*>(&endpoint.address);
  if (connect(fd_, address, endpoint.size) == 0) {
    connecting_ = false;
  } else if (errno != EINPROGRESS && errno != EINTR) {
    FailByErrno("connect");
  }
}

Stream::~Stream() {
  if (fd_ >= 0) close(fd_);
}

short Stream::events() const noexcept {
  const bool unsent = connecting_ || sent_ < out_.size();
  return static_cast<short>(POLLIN | (unsent ? POLLOUT : 0));
}

bool Stream::FinishConnect() {
  if (!connecting_) return true;
  int fault = 0;
  socklen_t size = sizeof fault;
  if (getsockopt(fd_, SOL_SOCKET, SO_ERROR, &fault, &size) != 0) return FailByErrno("connect");
  if (fault != 0) {
    errno = fault;
    return FailByErrno("connect");
  }
  pollfd probe{fd_, POLLOUT, 0};
  if (poll(&probe, 1, 0) == 1) connecting_ = false;
  return true;
}

bool Stream::Flush() {
  if (!open()) return false;
  if (connecting_) return true;
  if (tls_ == nullptr) {
    if (out_.empty()) {
      out_.swap(plain_out_);
    } else {
      out_.append(plain_out_);
      plain_out_.clear();
    }
  } else {
    const TlsSession::Step step = tls_->Send(plain_out_, out_);
    plain_out_.clear();
    if (step != TlsSession::Step::kOk) return Fail(tls_->fault());
  }
  while (sent_ < out_.size()) {
    const ssize_t count = send(fd_, out_.data() + sent_, out_.size() - sent_, MSG_NOSIGNAL);
    if (count > 0) {
      sent_ += static_cast<size_t>(count);
      continue;
    }
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
    return FailByErrno("send");
  }
  out_.clear();
  sent_ = 0;
  return true;
}

bool Stream::Read(std::string& in) {
  if (!open()) return false;
  for (;;) {
    std::array<char, kReadSize> buffer;
    const ssize_t count = recv(fd_, buffer.data(), buffer.size(), 0);
    if (count < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK) return true;
      return FailByErrno("receive");
    }
    if (count == 0) return Fail("the server closed the connection");
    const std::string_view got(buffer.data(), static_cast<size_t>(count));
    if (tls_ == nullptr) {
      in.append(got);
    } else {
      const TlsSession::Step step = tls_->Receive(got, in, out_);
      if (step == TlsSession::Step::kClosed) return Fail("the server closed the connection");
      if (step == TlsSession::Step::kFailed) return Fail(tls_->fault());
    }
    if (got.size() < buffer.size()) return true;
  }
}

bool Stream::Fail(std::string why) {
  fault_ = std::move(why);
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
  return false;
}

bool Stream::FailByErrno(const char* what) {
  const int number = errno;
  return Fail(std::string(what) + ": " + std::generic_category().message(number));
}

}  // namespace ratel::redis
