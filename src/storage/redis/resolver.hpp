// Names to addresses without holding the caller up: a thread for as long as a look-up takes.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "storage/redis/stream.hpp"

namespace ratel::redis {

class Resolver {
 public:
  /// `wake` is called on another thread when a result has come.
  explicit Resolver(std::function<void()> wake) : wake_(std::move(wake)) {}
  /// Waits for a look-up that is under way: the system offers no way to end it early.
  ~Resolver();
  Resolver(const Resolver&) = delete;
  Resolver& operator=(const Resolver&) = delete;

  struct Found {
    std::vector<Endpoint> endpoints;  ///< empty: `fault` says why
    std::string fault;
  };

  /// Addresses in digits are answered at once, names later: then nothing is returned, and Take() has it after `wake`.
  std::optional<Found> Begin(const std::string& host, uint16_t port);
  std::optional<Found> Take();

 private:
  const std::function<void()> wake_;
  std::thread thread_;
  std::atomic<bool> done_{false};
  Found found_;
};

}  // namespace ratel::redis
