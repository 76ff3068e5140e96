// Several gateways on one server that is lost and comes back: what they admit meanwhile, and what the server knows of it afterwards.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "redis/gateway.hpp"
#include "redis/support.hpp"

namespace ratel::test {
namespace {

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

/// How many scripts the server has run since the last look.
class Scripts {
 public:
  explicit Scripts(RedisServer& server) : server_(server) { Since(); }
  uint64_t Since() {
    const std::string stats = server_.Do({"INFO", "commandstats"});
    const size_t at = stats.find("cmdstat_evalsha:calls=");
    const uint64_t calls = at == std::string::npos ? 0 : std::stoull(stats.substr(at + 22));
    return calls - std::exchange(before_, calls);
  }

 private:
  RedisServer& server_;
  uint64_t before_ = 0;
};

std::string Leased(std::string_view algorithm, uint64_t limit, std::string_view window,
                   std::string_view settings = "") {
  return std::string(settings) + "rules:\n  - {name: r, scope: user, algorithm: " + std::string(algorithm) +
         ", limit: " + std::to_string(limit) + ", window: " + std::string(window) + ", local_tier: leases}\n";
}

TEST(CachedDenials, TheServerIsAskedOnceForAFlood) {
  RedisServer server;
  const Gateway gateway(
      "rules:\n  - {name: r, scope: user, algorithm: fixed_window, limit: 5, window: 7d, local_tier: denials}\n",
      server.url("deadline_ms=20000"));
  EXPECT_EQ(gateway.Admitted(5), 5u);
  EXPECT_FALSE(gateway.Ask().allowed);
  Scripts scripts(server);
  EXPECT_EQ(gateway.Admitted(10'000), 0u);
  EXPECT_EQ(scripts.Since(), 0u);
  const Decision denied = gateway.Ask();
  EXPECT_EQ(denied.source, Source::kCachedDenial);
  EXPECT_EQ(gateway.Metrics().cached_denial, 10'001u);
  EXPECT_EQ(gateway.Metrics().requests, 10'007u);
}

TEST(CachedDenials, EndWithTheServersTime) {
  RedisServer server;
  const std::string text =
      "rules:\n  - {name: r, scope: user, algorithm: token_bucket, limit: 5, window: 1s, local_tier: denials}\n";
  const Gateway gateway(text, server.url("deadline_ms=20000"));
  // For two seconds as often as it can: what is admitted is what the bucket gives.
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  uint64_t admitted = 0;
  while (std::chrono::steady_clock::now() < until) admitted += gateway.Ask().allowed;
  EXPECT_GE(admitted, 5u + 9u);
  EXPECT_GT(gateway.Metrics().cached_denial, 100u);
}

TEST(LeasesOnAServer, AHotKeyCostsFiftyTimesFewerCalls) {
  for (const char* algorithm : {"token_bucket", "fixed_window", "sliding_log", "sliding_counter"}) {
    SCOPED_TRACE(algorithm);
    RedisServer server;
    const Gateway gateway(Leased(algorithm, 1'000'000, "1h"), server.url("deadline_ms=20000"));
    Scripts scripts(server);
    EXPECT_EQ(gateway.Admitted(50'000), 50'000u);
    const uint64_t calls = scripts.Since();
    EXPECT_LE(calls * 50, 50'000u) << calls;
    RecordProperty(std::string("calls_of_50000_") + algorithm, static_cast<int>(calls));
  }
}

TEST(LeasesOnAServer, WhatIsLeftComesBackAfterTheirLifeAndAtTheEnd) {
  RedisServer server;
  const std::string text = Leased("fixed_window", 100'000, "7d", "lease_life: 100ms\n");
  const Gateway watcher(text, server.url("deadline_ms=20000"));
  uint64_t admitted = 0;
  {
    const Gateway gateway(text, server.url("deadline_ms=20000"));
    admitted += gateway.Admitted(1000);
    EXPECT_TRUE(Eventually([&] { return watcher.Remaining() == 100'000 - admitted; }));
    admitted += gateway.Admitted(1000);
    EXPECT_LT(watcher.Remaining(), 100'000 - admitted + 1);
  }
  EXPECT_EQ(watcher.Remaining(), 100'000 - admitted) << "destroyed";
}

TEST(LeasesOnAServer, BlocksThatAreBeingPaidForAtTheEndComeBack) {
  RedisServer server;
  const std::string text = Leased("fixed_window", 1'000'000, "3650d");
  const Gateway watcher(text, server.url("deadline_ms=20000"));
  struct Seen {
    std::atomic<uint64_t> allowed{0};
    std::atomic<uint64_t> cancelled{0};
  } seen;
  const auto count = [](void* user, const Decision& decision) {
    Seen& all = *static_cast<Seen*>(user);
    all.allowed += decision.allowed;
    all.cancelled += decision.status == Status::kCancelled;
  };
  for (int end = 0; end < 20; ++end) {
    const Gateway gateway(text, server.url("deadline_ms=20000"));
    Request request;
    request.identity.user = "alice";
    for (int i = 0; i < 500 + 100 * end; ++i)
      ASSERT_EQ(gateway.registry->AllowAsync(request, count, &seen), Status::kOk);
  }
  EXPECT_GE(watcher.Remaining(), 1'000'000 - seen.allowed - seen.cancelled) << "what was cancelled may have arrived";
}

TEST(LeasesOnAServer, ManyProcessesAdmitTheLimitAndNoMore) {
  for (const char* algorithm : {"token_bucket", "fixed_window", "sliding_log", "sliding_counter"}) {
    SCOPED_TRACE(algorithm);
    RedisServer server;
    constexpr uint64_t kLimit = 5000;
    constexpr int kProcesses = 4;
    const std::string text = Leased(algorithm, kLimit, "3650d", "instances: 4\nlease_life: 50ms\n");
    std::array<int, 2> counts;
    ASSERT_EQ(pipe(counts.data()), 0);
    for (int i = 0; i < kProcesses; ++i) {
      if (fork() != 0) continue;
      uint64_t admitted = 0;
      {
        const Gateway gateway(text, server.url("deadline_ms=30000"));
        admitted = gateway.Admitted(3000);
      }
      static_cast<void>(!write(counts[1], &admitted, sizeof admitted));
      _exit(0);
    }
    uint64_t total = 0;
    for (int i = 0; i < kProcesses; ++i) {
      uint64_t admitted = 0;
      ASSERT_EQ(read(counts[0], &admitted, sizeof admitted), static_cast<ssize_t>(sizeof admitted));
      total += admitted;
      wait(nullptr);
    }
    close(counts[0]);
    close(counts[1]);
    EXPECT_LE(total, kLimit);
    // What came back at their ends is there for the next.
    const Gateway last(text, server.url("deadline_ms=30000"));
    const uint64_t left = last.Remaining();
    EXPECT_LE(total + left, kLimit);
    // A bucket keeps a unit of each block that was handed back.
    const uint64_t kept = std::string_view(algorithm) == "token_bucket" ? kLimit / 10 : 0;
    EXPECT_GE(total + left + kept, kLimit);
  }
}

// A repeat is charged once on a hot key as well, by whichever gateway it comes.
TEST(LeasesOnAServer, RequestsWithAnIdAreNotAmongThem) {
  RedisServer server;
  const auto gateways = Gateways(2, Leased("fixed_window", 100'000, "3650d"), server.url("deadline_ms=20000"));
  for (const auto& gateway : gateways) EXPECT_EQ(gateway->Admitted(1000), 1000u);
  Request request;
  request.identity.user = "alice";
  request.idempotency_id = "once";
  Decision first;
  ASSERT_EQ(gateways[0]->registry->Allow(request, first), Status::kOk);
  for (const auto& gateway : gateways) {
    Decision again;
    ASSERT_EQ(gateway->registry->Allow(request, again), Status::kOk);
    EXPECT_EQ(again.source, Source::kExact);
    EXPECT_EQ(again.remaining, first.remaining);
    EXPECT_EQ(again.now_ns, first.now_ns);
  }
}

TEST(LeasesOnAServer, AServerThatDiesWithLeasesOut) {
  RedisServer server;
  const Gateway gateway(Leased("fixed_window", 100'000, "7d", "instances: 4\n"), server.url("deadline_ms=2000"));
  EXPECT_EQ(gateway.Admitted(200), 200u);
  server.Kill();
  uint64_t leased = 0;
  ASSERT_TRUE(Eventually([&] {
    const Decision decision = gateway.Ask();
    EXPECT_TRUE(decision.allowed);
    leased += decision.source == Source::kLeased;
    return decision.source == Source::kLocalFallback;
  }));
  EXPECT_LE(leased, 2500u) << "no more than a block";
  server.Start();
  EXPECT_TRUE(gateway.Reaches(Source::kExact));
  EXPECT_EQ(gateway.Admitted(1000), 1000u);
  EXPECT_GT(gateway.Metrics().leased, leased);
}

}  // namespace
}  // namespace ratel::test
