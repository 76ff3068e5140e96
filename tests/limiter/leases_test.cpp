// local_tier: leases. Units that were paid for in advance are never more than the limit, and what is not used comes back.
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "limiter/leases.hpp"
#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

constexpr const char* kLeased[] = {"token_bucket", "fixed_window", "sliding_log", "sliding_counter"};

std::string OneRule(std::string_view algorithm, uint64_t limit = 10'000, std::string_view window = "1h",
                    std::string_view settings = "lease_life: 1m\n") {
  return std::string(settings) + "rules:\n  - {name: api, path: /, scope: user, algorithm: " + std::string(algorithm) +
         ", limit: " + std::to_string(limit) + ", window: " + std::string(window) + ", local_tier: leases}\n";
}

Decision AskFor(Fixture& f, int64_t cost = 1) { return f.Ask("GET", "/", "u", cost); }

/// Asks until an answer is leased.
Decision FirstLeased(Fixture& f) {
  for (int i = 0; i < 50; ++i) {
    const Decision d = AskFor(f);
    if (d.source == Source::kLeased) return d;
  }
  ADD_FAILURE() << "never leased";
  return {};
}

/// What the store holds, asked beside the tier.
uint64_t Remaining(Fixture& f) {
  Request request;
  request.path = "/";
  request.identity.user = "u";
  Decision d;
  EXPECT_EQ(f.registry->Peek(request, d), Status::kOk);
  return d.remaining;
}

TEST(Leases, AHotKeyAsksTheStoreSeldom) {
  for (const char* algorithm : kLeased) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm, 1'000'000), Store::kRemote);
    for (uint64_t i = 1; i <= 20'000; ++i) {
      ASSERT_TRUE(AskFor(f).allowed);
      ASSERT_LE(f.controls.spent, i + 10'000) << "no more is out than lease_units";
    }
    EXPECT_LT(f.controls.calls, 20'000u / 50) << "at least fifty requests to a call";
    EXPECT_GE(f.controls.spent, 20'000u) << "whatever was admitted had been paid for";
    const MetricsSnapshot m = f.registry->Metrics(true);
    EXPECT_EQ(m.requests, 20'000u);
    EXPECT_EQ(m.allowed, 20'000u);
    EXPECT_GT(m.leased, 19'600u);
    EXPECT_EQ(m.rules.at(0).cost_allowed, 20'000u);
  }
}

TEST(Leases, TellWhatIsKnown) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  const Decision first = FirstLeased(f);
  const Decision second = AskFor(f);
  ASSERT_EQ(second.source, Source::kLeased);
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(second.remaining + 1, first.remaining);
  EXPECT_EQ(second.remaining, 10'000 - f.registry->Metrics(false).allowed);
  EXPECT_EQ(second.limit, 10'000u);
  EXPECT_EQ(second.reset_after_ns + second.now_ns, (kStart / (3600 * kSecond) + 1) * (3600 * kSecond));
  EXPECT_EQ(second.cost, 1);
}

TEST(Leases, EachAnswerTellsWhatIsLeft) {
  Fixture f(OneRule("fixed_window", 10'000), Store::kRemote);
  for (uint64_t i = 1; i <= 2'000; ++i) ASSERT_EQ(AskFor(f).remaining, 10'000 - i) << i;
}

TEST(Leases, SmallLimitsQueuesAndShadowsAreNotLeased) {
  for (const std::string& text :
       {OneRule("token_bucket", 30), OneRule("leaky_bucket"), OneRule("token_bucket", 10'000, "50ms"),
        OneRule("token_bucket", 10'000, "1h", "instances: 5000\n"),
        std::string("rules:\n  - name: api\n    path: /\n    local_tier: leases\n    limits:\n      - {name: a, scope: "
                    "user, limit: 9000, window: 1h}\n      - {name: b, scope: user, limit: 9000, window: 1h, shadow: "
                    "true}\n"),
        // A block could not be counted down by what each of the two costs.
        std::string("match: all\nrules:\n  - {name: a, path: /, scope: user, limit: 9000, window: 1h, cost: 1, "
                    "local_tier: leases}\n  - {name: b, path: /b, scope: user, limit: 9000, window: 1h, cost: 3, "
                    "local_tier: leases}\n")}) {
    SCOPED_TRACE(text);
    Fixture f(text, Store::kRemote);
    for (int i = 0; i < 25; ++i) EXPECT_EQ(f.Ask("GET", "/b", "u").source, Source::kExact);
  }
}

TEST(Leases, ABlockThatIsDeniedIsAskedForSinglyAndTheLastUnitIsReached) {
  for (const char* algorithm : kLeased) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm, 1000), Store::kRemote);
    int admitted = 0;
    for (int i = 0; i < 1500; ++i) admitted += AskFor(f).allowed;
    EXPECT_EQ(admitted, 1000);
    EXPECT_EQ(f.controls.spent, 1000u);
  }
}

TEST(Leases, WhatIsNotUsedComesBackWhenItsLifeIsOver) {
  for (const char* algorithm : kLeased) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm, 10'000, "1h", "lease_life: 50ms\n"), Store::kRemote);
    FirstLeased(f);
    AskFor(f);
    const uint64_t admitted = f.registry->Metrics(false).allowed;
    // A bucket keeps what it has refilled meanwhile: at most one unit here.
    const uint64_t slack = std::string_view(algorithm) == "token_bucket" ? 1 : 0;
    EXPECT_TRUE(Eventually([&] { return Remaining(f) + slack >= 10'000 - admitted; }));
    EXPECT_LE(Remaining(f), 10'000 - admitted) << "and no more";
  }
}

TEST(Leases, AReloadAndTheEndHandThemBack) {
  for (const Store store : {Store::kRemote, Store::kHost}) {
    Fixture f(OneRule("fixed_window"), store);
    FirstLeased(f);
    f.registry->Reload(Rules(OneRule("fixed_window")));
    const uint64_t admitted = f.registry->Metrics(false).allowed;
    f.Ask("GET", "/", "somebody else");
    EXPECT_TRUE(Eventually([&] {
      f.Ask("GET", "/elsewhere", "somebody else");
      return Remaining(f) == 10'000 - admitted;
    }));
    FirstLeased(f);
    AskFor(f);
    const uint64_t allowed = f.registry->Metrics(false).allowed;
    f.registry.reset();
    EXPECT_EQ(f.controls.spent - f.controls.handed_back, allowed);
  }
}

TEST(Leases, OfAFixedWindowEndWithIt) {
  Fixture f(OneRule("fixed_window", 100'000, "10s"), Store::kRemote);
  const uint64_t into = f.now % (10 * kSecond);
  f.now += 10 * kSecond - into - kSecond / 10;
  const Decision last = FirstLeased(f);
  EXPECT_EQ(last.reset_after_ns, kSecond / 10);
  f.now += kSecond / 10;
  const Decision next = AskFor(f);
  EXPECT_NE(next.source, Source::kLeased) << "those units were paid in the window before";
  EXPECT_TRUE(next.allowed);
}

TEST(Leases, LiveForATenthOfTheWindowAtMost) {
  Fixture f(OneRule("token_bucket", 100'000, "5m"), Store::kRemote);
  FirstLeased(f);
  f.now += 30 * kSecond - 1000;
  EXPECT_EQ(AskFor(f).source, Source::kLeased);
  f.now += 1000;
  EXPECT_EQ(AskFor(f).source, Source::kExact);
}

TEST(Leases, AreNotForRequestsOfBefore) {
  Fixture f(OneRule("fixed_window", 100'000), Store::kRemote);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.now_ns = FirstLeased(f).now_ns - 1000;
  EXPECT_EQ(f.Ask(request).source, Source::kExact);
  EXPECT_EQ(AskFor(f).source, Source::kLeased);
}

TEST(Leases, AStoreWithAClockOfItsOwn) {
  Fixture f(OneRule("fixed_window", 100'000), Store::kRemote);
  f.controls.own_clock = 1'800'003'560'000'000;
  const Decision leased = FirstLeased(f);
  EXPECT_EQ(leased.now_ns, f.controls.own_clock * 1000);
  f.now += 20 * kSecond;
  EXPECT_EQ(AskFor(f).source, Source::kLeased);
  f.now += 20 * kSecond;
  EXPECT_EQ(AskFor(f).source, Source::kExact) << "the server's window is over";
}

TEST(Leases, ASettleOfALeasedDecisionReachesTheStore) {
  for (const char* algorithm : kLeased) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm), Store::kRemote);
    for (int i = 0; i < 8; ++i) AskFor(f, 5);
    Request request;
    request.path = "/";
    request.identity.user = "u";
    request.cost = 5;
    const Decision leased = f.Ask(request);
    ASSERT_EQ(leased.source, Source::kLeased);
    const uint64_t before = Remaining(f);
    Decision settled;
    ASSERT_EQ(f.registry->Settle(request, leased, 2, settled), Status::kOk);
    EXPECT_EQ(Remaining(f), before + 3);
    ASSERT_EQ(f.registry->Settle(request, leased, 7, settled), Status::kOk);
    EXPECT_EQ(Remaining(f), before + 1);
  }
}

TEST(Leases, SeveralLimitsArePaidForAtOnce) {
  Fixture f(R"(
rules:
  - name: api
    path: /
    local_tier: leases
    limits:
      - {name: wide, scope: global, algorithm: fixed_window, limit: 100000, window: 1h}
      - {name: narrow, scope: user, algorithm: sliding_log, limit: 1000, window: 1m}
)",
            Store::kRemote);
  int admitted = 0;
  for (int i = 0; i < 1500; ++i) admitted += AskFor(f).allowed;
  EXPECT_EQ(admitted, 1000) << "the narrow one";
  EXPECT_LT(f.controls.calls, 700u);
  EXPECT_EQ(f.Ask("GET", "/", "v").source, Source::kExact) << "another set of states";
}

TEST(Leases, BatchesAndAsynchronousOnesToo) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f(OneRule("fixed_window", 100'000), store);
    Request request;
    request.path = "/";
    request.identity.user = "u";
    std::vector<Request> requests(500, request);
    std::vector<Decision> out(500);
    f.registry->AllowMany(requests, out);
    size_t leased = 0;
    for (const Decision& d : out) {
      EXPECT_TRUE(d.allowed);
      leased += d.source == Source::kLeased;
    }
    EXPECT_GT(leased, 300u);
    for (int i = 0; i < 500; ++i) {
      Decision later;
      ASSERT_EQ(f.registry->AllowAsync(
                    request, [](void* user, const Decision& d) { *static_cast<Decision*>(user) = d; }, &later),
                Status::kOk);
      EXPECT_TRUE(later.allowed);
      leased += later.source == Source::kLeased;
    }
    EXPECT_GT(leased, 700u);
    EXPECT_EQ(f.registry->Metrics(false).allowed, 1000u);
  }
}

TEST(Leases, AreUsedUpWhileTheStoreFailsAndThenTheShareDecides) {
  Fixture f(OneRule("fixed_window", 10'000, "1h", "instances: 2\n"), Store::kRemote);
  FirstLeased(f);
  f.failing = true;
  bool fell_back = false;
  for (int i = 0; i < 1200 && !fell_back; ++i) {
    const Decision d = AskFor(f);
    ASSERT_TRUE(d.allowed);
    fell_back = d.source == Source::kLocalFallback;
    EXPECT_TRUE(fell_back || d.source == Source::kLeased);
  }
  EXPECT_TRUE(fell_back);
}

TEST(Leases, WhenTheStoreFailsAfterItDeniedABlockTheRuleDecides) {
  for (const bool in_a_batch : {false, true}) {
    SCOPED_TRACE(in_a_batch);
    Fixture f(
        "rules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 50, window: 1h, local_tier: "
        "leases, on_store_error: open}\n",
        Store::kNameless);
    Request request;
    request.path = "/";
    request.identity.user = "u";
    Decision d;
    for (int i = 0; i < 100 && d.source != Source::kFailOpen; ++i) {
      f.controls.last_answer = f.controls.calls + 1;
      if (in_a_batch) {
        f.registry->AllowMany({&request, 1}, {&d, 1});
      } else {
        d = f.Ask(request);
      }
    }
    EXPECT_EQ(d.source, Source::kFailOpen);
    f.controls.last_answer = UINT64_MAX;
  }
}

/// Pays for a block of `key` that lives from `paid` for so long.
void PayFor(Leases& leases, uint64_t key, std::chrono::steady_clock::time_point paid, std::chrono::seconds life) {
  Numbers numbers;
  numbers.capacity = 1'000;
  Charge charge;
  charge.cost = 1;
  charge.numbers = &numbers;
  const LeaseTerms terms{100, 1'000'000};
  const Instants instants{1, 1};
  for (int i = 0; i < 5; ++i) {
    if (leases.Take({key, key}, terms, instants, {&charge, 1}).way != Leases::Turn::Way::kPay) continue;
    auto lease = std::make_unique<Lease>();
    lease->left = key;
    lease->paid = paid;
    lease->life = life;
    leases.Paid({key, key}, std::move(lease));
    return;
  }
  ADD_FAILURE() << "never hot";
}

/// Units of the next block that has ended; 0 when there is none.
uint64_t NextEnded(Leases& leases) {
  const std::unique_ptr<Lease> lease = leases.TakeEnded();
  return lease == nullptr ? 0 : lease->left;
}

TEST(Leases, ABlockThatIsDeniedIsAskedForAgainALifeLater) {
  Leases leases;
  Numbers numbers;
  numbers.capacity = 1'000;
  Charge charge;
  charge.cost = 1;
  charge.numbers = &numbers;
  const LeaseTerms terms{100, 1'000'000};
  const auto asks_for_a_block = [&](Micros now) {
    for (int i = 0; i < 10; ++i) {
      if (leases.Take({1, 1}, terms, {now, now}, {&charge, 1}).way == Leases::Turn::Way::kPay) return true;
    }
    return false;
  };
  ASSERT_TRUE(asks_for_a_block(1));
  leases.NotPaid({1, 1}, terms, {1, 1});
  EXPECT_FALSE(asks_for_a_block(1));
  EXPECT_FALSE(asks_for_a_block(1'000'000));
  EXPECT_TRUE(asks_for_a_block(1'000'001));
}

TEST(Leases, NoKeyTakesThePlaceOfABlockThatIsOut) {
  Leases leases;
  // Keys of one set, in which eight have room: one of them is still being paid for, the others have a block.
  const auto key_of = [](uint64_t n) { return Hash128{n, 7}; };
  Numbers numbers;
  numbers.capacity = 1'000;
  Charge charge;
  charge.cost = 1;
  charge.numbers = &numbers;
  const auto take = [&](uint64_t n) { return leases.Take(key_of(n), {100, 1'000'000}, {n, n}, {&charge, 1}).way; };
  for (uint64_t n = 1; n <= 8; ++n) {
    int asked = 0;
    while (take(n) != Leases::Turn::Way::kPay) ASSERT_LT(++asked, 10);
    if (n == 5) continue;
    auto lease = std::make_unique<Lease>();
    lease->left = n;
    lease->until = 1'000;
    lease->count = 1;
    lease->charges[0] = charge;
    leases.Paid(key_of(n), std::move(lease));
  }
  for (int i = 0; i < 20; ++i) EXPECT_EQ(take(9), Leases::Turn::Way::kAsk);
  for (uint64_t n = 1; n <= 8; ++n)
    EXPECT_EQ(take(n), n == 5 ? Leases::Turn::Way::kAsk : Leases::Turn::Way::kTaken) << n;
  EXPECT_EQ(leases.out(), 7u);
}

TEST(Leases, EndInTheOrderOfTheirEndsWhateverWasPaidFirst) {
  using std::chrono::seconds;
  const std::chrono::steady_clock::time_point start(seconds(1'000));
  Leases leases;
  PayFor(leases, 10, start, seconds(10));
  PayFor(leases, 2, start, seconds(2));
  leases.EndExpired(start + seconds(1));
  EXPECT_EQ(NextEnded(leases), 0u);
  leases.EndExpired(start + seconds(2));
  EXPECT_EQ(NextEnded(leases), 2u);
  EXPECT_EQ(NextEnded(leases), 0u);
  // Paid for after a look at all, and over before the first.
  PayFor(leases, 5, start + seconds(3), seconds(2));
  leases.EndExpired(start + seconds(4));
  EXPECT_EQ(NextEnded(leases), 0u);
  leases.EndExpired(start + seconds(5));
  EXPECT_EQ(NextEnded(leases), 5u);
  leases.EndExpired(start + seconds(10));
  EXPECT_EQ(NextEnded(leases), 10u);
  EXPECT_EQ(leases.out(), 0u);
}

TEST(Leases, AResetForgetsThem) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  FirstLeased(f);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  ASSERT_EQ(f.registry->Reset(request), Status::kOk);
  f.Ask("GET", "/", "v");
  f.registry.reset();
  EXPECT_EQ(f.controls.handed_back, 0u) << "of what is forgotten nothing is handed back";
}

/// One store behind several registries.
class Shared final : public Storage {
 public:
  explicit Shared(std::shared_ptr<Storage> inner) : inner_(std::move(inner)) {}
  Status Apply(Operation& operation) noexcept override { return inner_->Apply(operation); }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }

 private:
  const std::shared_ptr<Storage> inner_;
};

TEST(Leases, ManyGatewaysAndThreadsAdmitTheLimitAndNoMore) {
  for (const char* algorithm : kLeased) {
    SCOPED_TRACE(algorithm);
    constexpr uint64_t kLimit = 20'000;
    const std::shared_ptr<Storage> inner = MakeMemoryStorage({});
    // A window that no clock gets through meanwhile.
    const std::string text = OneRule(algorithm, kLimit, "3650d", "instances: 3\nlease_life: 20ms\n");
    std::vector<std::unique_ptr<Registry>> gateways;
    for (int i = 0; i < 3; ++i) {
      Registry::Options options;
      options.rules = Rules(text);
      options.storage = std::make_unique<Shared>(inner);
      options.fallback = MakeMemoryStorage({});
      options.hasher = KeyedHasher::FromSecret("a secret of the tests");
      gateways.push_back(Registry::Create(std::move(options)));
    }
    std::atomic<uint64_t> admitted{0};
    std::vector<std::thread> threads;
    for (size_t t = 0; t < 6; ++t) {
      threads.emplace_back([&, t] {
        Registry& registry = *gateways[t % gateways.size()];
        Request request;
        request.path = "/";
        request.identity.user = "u";
        Decision decision;
        uint64_t mine = 0;
        for (int i = 0; i < 6000; ++i) mine += registry.Allow(request, decision) == Status::kOk && decision.allowed;
        admitted += mine;
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_LE(admitted, kLimit);
    // What some hold others get once it has come back.
    Request request;
    request.path = "/";
    request.identity.user = "u";
    Decision decision;
    EXPECT_TRUE(Eventually([&] {
      for (const auto& gateway : gateways) {
        for (int i = 0; i < 100; ++i) admitted += gateway->Allow(request, decision) == Status::kOk && decision.allowed;
      }
      // A bucket keeps a unit of each block that was handed back.
      return admitted >= kLimit - (std::string_view(algorithm) == "token_bucket" ? kLimit / 10 : 0);
    })) << admitted;
    EXPECT_LE(admitted, kLimit);
    uint64_t leased = 0;
    for (const auto& gateway : gateways) leased += gateway->Metrics(false).leased;
    EXPECT_GT(leased, 0u) << "how many is a matter of how the threads meet";
  }
}

TEST(Leases, RuleSetsThatComeAndGoMeanwhileGiveNothingAway) {
  constexpr uint64_t kLimit = 3000;
  const std::shared_ptr<Storage> inner = MakeMemoryStorage({});
  Registry::Options options;
  std::string none = OneRule("fixed_window", kLimit, "3650d");
  none.replace(none.find("leases"), 6, "none");
  options.rules = Rules(none);
  options.storage = std::make_unique<Shared>(inner);
  options.fallback = MakeMemoryStorage({});
  const auto registry = Registry::Create(std::move(options));
  std::atomic<uint64_t> admitted{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      Request request;
      request.path = "/";
      request.identity.user = "u";
      Decision decision;
      while (!over) admitted += registry->Allow(request, decision) == Status::kOk && decision.allowed;
    });
  }
  for (int i = 0; i < 20; ++i) {
    registry->Reload(Rules(i % 2 == 0 ? OneRule("fixed_window", kLimit, "3650d", "lease_life: 10ms\n") : none));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  EXPECT_TRUE(Eventually([&] { return admitted >= kLimit; }));
  over = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(admitted, kLimit);
}

}  // namespace
}  // namespace ratel::test
