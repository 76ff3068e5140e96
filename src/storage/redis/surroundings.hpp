// What the connections of one storage share. The I/O thread's, but for what is said to be immutable.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>

#include "storage/redis/call.hpp"
#include "storage/redis/options.hpp"
#include "storage/redis/router.hpp"
#include "storage/redis/shared_numbers.hpp"
#include "storage/redis/tls.hpp"
#include "storage/storage.hpp"

namespace ratel::redis {

struct Surroundings {
  const Options options;
  const std::shared_ptr<const TlsContext> tls;  ///< null without TLS
  const std::function<void()> wake;             ///< any thread
  const std::function<void(Report, const std::string&)> report;

  SharedNumbers numbers{options};
  Router* router = nullptr;  ///< set before anything is sent
  std::minstd_rand random{std::random_device{}()};

  /// How long to wait before the n-th attempt in a row: doubling from 50 ms to 2 s, half of it by chance, so that gateways do not come all at once.
  std::chrono::milliseconds Backoff(unsigned failures) {
    const unsigned doubled = std::min(failures == 0 ? 0u : failures - 1, 6u);
    const unsigned longest = std::min(50u << doubled, 2000u);
    return std::chrono::milliseconds(longest / 2 + random() % (longest / 2 + 1));
  }
};

}  // namespace ratel::redis
