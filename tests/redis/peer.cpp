#include "redis/peer.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <stdexcept>

namespace ratel::test {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool Readable(int fd) {
  pollfd wanted{fd, POLLIN, 0};
  return poll(&wanted, 1, 20) == 1;
}

/// Sends what came on `from` to `to`. False when `from` is closed.
bool HandOn(int from, int to) {
  std::array<char, 65536> buffer;
  const ssize_t count = recv(from, buffer.data(), buffer.size(), 0);
  return count > 0 && send(to, buffer.data(), static_cast<size_t>(count), MSG_NOSIGNAL) == count;
}

}  // namespace

Peer::Peer() {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 16) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cannot listen");
  port_ = ntohs(address.sin_port);
}

Peer::~Peer() { close(listener_); }

std::string Peer::url(std::string_view options) const {
  return "redis://127.0.0.1:" + std::to_string(port_) + "?" + std::string(options);
}

void Peer::Start() {
  thread_ = std::thread([this] {
    while (!over_) {
      if (!Readable(listener_)) continue;
      const int client = accept(listener_, nullptr, nullptr);
      if (client < 0) continue;
      Serve(client);
      close(client);
    }
  });
}

void Peer::Stop() {
  over_ = true;
  thread_.join();
}

void Relay::Serve(int client) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(server_port_);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  while (open && !over()) {
    std::array<pollfd, 2> wanted{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    poll(wanted.data(), wanted.size(), 20);
    if (wanted[0].revents != 0) open = HandOn(client, server);
    if (wanted[1].revents != 0 && (lose_replies || lose_next > 0)) {
      if (lose_next > 0) --lose_next;
      std::array<char, 65536> thrown_away;
      static_cast<void>(!recv(server, thrown_away.data(), thrown_away.size(), 0));
      ++lost;
      open = false;
    } else if (const char* other = wanted[1].revents != 0 ? instead.exchange(nullptr) : nullptr; other != nullptr) {
      std::array<char, 65536> thrown_away;
      static_cast<void>(!recv(server, thrown_away.data(), thrown_away.size(), 0));
      open = send(client, other, std::strlen(other), MSG_NOSIGNAL) > 0;
    } else if (wanted[1].revents != 0) {
      if (delay_ms != 0) std::this_thread::sleep_for(std::chrono::milliseconds(delay_ms));
      open = open && HandOn(server, client);
    }
  }
  close(server);
}

void Parrot::Serve(int client) {
  std::string held;
  while (!over()) {
    if (!Readable(client)) continue;
    std::array<char, 65536> buffer;
    const ssize_t count = recv(client, buffer.data(), buffer.size(), 0);
    if (count <= 0) return;
    held.append(buffer.data(), static_cast<size_t>(count));
    // Each command begins with its number of arguments at the start of a line; none of those that we send has such a line inside, but the script:
    // that is one command.
    size_t commands = 0;
    for (size_t at = held.find("*"); at != std::string::npos; at = held.find("\r\n*", at + 1)) ++commands;
    held.clear();
    for (; commands > 0; --commands) {
      if (send(client, reply_.data(), reply_.size(), MSG_NOSIGNAL) < 0) return;
    }
  }
}

}  // namespace ratel::test
