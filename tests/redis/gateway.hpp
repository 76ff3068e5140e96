// The engine as several processes have it: a registry each on one shared store, with a table of its own for when that is away.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "config/reader.hpp"
#include "limiter/registry.hpp"
#include "redis/support.hpp"
#include "storage/memory/memory_storage.hpp"

namespace ratel::test {

/// One process, as far as the server can tell.
class Gateway {
 public:
  Gateway(const std::string& rules, const std::string& url) {
    RuleSetBuilder builder;
    EXPECT_TRUE(builder.AddText(rules, "rules"));
    Registry::Options options;
    options.rules = builder.rules();
    options.storage = Open(url);
    options.fallback = MakeMemoryStorage({});
    options.hasher = KeyedHasher::FromSecret("a secret of the tests");
    registry = Registry::Create(std::move(options));
  }
  Decision Ask(std::string_view user = "alice", int64_t cost = kCostOfRule) const {
    Request request;
    request.identity.user = user;
    request.cost = cost;
    Decision decision;
    EXPECT_EQ(registry->Allow(request, decision), Status::kOk);
    return decision;
  }
  uint64_t Admitted(int tries, std::string_view user = "alice") const {
    uint64_t admitted = 0;
    for (int i = 0; i < tries; ++i) admitted += Ask(user).allowed;
    return admitted;
  }
  uint64_t Remaining(std::string_view user = "alice") const {
    Request request;
    request.identity.user = user;
    Decision decision;
    EXPECT_EQ(registry->Peek(request, decision), Status::kOk);
    return decision.source == Source::kExact ? decision.remaining : UINT64_MAX;
  }
  bool Reaches(Source source) const {
    return Eventually([&] { return Ask("somebody else").source == source; });
  }
  MetricsSnapshot Metrics() const { return registry->Metrics(false); }

  std::unique_ptr<Registry> registry;
};

inline std::vector<std::unique_ptr<Gateway>> Gateways(size_t count, const std::string& rules, const std::string& url) {
  std::vector<std::unique_ptr<Gateway>> gateways;
  for (size_t i = 0; i < count; ++i) gateways.push_back(std::make_unique<Gateway>(rules, url));
  return gateways;
}

/// Asks one gateway for one user until told to stop, and counts who answered what.
class Asking {
 public:
  explicit Asking(const Gateway& gateway) : thread_([this, &gateway] { Run(gateway); }) {}
  ~Asking() { Stop(); }
  Asking(const Asking&) = delete;
  Asking& operator=(const Asking&) = delete;
  void Stop() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  struct Counts {
    std::atomic<uint64_t> admitted{0};
    std::atomic<uint64_t> denied{0};
    uint64_t all() const { return admitted + denied; }
  };
  const Counts& by_store() const { return by_store_; }
  const Counts& by_share() const { return by_share_; }

 private:
  void Run(const Gateway& gateway) {
    while (!over_) {
      const Decision decision = gateway.Ask();
      EXPECT_TRUE(decision.source == Source::kExact || decision.source == Source::kLocalFallback);
      Counts& counts = decision.source == Source::kExact ? by_store_ : by_share_;
      ++(decision.allowed ? counts.admitted : counts.denied);
      if (!decision.allowed) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

  Counts by_store_;
  Counts by_share_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace ratel::test
