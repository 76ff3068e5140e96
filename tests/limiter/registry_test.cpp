// Sections 4 to 10 of the semantics, as the registry puts them together.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <utility>

#include "report/header_text.hpp"
#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

constexpr std::string_view kOneRule = R"(
rules:
  - {name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 5, window: 1s}
)";

TEST(Semantics5Answer, CarriesTheBindingLimitAndTheExactWait) {
  Fixture f(kOneRule);
  for (int i = 0; i < 5; ++i) {
    const Decision d = f.Ask("POST", "/orders", "alice");
    EXPECT_TRUE(d.allowed);
    EXPECT_EQ(d.remaining, 4u - static_cast<unsigned>(i));
  }
  const Decision d = f.Ask("POST", "/orders/7?x=1", "alice");
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.reason, Reason::kLimited);
  EXPECT_EQ(d.source, Source::kExact);
  EXPECT_EQ(d.limit, 5u);
  EXPECT_EQ(d.capacity, 5u);
  EXPECT_EQ(d.window_ns, kSecond);
  EXPECT_EQ(d.retry_after_ns, kSecond / 5);
  EXPECT_EQ(d.reset_after_ns, kSecond);
  EXPECT_EQ(d.now_ns, kStart);
  EXPECT_EQ(d.generation, 1u);
  EXPECT_EQ(f.registry->RuleName(d.rule), "orders");
  EXPECT_EQ(f.registry->LimitName(d.limit_id), "orders");
  f.now += kSecond / 5;
  EXPECT_TRUE(f.Ask("POST", "/orders", "alice").allowed);
}

TEST(Semantics5Answer, CostsBelowOneAreRefusedAndChangeNothing) {
  Fixture f(kOneRule);
  for (const int64_t cost : {int64_t{0}, int64_t{-1}, INT64_MIN + 1}) {
    Request request;
    request.method = "POST";
    request.path = "/orders";
    request.identity.user = "alice";
    request.cost = cost;
    Decision decision;
    decision.allowed = true;
    EXPECT_EQ(f.registry->Allow(request, decision), Status::kInvalidArgument);
    EXPECT_FALSE(decision.allowed);
  }
  EXPECT_EQ(f.Ask("POST", "/orders", "alice").remaining, 4u);
}

TEST(Semantics5Answer, WhatNeverFitsHasNoWaitAndIsCountedApart) {
  Fixture f(kOneRule);
  const Decision d = f.Ask("POST", "/orders", "alice", 6);
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(d.reason, Reason::kNeverFits);
  EXPECT_EQ(d.retry_after_ns, kNever);
  EXPECT_EQ(d.remaining, 5u);
  EXPECT_EQ(f.registry->Metrics(false).never_fits, 1u);
  EXPECT_EQ(HeaderText(d, "orders", kHeadersDefault).find("Retry-After"), std::string::npos);
}

TEST(Semantics5Answer, SettleChargesOrGivesBackTheDifference) {
  Fixture f(kOneRule);
  Request request;
  request.method = "POST";
  request.path = "/orders";
  request.identity.user = "alice";
  request.cost = 3;
  const Decision spent = f.Ask(request);
  EXPECT_EQ(spent.remaining, 2u);
  Decision settled;
  ASSERT_EQ(f.registry->Settle(request, spent, 1, settled), Status::kOk);
  EXPECT_EQ(settled.remaining, 4u);
  ASSERT_EQ(f.registry->Settle(request, spent, 1000, settled), Status::kOk);
  EXPECT_EQ(settled.remaining, 0u);
  EXPECT_EQ(f.Ask("POST", "/orders", "alice").retry_after_ns, kSecond + kSecond / 5)
      << "debt is one capacity deep at most";
  Decision denied = f.Ask("POST", "/orders", "alice");
  EXPECT_EQ(f.registry->Settle(request, denied, 1, settled), Status::kInvalidArgument);
  EXPECT_EQ(f.registry->Settle(request, spent, -1, settled), Status::kInvalidArgument);
}

TEST(Semantics5Answer, SettleLeavesAShadowAloneThatWasNotCharged) {
  Fixture f(R"(
rules:
  - name: api
    path: /api
    limits:
      - {name: real, scope: user, algorithm: fixed_window, limit: 100, window: 1h}
      - {name: trial, scope: user, algorithm: fixed_window, limit: 1, window: 1h, shadow: true}
)");
  Request request;
  request.path = "/api";
  request.identity.user = "u";
  f.Ask(request);
  const Decision second = f.Ask(request);
  ASSERT_TRUE(second.shadow_denied);
  Decision settled;
  for (const int64_t actual : {int64_t{0}, int64_t{3}}) {
    ASSERT_EQ(f.registry->Settle(request, second, actual, settled), Status::kOk);
    EXPECT_TRUE(f.Ask(request).shadow_denied) << "the shadow still holds the first request, and no more";
  }
}

TEST(Semantics5Answer, SettleReachesNoLimitThatCameLater) {
  constexpr std::string_view kBefore =
      "rules:\n  - {name: api, path: /, limits: [{name: a, scope: user, limit: 9, window: 1h}]}\n";
  constexpr std::string_view kAfter =
      "rules:\n  - {name: api, path: /, limits: [{name: a, scope: user, limit: 9, window: 1h}, {name: b, scope: "
      "global, limit: 9, window: 1h}]}\n";
  Fixture f(kBefore);
  const Decision old = f.Ask("GET", "/", "u", 5);
  f.registry->Reload(Rules(kAfter));
  for (int i = 0; i < 3; ++i) f.Ask("GET", "/", "v");
  Request request;
  request.path = "/";
  request.identity.user = "u";
  Decision settled;
  ASSERT_EQ(f.registry->Settle(request, old, 0, settled), Status::kOk);
  EXPECT_EQ(settled.remaining, 9u);
  EXPECT_EQ(f.Ask("GET", "/", "w").remaining, 5u) << "b holds the three of v and this one";
}

TEST(Semantics5Answer, PeekSpendsNothingAndIsNotCounted) {
  Fixture f(kOneRule);
  f.Ask("POST", "/orders", "alice");
  Request request;
  request.method = "POST";
  request.path = "/orders";
  request.identity.user = "alice";
  Decision d;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(f.registry->Peek(request, d), Status::kOk);
    EXPECT_TRUE(d.allowed);
    EXPECT_TRUE(d.peeked);
    EXPECT_EQ(d.remaining, 4u);
  }
  EXPECT_EQ(f.registry->Metrics(false).requests, 1u);
  Decision settled;
  EXPECT_EQ(f.registry->Settle(request, d, 1, settled), Status::kInvalidArgument);
}

// B210, B213, B216, B219.
TEST(Semantics6SeveralLimits, AllOrNothingAndTheLongestWaitBinds) {
  Fixture f(R"(
rules:
  - name: api
    path: /api
    limits:
      - {name: short, scope: user, algorithm: fixed_window, limit: 2, window: 1s}
      - {name: long, scope: user, algorithm: token_bucket, limit: 3, window: 1m}
)");
  EXPECT_TRUE(f.Ask("GET", "/api", "u").allowed);
  const Decision second = f.Ask("GET", "/api", "u");
  EXPECT_TRUE(second.allowed);
  EXPECT_EQ(f.registry->LimitName(second.limit_id), "short") << "0 of 2 is a smaller fraction than 1 of 3";
  EXPECT_EQ(second.limit_count, 2u);
  const Decision third = f.Ask("GET", "/api", "u");
  EXPECT_FALSE(third.allowed);
  EXPECT_EQ(f.registry->LimitName(third.limit_id), "short");
  f.now += kSecond;
  EXPECT_TRUE(f.Ask("GET", "/api", "u").allowed) << "the denied request charged neither";
  f.now += kSecond;
  const Decision denied = f.Ask("GET", "/api", "u");
  EXPECT_FALSE(denied.allowed);
  EXPECT_EQ(f.registry->LimitName(denied.limit_id), "long");
  EXPECT_EQ(denied.retry_after_ns, 18 * kSecond);
}

TEST(Semantics6SeveralLimits, AShadowLimitNeverChangesTheOutcome) {
  Fixture f(R"(
rules:
  - name: api
    path: /api
    limits:
      - {name: real, scope: user, algorithm: token_bucket, limit: 5, window: 1m}
      - {name: trial, scope: user, algorithm: token_bucket, limit: 1, window: 1m, shadow: true}
)");
  EXPECT_FALSE(f.Ask("GET", "/api", "u").shadow_denied);
  for (int i = 0; i < 4; ++i) {
    const Decision d = f.Ask("GET", "/api", "u");
    EXPECT_TRUE(d.allowed);
    EXPECT_TRUE(d.shadow_denied);
    EXPECT_EQ(f.registry->LimitName(d.limit_id), "real");
  }
  EXPECT_FALSE(f.Ask("GET", "/api", "u").allowed);
  const MetricsSnapshot m = f.registry->Metrics(true);
  EXPECT_EQ(m.shadow_denied, 5u);
  EXPECT_EQ(m.rules.at(0).shadow_denied, 5u);
  EXPECT_EQ(m.allowed, 5u);
  EXPECT_EQ(m.denied, 1u);
}

TEST(Semantics7Rules, NoRuleIsAllowedWithoutHeadersAndCounted) {
  Fixture f(kOneRule);
  const Decision d = f.Ask("GET", "/orders", "alice");
  EXPECT_TRUE(d.allowed);
  EXPECT_EQ(d.source, Source::kNoRule);
  EXPECT_EQ(d.rule, 0u);
  EXPECT_EQ(HeaderText(d, "", kHeadersDefault), "");
  EXPECT_EQ(f.registry->Metrics(false).no_rule, 1u);
  EXPECT_EQ(f.registry->Metrics(false).requests, 1u);
}

TEST(Semantics7Rules, MatchAllMakesEveryMatchingRuleApplyAndCountsEachRequestOnce) {
  Fixture f(R"(
match: all
rules:
  - {name: wide, path: /, scope: global, algorithm: token_bucket, limit: 3, window: 1m}
  - {name: narrow, path: /api, scope: user, algorithm: token_bucket, limit: 2, window: 1m}
)");
  EXPECT_TRUE(f.Ask("GET", "/api", "a").allowed);
  EXPECT_TRUE(f.Ask("GET", "/api", "a").allowed);
  const Decision d = f.Ask("GET", "/api", "a");
  EXPECT_FALSE(d.allowed);
  EXPECT_EQ(f.registry->RuleName(d.rule), "narrow");
  EXPECT_TRUE(f.Ask("GET", "/api", "b").allowed) << "wide was not charged by the denied one";
  EXPECT_FALSE(f.Ask("GET", "/other", "c").allowed);
  const MetricsSnapshot m = f.registry->Metrics(true);
  EXPECT_EQ(m.requests, 5u);
  EXPECT_EQ(m.allowed, 3u);
  EXPECT_EQ(m.denied, 2u);
  EXPECT_EQ(m.rules.at(0).rule, "wide");
  EXPECT_EQ(m.rules.at(0).allowed, 3u);
  EXPECT_EQ(m.rules.at(0).denied, 2u);
}

TEST(Semantics7Rules, MoreRulesThanFitOneRequestAreAnErrorAndNoSilentAllow) {
  std::string text = "match: all\nrules:\n";
  for (int i = 0; i < 33; ++i) {
    const std::string n = std::to_string(i);
    text += "  - {name: r" + n + ", path: /x, scope: user, algorithm: token_bucket, limit: 10, window: 1m" +
            (i == 0 ? "" : ", when: {a" + n + ": b}") + "}\n";
  }
  Fixture f(text);
  std::vector<std::string> names;
  for (int i = 1; i < 33; ++i) names.push_back("a" + std::to_string(i));
  std::vector<AttributeView> attributes;
  for (const std::string& name : names) attributes.push_back({name, "b"});
  Request request;
  request.path = "/x";
  request.identity.user = "u";
  request.identity.attributes = std::span(attributes).first(31);
  EXPECT_EQ(f.Ask(request).limit_count, 32u);
  request.identity.attributes = attributes;
  Decision decision;
  decision.allowed = true;
  EXPECT_EQ(f.registry->Allow(request, decision), Status::kUnsupported);
  EXPECT_FALSE(decision.allowed);
}

TEST(Semantics7Rules, BlockAndUnlimitedAskNoLimit) {
  Fixture f(R"(
rules:
  - {name: closed, path: /admin, action: block}
  - {name: free, path: /health, action: unlimited}
)");
  const Decision blocked = f.Ask("GET", "/admin/x", "u");
  EXPECT_FALSE(blocked.allowed);
  EXPECT_EQ(blocked.reason, Reason::kBlocked);
  EXPECT_EQ(blocked.source, Source::kAction);
  EXPECT_EQ(blocked.retry_after_ns, kNever);
  EXPECT_TRUE(f.Ask("GET", "/health", "u").allowed);
  const MetricsSnapshot m = f.registry->Metrics(true);
  EXPECT_EQ(m.blocked, 1u);
  EXPECT_EQ(m.denied, 1u);
  EXPECT_EQ(m.allowed, 1u);
}

TEST(Semantics7Rules, ARulesCostIsForRequestsThatStateNone) {
  Fixture f(R"(
rules:
  - {name: export, path: /export, cost: 3, scope: user, algorithm: token_bucket, limit: 10, window: 1m}
)");
  const Decision d = f.Ask("GET", "/export", "u");
  EXPECT_EQ(d.cost, 3);
  EXPECT_EQ(d.remaining, 7u);
  EXPECT_EQ(f.Ask("GET", "/export", "u", 2).remaining, 5u);
  MetricsSnapshot::PerRule rule;
  ASSERT_TRUE(f.registry->RuleMetrics(d.rule, rule));
  EXPECT_EQ(rule.cost_allowed, 5u);
  EXPECT_EQ(rule.allowed, 2u);
}

TEST(Semantics7Rules, OverridesGiveOneValueOtherNumbers) {
  Fixture f(R"(
rules:
  - {name: api, path: /api, scope: user, algorithm: token_bucket, limit: 2, window: 1m, overrides: {vip: {limit: 100}}}
)");
  EXPECT_EQ(f.Ask("GET", "/api", "vip").remaining, 99u);
  EXPECT_EQ(f.Ask("GET", "/api", "other").remaining, 1u);
  const uint32_t id = f.registry->RuleId("api");
  Decision d;
  ASSERT_EQ(f.registry->AllowRule(id, "vip", kCostOfRule, 0, d), Status::kOk);
  EXPECT_EQ(d.remaining, 98u) << "the key stands for the user";
}

TEST(Semantics8Keys, NoUserMeansTheAddressAndNoAddressOneSharedUnknown) {
  Fixture f(kOneRule);
  Request request;
  request.method = "POST";
  request.path = "/orders";
  request.identity.ip = "192.0.2.1";
  EXPECT_EQ(f.Ask(request).remaining, 4u);
  EXPECT_EQ(f.Ask("POST", "/orders", "192.0.2.1").remaining, 4u) << "B123: a user of that name is somebody else";
  request.identity.ip = "::ffff:192.0.2.1";
  EXPECT_EQ(f.Ask(request).remaining, 3u);
  request.identity.ip = "no address";
  EXPECT_EQ(f.Ask(request).remaining, 4u);
  request.identity.ip = "";
  EXPECT_EQ(f.Ask(request).remaining, 3u);
  EXPECT_EQ(f.registry->Metrics(false).unknown_client, 2u);
}

TEST(Semantics9Reload, AnUnchangedLimitKeepsItsCountersAndAChangedOneHandsNothingBack) {
  Fixture f(kOneRule);
  for (int i = 0; i < 3; ++i) f.Ask("POST", "/orders", "alice");
  const uint32_t id = f.registry->RuleId("orders");
  f.registry->Reload(Rules(kOneRule));
  EXPECT_EQ(f.registry->generation(), 2u);
  EXPECT_EQ(f.registry->RuleId("orders"), id);
  Request request;
  request.rule = id;
  request.identity.user = "alice";
  Decision d;
  ASSERT_EQ(f.registry->Peek(request, d), Status::kOk);
  EXPECT_EQ(d.remaining, 2u);
  EXPECT_EQ(d.generation, 2u);
  f.registry->Reload(
      Rules("rules:\n  - {name: orders, method: POST, path: /orders, scope: user, algorithm: token_bucket, limit: 100, "
            "window: 1s}\n"));
  ASSERT_EQ(f.registry->Peek(request, d), Status::kOk);
  EXPECT_EQ(d.remaining, 2u) << "the level carries over in units";
  EXPECT_EQ(d.capacity, 100u);
  f.registry->Reload(
      Rules("rules:\n  - {name: orders, method: POST, path: /orders, scope: user, algorithm: fixed_window, limit: 100, "
            "window: 1s}\n"));
  ASSERT_EQ(f.registry->Peek(request, d), Status::kOk);
  EXPECT_EQ(d.remaining, 100u) << "another algorithm starts new";
}

TEST(Semantics9Reload, ARuleThatIsGoneIsNotFoundAndComesBackUnderItsId) {
  Fixture f(kOneRule);
  const uint32_t id = f.registry->RuleId("orders");
  f.registry->Reload(Rules("rules:\n  - {name: other, path: /x, action: unlimited}\n"));
  Decision d;
  EXPECT_EQ(f.registry->AllowRule(id, "u", 1, 0, d), Status::kNotFound);
  EXPECT_EQ(f.registry->RuleId("orders"), 0u);
  EXPECT_EQ(f.registry->RuleName(id), "orders");
  f.registry->Reload(Rules(kOneRule));
  EXPECT_EQ(f.registry->AllowRule(id, "u", 1, 0, d), Status::kOk);
}

TEST(Semantics9Reload, ABadFileKeepsTheOldRulesAndIsCounted) {
  Fixture f(kOneRule);
  const std::string path = testing::TempDir() + "/ratel_bad_rules.yaml";
  std::ofstream(path) << "rules:\n  - {name: orders, limit: -5}\n";
  EXPECT_FALSE(f.registry->ReloadPath(path).empty());
  EXPECT_FALSE(f.registry->ReloadPath(path + ".missing").empty());
  EXPECT_EQ(f.registry->generation(), 1u);
  EXPECT_EQ(f.registry->Metrics(false).reload_failures, 2u);
  EXPECT_TRUE(f.Ask("POST", "/orders", "u").allowed);
}

constexpr std::string_view kPolicies = R"(
instances: 4
rules:
  - {name: local, path: /local, scope: user, algorithm: token_bucket, limit: 8, window: 1m}
  - {name: open, path: /open, scope: user, algorithm: token_bucket, limit: 8, window: 1m, on_store_error: open}
  - {name: closed, path: /closed, scope: user, algorithm: token_bucket, limit: 8, window: 1m, on_store_error: closed}
)";

// B183, B186.
TEST(Semantics7Rules, OnStoreErrorDecidesWhenTheStorageCannotTell) {
  Fixture f(kPolicies, Store::kRemote);
  EXPECT_EQ(f.Ask("GET", "/local", "u").source, Source::kExact);
  f.failing = true;
  for (int i = 0; i < 2; ++i) {
    const Decision d = f.Ask("GET", "/local", "v");
    EXPECT_TRUE(d.allowed);
    EXPECT_EQ(d.source, Source::kLocalFallback);
    EXPECT_EQ(d.capacity, 2u) << "a quarter of the limit";
  }
  EXPECT_FALSE(f.Ask("GET", "/local", "v").allowed);
  const Decision open = f.Ask("GET", "/open", "u");
  EXPECT_TRUE(open.allowed);
  EXPECT_EQ(open.source, Source::kFailOpen);
  const Decision closed = f.Ask("GET", "/closed", "u");
  EXPECT_FALSE(closed.allowed);
  EXPECT_EQ(closed.source, Source::kFailClosed);
  EXPECT_EQ(closed.reason, Reason::kStore);
  f.failing = false;
  EXPECT_EQ(f.Ask("GET", "/local", "u").remaining, 6u);
  const MetricsSnapshot m = f.registry->Metrics(false);
  EXPECT_EQ(m.store_errors, 5u);
  EXPECT_EQ(m.local_fallback, 3u);
  EXPECT_EQ(m.fail_open, 1u);
  EXPECT_EQ(m.fail_closed, 1u);
  EXPECT_EQ(m.requests, 7u);
  EXPECT_EQ(m.requests, m.allowed + m.denied);
}

TEST(Semantics5Answer, AFailingStoreDeniesNothingForEver) {
  Fixture f("instances: 4\nrules:\n  - {name: a, path: /, cost: 10, scope: user, limit: 20, window: 1h}\n",
            Store::kRemote);
  f.failing = true;
  const Decision first = f.Ask("GET", "/", "u");
  EXPECT_TRUE(first.allowed) << "more than the share takes the whole share";
  EXPECT_EQ(first.source, Source::kLocalFallback);
  EXPECT_EQ(first.cost, 10);
  const Decision second = f.Ask("GET", "/", "u");
  EXPECT_FALSE(second.allowed);
  EXPECT_EQ(second.reason, Reason::kLimited);
  EXPECT_NE(second.retry_after_ns, kNever);
  EXPECT_EQ(f.Ask("GET", "/", "u", 21).reason, Reason::kNeverFits) << "this one never fits the limit itself";
}

TEST(Semantics6SeveralLimits, AShadowNeverChangesTheOutcomeWhenTheStoreFailsEither) {
  Fixture f(R"(
rules:
  - name: a
    path: /
    on_store_error: closed
    limits: [{name: trial, scope: user, limit: 1, window: 1h, shadow: true}]
)",
            Store::kRemote);
  f.failing = true;
  EXPECT_TRUE(f.Ask("GET", "/", "u").allowed);
}

/// A clock that reloads: as wild as a host's callback gets.
class ReloadingClock final : public Clock {
 public:
  uint64_t NowNs() noexcept override {
    if (registry != nullptr) registry->Reload(Rules(kOneRule));
    return kStart;
  }
  Registry* registry = nullptr;
};

TEST(Batch, TheClockIsAskedWithNothingHeld) {
  Registry::Options options;
  options.rules = Rules(kOneRule);
  options.storage = MakeMemoryStorage({});
  auto clock = std::make_unique<ReloadingClock>();
  ReloadingClock& wild = *clock;
  options.clock = std::move(clock);
  const auto registry = Registry::Create(std::move(options));
  wild.registry = registry.get();
  std::vector<Request> requests(3);
  for (Request& request : requests) {
    request.method = "POST";
    request.path = "/orders";
    request.identity.user = "u";
  }
  std::vector<Decision> out(requests.size());
  registry->AllowMany(requests, out);
  EXPECT_EQ(out[2].remaining, 2u);
  EXPECT_EQ(registry->generation(), 2u);
  wild.registry = nullptr;
}

TEST(Batch, ManyThatHaveTooManyLimitsAreRefusedEach) {
  std::string text = "match: all\nrules:\n";
  for (const std::string path : {"/", "/a", "/a/b", "/a/b/c", "/a/b/c/d"}) {
    text += "  - name: r" + std::to_string(path.size()) + "\n    path: " + path + "\n    limits:\n";
    for (int i = 0; i < 14; ++i)
      text += "      - {name: l" + std::to_string(i) + ", scope: user, limit: 1000, window: 1m}\n";
  }
  Fixture f(text);
  std::vector<Request> requests(200);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].path = i % 50 == 49 ? "/a/b/c" : "/a/b/c/d";
    requests[i].identity.user = "u";
  }
  std::vector<Decision> out(requests.size());
  f.registry->AllowMany(requests, out);
  for (size_t i = 0; i < out.size(); ++i) {
    if (i % 50 == 49) {
      EXPECT_EQ(out[i].limit_count, 56u);
      EXPECT_EQ(out[i].remaining, 999u - i / 50);
    } else {
      EXPECT_EQ(out[i].status, Status::kUnsupported);
    }
  }
}

/// Notes which keys are announced, and which are decided on without.
class AnnouncedStorage final : public Storage {
 public:
  struct Notes {
    std::set<std::pair<uint64_t, uint64_t>> announced;
    size_t decided = 0;
    size_t unannounced = 0;
    void Decided(const Hash128& key) {
      ++decided;
      unannounced += !announced.contains({key.low, key.high});
    }
  };
  explicit AnnouncedStorage(Notes& notes) : notes_(notes) {}
  Status Apply(Operation& operation) noexcept override {
    for (const Charge& charge : operation.charges) notes_.Decided(charge.key);
    return inner_->Apply(operation);
  }
  Status SpendSingle(const SingleCharge& single, Micros now, Outcome& outcome) noexcept override {
    notes_.Decided(single.key);
    return inner_->SpendSingle(single, now, outcome);
  }
  void Prefetch(std::span<const Hash128> keys) const noexcept override {
    for (const Hash128& key : keys) notes_.announced.insert({key.low, key.high});
  }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }
  bool is_local() const noexcept override { return true; }

 private:
  Notes& notes_;
  const std::unique_ptr<Storage> inner_ = MakeMemoryStorage({});
};

// So that their lines come while the first ones are decided.
TEST(Batch, EveryKeyIsAnnouncedBeforeItIsDecided) {
  AnnouncedStorage::Notes notes;
  Registry::Options options;
  options.rules = Rules(R"(
rules:
  - {name: one, path: /one, scope: user, limit: 5, window: 1s}
  - name: two
    path: /two
    limits:
      - {name: a, scope: user, limit: 5, window: 1s}
      - {name: b, scope: user, limit: 5, window: 1m}
)");
  options.storage = std::make_unique<AnnouncedStorage>(notes);
  const auto registry = Registry::Create(std::move(options));
  std::vector<std::string> users;
  for (int i = 0; i < 100; ++i) users.push_back("u" + std::to_string(i));
  std::vector<Request> requests(users.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].path = i % 3 == 0 ? "/two" : "/one";
    requests[i].identity.user = users[i];
  }
  std::vector<Decision> out(requests.size());
  registry->AllowMany(requests, out);
  EXPECT_EQ(notes.decided, 134u);
  EXPECT_EQ(notes.unannounced, 0u);
}

TEST(Batch, AnswersInOrderAndOneBadRequestHoldsUpNoOther) {
  Fixture f(kOneRule);
  std::vector<Request> requests(100);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].method = "POST";
    requests[i].path = i % 10 == 9 ? "/elsewhere" : "/orders";
    requests[i].identity.user = i % 2 == 0 ? "even" : "odd";
    if (i == 4) requests[i].cost = 0;
    if (i == 6) requests[i].rule = 4711;
  }
  std::vector<Decision> out(requests.size());
  f.registry->AllowMany(requests, out);
  EXPECT_EQ(out[4].status, Status::kInvalidArgument);
  EXPECT_FALSE(out[4].allowed);
  EXPECT_EQ(out[6].status, Status::kNotFound);
  EXPECT_EQ(out[9].source, Source::kNoRule);
  size_t even = 0;
  for (size_t i = 0; i < out.size(); i += 2) even += out[i].allowed && out[i].source == Source::kExact;
  EXPECT_EQ(even, 5u);
  EXPECT_EQ(out[0].remaining, 4u);
  EXPECT_EQ(out[2].remaining, 3u);
}

TEST(Explain, TellsTheWayFromTheRequestToTheAnswer) {
  Fixture f(kOneRule);
  for (int i = 0; i < 5; ++i) f.Ask("POST", "/orders", "alice");
  Request request;
  request.method = "POST";
  request.path = "//orders/./7;v=1?q";
  request.identity.user = "alice";
  std::string text;
  ASSERT_EQ(f.registry->Explain(request, false, text), Status::kOk);
  for (const char* part :
       {"/orders/7", "orders", "user=alice", "token_bucket, 5 per 1s", "denied (limited), retry after 200ms"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  ASSERT_EQ(f.registry->Explain(request, true, text), Status::kOk);
  EXPECT_EQ(text.front(), '{');
  EXPECT_EQ(f.registry->Metrics(false).requests, 5u) << "explaining is not asking";
}

TEST(EvictIdle, AClockThatNoDecisionWouldAcceptDropsNothing) {
  Fixture f(kOneRule);
  for (int i = 0; i < 5; ++i) f.Ask("POST", "/orders", "u");
  f.now = UINT64_MAX;
  uint64_t evicted = 7;
  EXPECT_EQ(f.registry->EvictIdle(0, evicted), Status::kInvalidArgument);
  f.now = kStart;
  EXPECT_FALSE(f.Ask("POST", "/orders", "u").allowed);
}

TEST(Semantics7Rules, ThousandsOfOverridesKeepTheirOwnNumbersOverAReload) {
  std::string text = "rules:\n  - {name: api, path: /, scope: user, limit: 1000000, window: 1h, overrides: {";
  for (int i = 0; i < 5000; ++i)
    text += (i == 0 ? "u" : ", u") + std::to_string(i) + ": {limit: " + std::to_string(i % 900 + 1) + "}";
  text += "}}\n";
  Fixture f(text);
  EXPECT_TRUE(f.Ask("GET", "/", "u0").allowed);
  EXPECT_FALSE(f.Ask("GET", "/", "u0").allowed);
  EXPECT_EQ(f.Ask("GET", "/", "u4999").limit, 4999u % 900 + 1);
  f.registry->Reload(Rules(text));
  EXPECT_FALSE(f.Ask("GET", "/", "u0").allowed);
}

TEST(EvictIdle, DropsKeysThatHaveBeenAsNewAndCountsThem) {
  Fixture f(kOneRule);
  for (int i = 0; i < 50; ++i) f.Ask("POST", "/orders", "user" + std::to_string(i));
  uint64_t keys = 0;
  ASSERT_EQ(f.registry->KeyCount(keys), Status::kOk);
  EXPECT_EQ(keys, 50u);
  f.now += 600 * kSecond;
  uint64_t evicted = 0;
  ASSERT_EQ(f.registry->EvictIdle(0, evicted), Status::kOk);
  EXPECT_EQ(evicted, 50u);
  EXPECT_EQ(f.registry->Metrics(false).evicted_idle, 50u);
  EXPECT_EQ(f.registry->Metrics(false).keys, 0u);
}

TEST(Semantics4Time, TheBuiltInClockIsUnixTime) {
  Registry::Options options;
  options.rules = Rules(kOneRule);
  options.storage = MakeMemoryStorage({});
  const auto registry = Registry::Create(std::move(options));
  Request request;
  request.method = "POST";
  request.path = "/orders";
  Decision d;
  ASSERT_EQ(registry->Allow(request, d), Status::kOk);
  EXPECT_GT(d.now_ns, kStart);
  request.now_ns = (kMaxMicros + 1) * 1000;
  EXPECT_EQ(registry->Allow(request, d), Status::kInvalidArgument);
}

}  // namespace
}  // namespace ratel::test
