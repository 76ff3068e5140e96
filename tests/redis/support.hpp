// What tests of the Redis storage share.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "redis/server.hpp"
#include "storage/redis/options.hpp"
#include "storage/redis/redis_storage.hpp"
#include "storage/support.hpp"

namespace ratel::test {

inline constexpr Micros kStart = 1'800'000'000'000'000;
/// For tests whose clock stands still while real time passes, and that must not fail on a slow machine.
inline constexpr std::string_view kPatient = "deadline_ms=20000&time=caller&ttl_margin_ms=3600000";

inline std::unique_ptr<Storage> Open(const std::string& url) {
  auto options = redis::ParseUrl(url);
  if (!options) throw std::runtime_error(options.error().message);
  auto storage = MakeRedisStorage(*options);
  if (!storage) throw std::runtime_error(storage.error().message);
  return std::move(*storage);
}

inline bool Eventually(const std::function<bool()>& holds, int seconds = 30) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  while (std::chrono::steady_clock::now() < end) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline Status ApplyOne(Storage& storage, Charge& charge, Micros now = kStart, Mode mode = Mode::kSpend) {
  Operation operation{{&charge, 1}, now, mode};
  return storage.Apply(operation);
}

/// What a storage has told.
class Heard {
 public:
  explicit Heard(Storage& storage) {
    storage.TellTo([this](Report, std::string_view text) {
      const std::lock_guard lock(mutex_);
      lines_.emplace_back(text);
    });
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::string all() const {
    std::string text;
    for (const std::string& line : lines()) text += "\n  " + line;
    return text;
  }
  bool Mentions(std::string_view part) const {
    for (const std::string& line : lines()) {
      if (line.find(part) != std::string::npos) return true;
    }
    return false;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

}  // namespace ratel::test
