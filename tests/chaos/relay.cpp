#include "chaos/relay.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <stdexcept>
#include <string_view>

namespace ratel::test {
namespace {

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  return address;
}

bool Send(int to, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return true;
}

/// What can be read at once; empty when the other side is gone.
std::string Receive(int from) {
  std::array<char, 65536> buffer;
  const ssize_t count = recv(from, buffer.data(), buffer.size(), 0);
  return {buffer.data(), static_cast<size_t>(count > 0 ? count : 0)};
}

/// A command begins with its number of arguments at the start of a line.
size_t CommandsIn(std::string_view bytes) {
  size_t commands = bytes.starts_with("*");
  for (size_t at = bytes.find("\r\n*"); at != std::string_view::npos; at = bytes.find("\r\n*", at + 1)) ++commands;
  return commands;
}

}  // namespace

FaultyRelay::FaultyRelay(int server_port) : server_port_(server_port) {
  listener_ = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = Loopback(0);
  socklen_t size = sizeof address;
  if (bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener_, 64) != 0 ||
      getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    throw std::runtime_error("cannot listen");
  port_ = ntohs(address.sin_port);
  thread_ = std::thread([this] { Accept(); });
}

FaultyRelay::~FaultyRelay() {
  over_ = true;
  thread_.join();
  for (std::thread& connection : connections_) connection.join();
  close(listener_);
}

void FaultyRelay::Become(Mood mood, std::string error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
  mood_ = mood;
}

std::string FaultyRelay::Error() const {
  const std::lock_guard lock(mutex_);
  return "-" + error_ + "\r\n";
}

void FaultyRelay::Accept() {
  while (!over_) {
    pollfd wanted{listener_, POLLIN, 0};
    if (poll(&wanted, 1, 20) != 1) continue;
    const int client = accept(listener_, nullptr, nullptr);
    if (client >= 0) connections_.emplace_back([this, client] { Serve(client); });
  }
}

void FaultyRelay::Serve(int client) {
  const int server = socket(AF_INET, SOCK_STREAM, 0);
  const sockaddr_in address = Loopback(server_port_);
  bool open = connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  const int at_once = 1;
  for (const int fd : {client, server}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  while (open && !over_) {
    std::array<pollfd, 2> wanted{{{client, POLLIN, 0}, {server, POLLIN, 0}}};
    poll(wanted.data(), wanted.size(), 20);
    if (wanted[0].revents != 0) open = FromClient(client, server);
    if (open && wanted[1].revents != 0) open = FromServer(client, server);
  }
  close(server);
  close(client);
}

bool FaultyRelay::FromClient(int client, int server) {
  const std::string bytes = Receive(client);
  if (bytes.empty()) return false;
  switch (mood_) {
    case Mood::kSwallow:
      return true;
    case Mood::kRefuse:
      for (size_t n = CommandsIn(bytes); n > 0; --n) {
        if (!Send(client, Error())) return false;
      }
      return true;
    default:
      return Send(server, bytes);
  }
}

bool FaultyRelay::FromServer(int client, int server) {
  const std::string bytes = Receive(server);
  if (bytes.empty()) return false;
  switch (mood_) {
    case Mood::kSwallow:
    case Mood::kRefuse:
      return true;
    case Mood::kCut:
      return false;
    case Mood::kSlow:
      std::this_thread::sleep_for(std::chrono::milliseconds(40));
      [[fallthrough]];
    default:
      return Send(client, bytes);
  }
}

}  // namespace ratel::test
