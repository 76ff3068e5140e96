// local_tier: denials. A denial whose end is known is repeated without the store, and nothing else is.
#include <array>
#include <random>
#include <vector>

#include "limiter/denials.hpp"
#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

std::string OneRule(std::string_view algorithm, uint64_t limit = 5, std::string_view tier = "denials") {
  return "rules:\n  - {name: api, path: /, scope: user, algorithm: " + std::string(algorithm) +
         ", limit: " + std::to_string(limit) + ", window: 10s, local_tier: " + std::string(tier) + "}\n";
}

Decision AskFor(Fixture& f, int64_t cost = 1, std::string_view user = "u") { return f.Ask("GET", "/", user, cost); }

void Exhaust(Fixture& f, std::string_view user = "u") {
  while (AskFor(f, 1, user).allowed) {
  }
}

TEST(Denials, AreCountedDownAndEndInTime) {
  for (const char* algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm), Store::kRemote);
    while (AskFor(f).allowed) {
    }
    const uint64_t calls = f.controls.calls;
    const Decision first = AskFor(f);
    ASSERT_EQ(first.source, Source::kCachedDenial);
    EXPECT_EQ(first.reason, Reason::kLimited);
    EXPECT_EQ(first.remaining, 0u);
    EXPECT_EQ(first.limit_count, 1u);
    f.now += first.retry_after_ns - 1000;
    const Decision last = AskFor(f);
    EXPECT_EQ(last.source, Source::kCachedDenial);
    EXPECT_EQ(last.retry_after_ns, 1000u);
    EXPECT_EQ(last.reset_after_ns + first.retry_after_ns, first.reset_after_ns + 1000);
    EXPECT_EQ(f.controls.calls, calls) << "the store was not asked";
    f.now += 1000;
    const Decision next = AskFor(f);
    EXPECT_TRUE(next.allowed);
    EXPECT_EQ(next.source, Source::kExact);
  }
}

// The same trace with and without: every answer the same, but for the source.
TEST(Denials, AnswerAsTheStoreWouldFieldByField) {
  for (const char* algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Fixture with(OneRule(algorithm), Store::kRemote);
    Fixture without(OneRule(algorithm, 5, "none"), Store::kRemote);
    std::mt19937_64 random(7);
    size_t cached = 0;
    for (int i = 0; i < 3000; ++i) {
      const uint64_t step = random() % 3 == 0 ? random() % (2 * kSecond) : random() % 1'000'000;
      with.now += step;
      without.now += step;
      const std::string user = "u" + std::to_string(random() % 3);
      Decision a = AskFor(with, 1, user);
      const Decision b = AskFor(without, 1, user);
      cached += a.source == Source::kCachedDenial;
      ASSERT_EQ(a.allowed, b.allowed) << i;
      ASSERT_EQ(a.reason, b.reason) << i;
      ASSERT_EQ(a.remaining, b.remaining) << i;
      ASSERT_EQ(a.retry_after_ns, b.retry_after_ns) << i;
      ASSERT_EQ(a.reset_after_ns, b.reset_after_ns) << i;
      ASSERT_EQ(a.limit, b.limit) << i;
      ASSERT_EQ(a.limit_id, b.limit_id) << i;
      ASSERT_EQ(a.capacity, b.capacity) << i;
      ASSERT_EQ(a.cost, b.cost) << i;
      ASSERT_EQ(a.now_ns, b.now_ns) << i;
      ASSERT_EQ(a.rule, b.rule) << i;
    }
    EXPECT_GT(cached, 100u);
    EXPECT_EQ(with.registry->Metrics(false).cached_denial, cached);
    EXPECT_EQ(without.registry->Metrics(false).cached_denial, 0u);
    EXPECT_EQ(with.controls.calls + cached, without.controls.calls);
  }
}

// B195: nine of ten are used. The tenth is allowed.
TEST(Denials, B195TheLastUnitIsAllowed) {
  Fixture f(OneRule("fixed_window", 10), Store::kRemote);
  EXPECT_TRUE(AskFor(f, 9).allowed);
  EXPECT_FALSE(AskFor(f, 2).allowed);
  EXPECT_TRUE(AskFor(f, 1).allowed) << "a smaller cost is another question";
  EXPECT_FALSE(AskFor(f, 1).allowed);
  EXPECT_EQ(AskFor(f, 1).source, Source::kCachedDenial);
  EXPECT_EQ(AskFor(f, 2).source, Source::kCachedDenial);
  EXPECT_EQ(AskFor(f, 3).source, Source::kExact) << "its wait is not known";
}

TEST(Denials, B195TheLastUnitIsAllowedOfSeveralLimitsToo) {
  Fixture f(R"(
rules:
  - name: api
    path: /
    local_tier: denials
    limits:
      - {name: a, scope: user, algorithm: fixed_window, limit: 10, window: 10s}
      - {name: b, scope: global, algorithm: fixed_window, limit: 10, window: 10s}
)",
            Store::kRemote);
  EXPECT_TRUE(AskFor(f, 9).allowed);
  EXPECT_FALSE(AskFor(f, 2).allowed);
  EXPECT_EQ(AskFor(f, 2).source, Source::kCachedDenial);
  EXPECT_TRUE(AskFor(f, 1).allowed);
}

TEST(Denials, WhatNeverFitsIsNotKept) {
  Fixture f(OneRule("token_bucket"), Store::kRemote);
  for (int i = 0; i < 3; ++i) {
    const Decision d = AskFor(f, 6);
    EXPECT_EQ(d.source, Source::kExact);
    EXPECT_EQ(d.reason, Reason::kNeverFits);
  }
}

TEST(Denials, EndWithASettleAResetAndAReload) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.cost = 5;
  const Decision spent = f.Ask(request);
  ASSERT_TRUE(spent.allowed);
  AskFor(f);
  ASSERT_EQ(AskFor(f).source, Source::kCachedDenial);
  Decision settled;
  ASSERT_EQ(f.registry->Settle(request, spent, 4, settled), Status::kOk);
  EXPECT_TRUE(AskFor(f).allowed);
  AskFor(f);
  ASSERT_EQ(AskFor(f).source, Source::kCachedDenial);
  ASSERT_EQ(f.registry->Reset(request), Status::kOk);
  EXPECT_TRUE(AskFor(f).allowed);
  Exhaust(f);
  ASSERT_EQ(AskFor(f).source, Source::kCachedDenial);
  f.registry->Reload(Rules(OneRule("fixed_window", 6)));
  EXPECT_TRUE(AskFor(f).allowed);
}

TEST(Denials, OthersKeysAndCallersAreNotConcerned) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  Exhaust(f);
  ASSERT_EQ(AskFor(f).source, Source::kCachedDenial);
  EXPECT_TRUE(AskFor(f, 1, "v").allowed);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  Decision peeked;
  const uint64_t calls = f.controls.calls;
  ASSERT_EQ(f.registry->Peek(request, peeked), Status::kOk);
  EXPECT_EQ(peeked.source, Source::kExact);
  EXPECT_EQ(f.controls.calls, calls + 1) << "who looks, looks at the store";
  request.now_ns = f.now - 5 * kSecond;
  EXPECT_EQ(f.Ask(request).source, Source::kExact) << "before the denial, nothing is known";
}

TEST(Denials, BatchesAndAsynchronousOnesToo) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f(OneRule("fixed_window"), store);
    Exhaust(f);
    Request request;
    request.path = "/";
    request.identity.user = "u";
    const std::vector<Request> requests(3, request);
    std::vector<Decision> out(3);
    const uint64_t calls = f.controls.calls;
    f.registry->AllowMany(requests, out);
    for (const Decision& d : out) EXPECT_EQ(d.source, Source::kCachedDenial);
    Decision later;
    ASSERT_EQ(f.registry->AllowAsync(
                  request, [](void* user, const Decision& d) { *static_cast<Decision*>(user) = d; }, &later),
              Status::kOk);
    EXPECT_EQ(later.source, Source::kCachedDenial);
    EXPECT_EQ(f.controls.calls, calls);
  }
}

TEST(Denials, OfABatchAreKeptAndTakeNoPlaceInTheNext) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f(
        "rules:\n  - {name: a, path: /a, scope: user, limit: 50, window: 10s}\n  - {name: b, path: /b, scope: user, "
        "algorithm: fixed_window, limit: 5, window: 10s, local_tier: denials}\n",
        store);
    Request request;
    request.path = "/b";
    request.identity.user = "u";
    std::vector<Request> requests(10, request);
    std::vector<Decision> out(10);
    f.registry->AllowMany(requests, out);
    EXPECT_EQ(f.Ask(request).source, Source::kCachedDenial);
    requests.resize(100, request);
    requests[0].path = "/a";
    out.resize(100);
    const uint64_t batches = f.controls.batches;
    f.registry->AllowMany(requests, out);
    EXPECT_EQ(f.controls.batches, batches + (store == Store::kNameless));
    EXPECT_EQ(f.registry->RuleName(out[0].rule), "a");
    for (size_t i = 1; i < out.size(); ++i) {
      EXPECT_EQ(out[i].source, Source::kCachedDenial);
      EXPECT_EQ(f.registry->RuleName(out[i].rule), "b");
    }
  }
}

// B234.
TEST(Denials, B234EveryPathIsCountedAndShadowsAreRepeated) {
  Fixture f(R"(
rules:
  - name: api
    path: /
    local_tier: denials
    limits:
      - {name: real, scope: user, algorithm: fixed_window, limit: 2, window: 20s}
      - {name: trial, scope: user, algorithm: fixed_window, limit: 1, window: 10s, shadow: true}
)",
            Store::kRemote);
  for (int i = 0; i < 10; ++i) AskFor(f);
  MetricsSnapshot m = f.registry->Metrics(true);
  EXPECT_EQ(m.requests, 10u);
  EXPECT_EQ(m.allowed, 2u);
  EXPECT_EQ(m.denied, 8u);
  EXPECT_EQ(m.cached_denial, 7u);
  EXPECT_EQ(m.shadow_denied, 9u);
  EXPECT_EQ(m.rules.at(0).denied, 8u);
  EXPECT_EQ(m.rules.at(0).shadow_denied, 9u);
  f.now += 10 * kSecond;
  const Decision asked = AskFor(f);
  EXPECT_FALSE(asked.allowed);
  EXPECT_EQ(asked.source, Source::kExact) << "the shadow would admit now";
  EXPECT_FALSE(asked.shadow_denied);
  EXPECT_EQ(AskFor(f).source, Source::kCachedDenial);
}

TEST(Denials, TheLongestWaitOfSeveralLimitsBinds) {
  Fixture f(R"(
rules:
  - name: api
    path: /
    local_tier: denials
    limits:
      - {name: short, scope: user, algorithm: fixed_window, limit: 2, window: 10s}
      - {name: long, scope: global, algorithm: fixed_window, limit: 2, window: 20s}
)",
            Store::kRemote);
  Exhaust(f);
  const Decision d = AskFor(f);
  ASSERT_EQ(d.source, Source::kCachedDenial);
  EXPECT_EQ(f.registry->LimitName(d.limit_id), "long");
  EXPECT_EQ(d.retry_after_ns, 20 * kSecond);
  EXPECT_EQ(d.limit_count, 2u);
  f.now += 12 * kSecond;
  EXPECT_EQ(AskFor(f).retry_after_ns, 8 * kSecond);
}

TEST(Denials, UnderMatchAllEveryRuleHasToWantIt) {
  constexpr std::string_view kText = R"(
match: all
rules:
  - {name: wide, path: /, scope: global, algorithm: fixed_window, limit: 1, window: 10s}
  - {name: narrow, path: /api, scope: user, algorithm: fixed_window, limit: 9, window: 10s, local_tier: denials}
)";
  Fixture f(kText, Store::kRemote);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(f.Ask("GET", "/api", "u").source, Source::kExact);
}

// The store's clock is years off, and the registry's tells what has passed.
TEST(Denials, AStoreWithAClockOfItsOwn) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.controls.own_clock = 1'800'000'000'000'000;
  Exhaust(f);
  const Decision d = AskFor(f);
  ASSERT_EQ(d.source, Source::kCachedDenial);
  EXPECT_EQ(d.retry_after_ns, 10 * kSecond);
  EXPECT_EQ(d.now_ns, f.controls.own_clock * 1000);
  f.now += 4 * kSecond;
  const Decision later = AskFor(f);
  ASSERT_EQ(later.source, Source::kCachedDenial);
  EXPECT_EQ(later.retry_after_ns, 6 * kSecond);
  EXPECT_EQ(later.now_ns, f.controls.own_clock * 1000 + 4 * kSecond);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.now_ns = 1;
  EXPECT_EQ(f.Ask(request).retry_after_ns, 6 * kSecond) << "what the caller thinks of the time does not matter";
  f.now -= 10 * kSecond;
  EXPECT_EQ(AskFor(f).source, Source::kExact) << "it came before that denial, by the only clock here";
  f.now += 16 * kSecond;
  f.controls.own_clock += 10'000'000;
  EXPECT_TRUE(AskFor(f).allowed);
}

// Nothing would tell here when they end.
TEST(Denials, AreNotKeptWhileTheClockFails) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.controls.own_clock = 1'800'000'000'000'000;
  f.now = UINT64_MAX;
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.now_ns = kStart;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(f.Ask(request).source, Source::kExact);
}

// Other processes may hand back what they have leased.
TEST(Denials, BesideLeasesEndWithTheLifeOfALease) {
  Fixture f("lease_life: 2s\n" + OneRule("fixed_window", 5, "leases"), Store::kRemote);
  f.now -= f.now % (10 * kSecond);
  Exhaust(f);
  f.now += 2 * kSecond - 1000;
  EXPECT_EQ(AskFor(f).source, Source::kCachedDenial);
  f.now += 1000;
  EXPECT_EQ(AskFor(f).source, Source::kExact);
}

TEST(Denials, GoOnWhileTheStoreFails) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  Exhaust(f);
  f.failing = true;
  EXPECT_EQ(AskFor(f).source, Source::kCachedDenial);
  EXPECT_EQ(AskFor(f, 1, "v").source, Source::kLocalFallback);
}

TEST(Denials, MeanNothingOnTheEmbeddedStore) {
  Fixture f(OneRule("fixed_window"));
  Exhaust(f);
  EXPECT_EQ(AskFor(f).source, Source::kExact);
}

TEST(Denials, ExplainTellsTheTier) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  std::string text;
  ASSERT_EQ(f.registry->Explain(request, false, text), Status::kOk);
  EXPECT_NE(text.find("local tier denials"), std::string::npos) << text;
  ASSERT_EQ(f.registry->Explain(request, true, text), Status::kOk);
  EXPECT_NE(text.find(R"("local_tier":"denials")"), std::string::npos) << text;
}

TEST(DenialCache, IsBoundedAndKeepsWhatLastsLongest) {
  DenialCache cache;
  const auto key = [](uint64_t i) { return Hash128{i * 0x9e3779b97f4a7c15u, i * 0xbf58476d1ce4e5b9u}; };
  Denial lasting;
  lasting.until = 1'000'000;
  lasting.remaining = 42;
  for (uint64_t i = 1; i <= 100; ++i) cache.Put(key(i), lasting);
  Denial brief;
  brief.until = 10;
  for (uint64_t i = 1000; i < 1000 + 4 * DenialCache::kCapacity; ++i) cache.Put(key(i), brief);
  size_t kept = 0;
  for (uint64_t i = 1; i <= 100; ++i) kept += cache.Find(key(i)) == lasting;
  EXPECT_GE(kept, 99u);
  EXPECT_FALSE(cache.Find(key(999)));
}

TEST(DenialCache, ManyThreadsReadWhatOneOfThemWrote) {
  DenialCache cache;
  const Hash128 key{1, 2};
  std::atomic<bool> over{false};
  std::vector<std::thread> threads;
  std::atomic<size_t> torn{0};
  for (uint64_t t = 1; t <= 2; ++t) {
    threads.emplace_back([&, t] {
      for (uint64_t i = 0; i < 20'000; ++i) {
        Denial denial;
        denial.until = denial.decided_at = denial.retry_at = denial.reset_at = denial.remaining = i * 2 + t;
        cache.Put(key, denial);
      }
      over = true;
    });
    threads.emplace_back([&] {
      while (!over) {
        const auto found = cache.Find(key);
        if (!found) continue;
        torn += found->until != found->decided_at || found->until != found->remaining ||
                found->until != found->retry_at || found->until != found->reset_at;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(torn, 0u);
}

}  // namespace
}  // namespace ratel::test
