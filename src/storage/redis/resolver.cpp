#include "storage/redis/resolver.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <system_error>
#include <utility>

#include "core/signals.hpp"

namespace ratel::redis {
namespace {

Resolver::Found LookUp(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  Resolver::Found found;
  const int fault = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (fault != 0) {
    found.fault = "cannot resolve " + host + ": " + gai_strerror(fault);
    return found;
  }
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    Endpoint endpoint;
    if (one->ai_addrlen > sizeof endpoint.address) continue;
    std::memcpy(&endpoint.address, one->ai_addr, one->ai_addrlen);
    endpoint.size = one->ai_addrlen;
    found.endpoints.push_back(endpoint);
  }
  freeaddrinfo(list);
  if (found.endpoints.empty()) found.fault = "cannot resolve " + host + ": no address";
  return found;
}

}  // namespace

Resolver::~Resolver() {
  if (thread_.joinable()) thread_.join();
}

std::optional<Resolver::Found> Resolver::Begin(const std::string& host, uint16_t port) {
  if (Found found = LookUp(host, port, AI_NUMERICHOST); !found.endpoints.empty()) return found;
  if (thread_.joinable()) thread_.join();
  done_.store(false);
  try {
    thread_ = std::thread([this, host, port] {
      LeaveSignalsToTheHost();
      try {
        found_ = LookUp(host, port, 0);
      } catch (const std::bad_alloc&) {
        found_.endpoints.clear();
      }
      done_.store(true);
      wake_();
    });
  } catch (const std::system_error&) {
    return Found{{}, "cannot resolve " + host + ": no thread to be had"};
  }
  return std::nullopt;
}

std::optional<Resolver::Found> Resolver::Take() {
  if (!done_.load()) return std::nullopt;
  thread_.join();
  done_.store(false);
  return std::exchange(found_, {});
}

}  // namespace ratel::redis
