// What may stand between a gateway and its Redis, or in its place: a relay that loses replies, and a server that says what it is told to.
#pragma once

#include <poll.h>

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <thread>

namespace ratel::test {

/// Listens on the loopback; one connection after the other, on a thread of its own.
class Peer {
 public:
  Peer();
  virtual ~Peer();
  Peer(const Peer&) = delete;
  Peer& operator=(const Peer&) = delete;
  int port() const { return port_; }
  std::string url(std::string_view options = "") const;

 protected:
  /// Serves one connection until it is closed or over().
  virtual void Serve(int client) = 0;
  bool over() const { return over_; }
  void Start();
  void Stop();

 private:
  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Hands everything on to a server, until it is told to lose replies: then it takes one more and closes.
class Relay final : public Peer {
 public:
  explicit Relay(int server_port) : server_port_(server_port) { Start(); }
  ~Relay() override { Stop(); }

  std::atomic<bool> lose_replies{
      false};                     ///< what the server answers is read and thrown away, and the connection closed
  std::atomic<int> lose_next{0};  ///< that many times
  std::atomic<int> lost{0};
  std::atomic<int> delay_ms{0};               ///< by so much replies come late
  std::atomic<const char*> instead{nullptr};  ///< once: what comes in place of the next reply

 private:
  void Serve(int client) override;
  const int server_port_;
};

/// Answers every command with one text.
class Parrot final : public Peer {
 public:
  explicit Parrot(std::string reply) : reply_(std::move(reply)) { Start(); }
  ~Parrot() override { Stop(); }

 private:
  void Serve(int client) override;
  const std::string reply_;
};

}  // namespace ratel::test
