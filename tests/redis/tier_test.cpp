// Several gateways on one server that is lost and comes back: what they admit meanwhile, and what the server knows of it afterwards.
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "config/reader.hpp"
#include "limiter/registry.hpp"
#include "redis/support.hpp"
#include "storage/memory/memory_storage.hpp"

namespace ratel::test {
namespace {

bool Eventually(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

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

std::vector<std::unique_ptr<Gateway>> Gateways(size_t count, const std::string& rules, const std::string& url) {
  std::vector<std::unique_ptr<Gateway>> gateways;
  for (size_t i = 0; i < count; ++i) gateways.push_back(std::make_unique<Gateway>(rules, url));
  return gateways;
}

// B186. Per window: the limit's shares while the server is away, and before that what it has admitted itself.
TEST(Outage, NGatewaysAdmitNoMoreThanTheirSharesAndTheServerIsToldAfterwards) {
  RedisServer server;
  constexpr uint64_t kLimit = 400;
  const auto gateways =
      Gateways(4, "instances: 4\nrules:\n  - {name: r, scope: user, algorithm: fixed_window, limit: 400, window: 7d}\n",
               server.url("deadline_ms=2000"));
  // One of them has done it all so far.
  uint64_t admitted = gateways[0]->Admitted(150);
  EXPECT_EQ(admitted, 150u);
  server.Kill();
  for (const auto& gateway : gateways) ASSERT_TRUE(gateway->Reaches(Source::kLocalFallback));
  uint64_t meanwhile = 0;
  for (const auto& gateway : gateways) meanwhile += gateway->Admitted(200);
  EXPECT_EQ(meanwhile, 300u) << "three shares of 100: the first gateway had spent its own";
  admitted += meanwhile;
  EXPECT_LE(admitted, 2 * kLimit - kLimit / 4) << "the bound: the limit, and the shares of all others";
  // The server comes back without what it knew.
  server.Start();
  for (const auto& gateway : gateways) ASSERT_TRUE(gateway->Reaches(Source::kExact));
  ASSERT_TRUE(Eventually([&] { return gateways[0]->Remaining() == kLimit - meanwhile; }));
  for (const auto& gateway : gateways) EXPECT_EQ(gateway->Metrics().unreported, 0u);
  uint64_t afterwards = 0;
  for (const auto& gateway : gateways) afterwards += gateway->Admitted(200);
  EXPECT_EQ(afterwards, kLimit - meanwhile);
}

TEST(Outage, AServerThatKeptItsCountsIsChargedForWhatFits) {
  RedisServer server;
  const auto gateways =
      Gateways(2, "instances: 2\nrules:\n  - {name: r, scope: user, algorithm: token_bucket, limit: 100, window: 7d}\n",
               server.url("deadline_ms=200"));
  EXPECT_EQ(gateways[0]->Admitted(30), 30u);
  server.Pause();
  for (const auto& gateway : gateways) ASSERT_TRUE(gateway->Reaches(Source::kLocalFallback));
  EXPECT_EQ(gateways[0]->Admitted(100), 20u) << "a share of 50, warm";
  EXPECT_EQ(gateways[1]->Admitted(100), 50u);
  server.Resume();
  for (const auto& gateway : gateways) ASSERT_TRUE(gateway->Reaches(Source::kExact));
  EXPECT_TRUE(Eventually([&] { return gateways[1]->Remaining() == 0; })) << "30 before, 70 meanwhile";
}

}  // namespace
}  // namespace ratel::test
