#include <gtest/gtest.h>
#include <ratel/rl.hpp>

#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

namespace {

using ratel::Config;
using ratel::Decision;
using ratel::Error;
using ratel::Registry;
using ratel::Request;

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kStart = 1'800'000'000 * kSecond;

constexpr char kRules[] = R"(
version: 1
trusted_proxies: [10.0.0.0/8]
rules:
  - name: create-order
    method: POST
    path: /orders
    scope: user
    algorithm: token_bucket
    limit: 5
    window: 1s
)";

Config Loaded(const char* rules = kRules) {
  Config config;
  config.LoadText(rules, "rules.yaml");
  return config;
}

Request Order(std::string_view user = "alice") {
  return Request().Method("POST").Path("/orders").User(user).Ip("192.0.2.1").NowNs(kStart);
}

TEST(Registry, DecidesAndSaysWhy) {
  const Registry registry(Loaded());
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(registry.Allow(Order())) << i;
  const Decision denied = registry.Allow(Order());
  EXPECT_FALSE(denied.Allowed());
  EXPECT_EQ(denied.Remaining(), 0u);
  EXPECT_EQ(denied.Capacity(), 5u);
  EXPECT_EQ(denied.Reason(), RL_REASON_LIMITED);
  EXPECT_EQ(denied.Source(), RL_SOURCE_EXACT);
  ASSERT_TRUE(denied.RetryAfter().has_value());
  EXPECT_EQ(*denied.RetryAfter(), std::chrono::milliseconds(200));
  EXPECT_EQ(registry.RuleName(denied.Rule()), "create-order");
  EXPECT_EQ(registry.LimitName(denied.LimitId()), "create-order");
  EXPECT_EQ(denied.Generation(), 1u);
}

TEST(Registry, CostAboveTheCapacityHasNoWait) {
  const Registry registry(Loaded());
  const Decision denied = registry.Allow(Order().Cost(6));
  EXPECT_EQ(denied.Reason(), RL_REASON_NEVER_FITS);
  EXPECT_FALSE(denied.RetryAfter().has_value());
}

TEST(Registry, RuleThatIsKnown) {
  const Registry registry(Loaded());
  const std::uint32_t rule = registry.RuleId("create-order");
  EXPECT_EQ(registry.Rules(), std::vector<std::uint32_t>{rule});
  EXPECT_TRUE(registry.AllowRule(rule, "alice", 4, kStart));
  EXPECT_EQ(registry.AllowRule(rule, "alice", RL_COST_OF_RULE, kStart).Remaining(), 0u);
  EXPECT_EQ(registry.Allow(Request().Rule(rule).Key("alice").NowNs(kStart)).Allowed(), false);
}

TEST(Registry, Many) {
  const Registry registry(Loaded());
  std::vector<Request> requests(7, Order());
  requests[2].Cost(0);
  const std::vector<Decision> answers = registry.AllowMany(requests);
  ASSERT_EQ(answers.size(), 7u);
  EXPECT_EQ(answers[2].Raw().status, RL_E_INVALID_ARGUMENT);
  int allowed = 0;
  for (const Decision& answer : answers) allowed += answer.Allowed() ? 1 : 0;
  EXPECT_EQ(allowed, 5);
  EXPECT_TRUE(registry.AllowMany({}).empty());
}

TEST(Registry, PeekSpendsNothingAndSettleGivesBack) {
  const Registry registry(Loaded());
  EXPECT_EQ(registry.Peek(Order()).Remaining(), 5u);
  const Decision spent = registry.Allow(Order().Cost(4));
  EXPECT_EQ(registry.Peek(Order()).Remaining(), 1u);
  registry.Settle(Order().Cost(4), spent, 1);
  EXPECT_EQ(registry.Peek(Order()).Remaining(), 4u);
  registry.Reset(Order());
  EXPECT_EQ(registry.Peek(Order()).Remaining(), 5u);
}

TEST(Registry, AttributesSurviveACopyOfTheRequest) {
  const Registry registry(Loaded(R"({"version": 1, "rules": [{"name": "tenants", "when": {"plan": "pro"},
    "scope": "attribute:tenant", "limit": 1, "window": "1s"}]})"));
  const Request original = Request().Path("/").Attribute("plan", "pro").Attribute("tenant", "t1").NowNs(kStart);
  const Request copy = original;
  EXPECT_TRUE(registry.Allow(copy));
  EXPECT_FALSE(registry.Allow(original));
  EXPECT_TRUE(registry.Allow(Request(copy).Attribute("unused", "x").NowNs(kStart + kSecond)));
}

TEST(Registry, AsyncAnswersOnceAndAFailureNever) {
  const Registry registry(Loaded());
  int calls = 0;
  registry.AllowAsync(Order(), [&](const Decision& answer) {
    ++calls;
    EXPECT_EQ(answer.Raw().status, RL_OK);
    EXPECT_TRUE(answer.Allowed());
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THROW(registry.AllowAsync(Order().Cost(-1), [&](const Decision&) { ++calls; }), Error);
  EXPECT_EQ(calls, 1);
}

TEST(Registry, TheEmbeddedStoreChargesEachRepeat) {
  const Registry registry(Loaded());
  const Request request = Order().IdempotencyId(std::string_view("a\0b", 3));
  EXPECT_EQ(request.Raw().idempotency_id.size, 3u);
  EXPECT_EQ(registry.Allow(request).Remaining(), 4u);
  EXPECT_EQ(registry.Allow(request).Remaining(), 3u);
}

TEST(Config, ARegionHasItsShare) {
  const char* rules = R"(
regions: {eu: 5, us: 3, ap: 2}
rules:
  - {name: orders, path: /orders, scope: user, limit: 7, window: 1s}
  - {name: whole, path: /whole, scope: user, limit: 7, window: 1s, region: global}
)";
  const auto limits = [&](const char* region) {
    Config config = Loaded(rules);
    config.SetRegion(region);
    const Registry registry(config);
    const std::string why = registry.Explain(Request().Path("/orders").NowNs(kStart));
    EXPECT_EQ(why.find("\nregion ") != std::string::npos, *region != '\0') << why;
    return std::pair(registry.Peek(Request().Path("/orders").NowNs(kStart)).Capacity(),
                     registry.Peek(Request().Path("/whole").NowNs(kStart)).Capacity());
  };
  EXPECT_EQ(limits(""), std::pair(std::uint64_t{7}, std::uint64_t{7}));
  EXPECT_EQ(limits("eu"), std::pair(std::uint64_t{3}, std::uint64_t{7}));
  EXPECT_EQ(limits("us"), std::pair(std::uint64_t{2}, std::uint64_t{7}));
  EXPECT_EQ(limits("ap"), std::pair(std::uint64_t{1}, std::uint64_t{7}));
}

TEST(Config, ARegionThatTheRulesDoNotKnow) {
  Config config = Loaded("{regions: {eu: 5, us: 3}, rules: [{name: a, path: /, scope: user, limit: 8, window: 1s}]}");
  config.SetRegion("ap");
  try {
    const Registry registry(config);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.Status(), RL_E_CONFIG);
    EXPECT_NE(error.Message().find("eu, us"), std::string_view::npos) << error.Message();
  }
  config.SetRegion("us");
  Registry registry(config);
  EXPECT_EQ(registry.Peek(Request().Path("/").NowNs(kStart)).Capacity(), 3u);
  EXPECT_EQ(registry.Diff(config), "");
  EXPECT_THROW(registry.Reload(Loaded()), Error) << "no regions";
  registry.Reload(config);
  EXPECT_EQ(registry.Peek(Request().Path("/").NowNs(kStart)).Capacity(), 3u);
}

TEST(CompletionQueue, GivesEachAnswerWithItsTag) {
  const Registry registry(Loaded());
  int rung = 0;
  ratel::CompletionQueue queue(2, [&] { ++rung; });
  registry.AllowQueued(Order(), queue, 7);
  registry.AllowQueued(Order().Cost(5), queue, 8);
  EXPECT_THROW(registry.AllowQueued(Order(), queue, 9), Error);
  std::vector<ratel::CompletionQueue::Answer> answers;
  EXPECT_TRUE(queue.Drain(answers, std::chrono::seconds(0)));
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].tag, 7u);
  EXPECT_TRUE(answers[0].decision.Allowed());
  EXPECT_EQ(answers[1].tag, 8u);
  EXPECT_FALSE(answers[1].decision.Allowed());
  EXPECT_TRUE(queue.Drain(answers, std::chrono::milliseconds(1)));
  EXPECT_TRUE(answers.empty());
  EXPECT_EQ(rung, 1);
  queue.Shutdown();
  EXPECT_FALSE(queue.Drain(answers, std::chrono::milliseconds(-1)));
  EXPECT_THROW(registry.AllowQueued(Order(), queue, 10), Error);
}

TEST(Registry, TryAllowDoesNotThrow) {
  const Registry registry(Loaded());
  Decision decision;
  EXPECT_EQ(registry.TryAllow(Order(), decision), RL_OK);
  EXPECT_TRUE(decision);
  EXPECT_EQ(registry.TryAllow(Order().Cost(0), decision), RL_E_INVALID_ARGUMENT);
  const Request request;
  static_assert(noexcept(registry.TryAllow(request, decision)), "TryAllow is the way without exceptions");
}

TEST(Registry, HeadersAndProblem) {
  const Registry registry(Loaded());
  const Decision allowed = registry.Allow(Order().Cost(5));
  EXPECT_EQ(registry.Headers(allowed, RL_HEADERS_X),
            "X-RateLimit-Limit: 5\r\nX-RateLimit-Remaining: 0\r\nX-RateLimit-Reset: 1800000001\r\n");
  EXPECT_EQ(registry.Headers(allowed, RL_HEADERS_NONE), "");
  EXPECT_THROW(registry.Problem(allowed), Error);
  const Decision denied = registry.Allow(Order());
  EXPECT_NE(registry.Headers(denied).find("Retry-After: 1\r\n"), std::string::npos);
  EXPECT_EQ(registry.Problem(denied).front(), '{');
}

TEST(Registry, TextsGrowPastTheFirstBuffer) {
  std::string rules = "version: 1\nrules:\n";
  for (int i = 0; i < 100; ++i) {
    const std::string n = std::to_string(i);
    rules += "  - {name: rule-" + n + ", path: /r" + n + ", scope: user, limit: 5, window: 1s}\n";
  }
  const Registry registry(Loaded(rules.c_str()));
  for (const std::uint32_t rule : registry.Rules()) registry.AllowRule(rule, "alice", 1, kStart);
  const std::string text = registry.Prometheus();
  EXPECT_GT(text.size(), 512u);
  EXPECT_NE(text.find("rule-99"), std::string::npos);
  EXPECT_EQ(text.back(), '\n');
}

TEST(Registry, ExplainInTextAndJson) {
  const Registry registry(Loaded());
  EXPECT_NE(registry.Explain(Order()).find("create-order"), std::string::npos);
  EXPECT_EQ(registry.Explain(Order(), RL_TEXT_JSON).front(), '{');
}

TEST(Registry, ClientIp) {
  const Registry registry(Loaded());
  EXPECT_EQ(registry.ClientIp("10.0.0.1", {"203.0.113.9", "198.51.100.7, 10.1.1.1"}), "198.51.100.7");
  EXPECT_EQ(registry.ClientIp("10.0.0.1", {}, {"for=203.0.113.9"}), "203.0.113.9");
  EXPECT_EQ(registry.ClientIp("192.0.2.1", {"203.0.113.9"}), "192.0.2.1");
  EXPECT_EQ(registry.ClientIp("nonsense", {}), "");
}

TEST(Registry, AllowHttp) {
  const Registry registry(Loaded());
  std::string headers;
  const Decision decision = registry.AllowHttp(Order(), "10.0.0.1", {"198.51.100.7, 10.1.1.1"}, {}, headers);
  EXPECT_TRUE(decision);
  EXPECT_FALSE(headers.empty());
  EXPECT_EQ(headers, registry.Headers(decision));
  EXPECT_THROW(registry.AllowHttp(Order(), "10.0.0.1", {}, {}, headers, RL_HEADERS_NONE | RL_HEADERS_X), Error);
}

TEST(Registry, ReloadKeepsCountsAndABadOneChangesNothing) {
  Registry registry(Loaded());
  registry.Allow(Order().Cost(3));
  Config config;
  config.LoadText(kRules);
  EXPECT_EQ(registry.Diff(config, RL_TEXT_JSON).empty(), false);
  registry.Reload(config);
  EXPECT_EQ(registry.Generation(), 2u);
  EXPECT_EQ(registry.Peek(Order()).Remaining(), 2u);
  EXPECT_THROW(registry.ReloadFile("/nowhere/rules.yaml"), Error);
  EXPECT_EQ(registry.Generation(), 2u);
  EXPECT_EQ(registry.Metrics().reload_failures, 1u);
}

TEST(Registry, CountsAndHousekeeping) {
  std::uint64_t now = kStart;
  Config config = Loaded();
  config.SetClock([&now] { return now; });
  config.UseMemory(1000);
  const Registry registry(config);
  registry.Allow(Order("alice").NowNs(0));
  registry.Allow(Order("bob").NowNs(0).Cost(6));
  registry.Allow(Request().Path("/other"));
  const rl_metrics metrics = registry.Metrics();
  EXPECT_EQ(metrics.requests, 3u);
  EXPECT_EQ(metrics.allowed, 2u);
  EXPECT_EQ(metrics.never_fits, 1u);
  EXPECT_EQ(metrics.no_rule, 1u);
  EXPECT_EQ(registry.RuleMetrics(registry.RuleId("create-order")).cost_allowed, 1u);
  EXPECT_THROW(registry.RuleMetrics(12345), Error);
  EXPECT_EQ(registry.KeyCount(), 1u);
  now += 600 * kSecond;
  EXPECT_EQ(registry.EvictIdle(), 1u);
  EXPECT_EQ(registry.KeyCount(), 0u);
}

TEST(Registry, MovesAndReleases) {
  Registry first(Loaded());
  Registry second = std::move(first);
  EXPECT_EQ(first.Raw(), nullptr);
  EXPECT_TRUE(second.Allow(Order()));
  second = Registry(Loaded());
  EXPECT_EQ(second.Peek(Order()).Remaining(), 5u);
}

TEST(Config, FaultsCarryTheirPlace) {
  Config config;
  try {
    config.LoadText("version: 1\nrules:\n  - {name: a, scope: user, limit: 0, window: 1s}\n  - {name: a, scope: me}\n",
                    "r.yaml");
    FAIL() << "a bad file was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.Status(), RL_E_CONFIG);
    EXPECT_EQ(error.File(), "r.yaml");
    EXPECT_EQ(error.Line(), 3u);
    EXPECT_GT(error.Column(), 0u);
    EXPECT_FALSE(error.Message().empty());
    EXPECT_FALSE(error.Path().empty());
    EXPECT_EQ(error.FaultCount(), config.Faults().size());
    EXPECT_EQ(error.what(), "r.yaml:" + std::to_string(error.Line()) + ":" + std::to_string(error.Column()) + ": " +
                                std::string(error.Path()) + ": " + std::string(error.Message()));
  }
  EXPECT_GE(config.Faults().size(), 2u);
  config.Clear();
  EXPECT_TRUE(config.Faults().empty());
  config.LoadText(kRules);
  EXPECT_EQ(Registry(config).Rules().size(), 1u);
}

TEST(Config, RulesFromCode) {
  rl_limit limit = RL_LIMIT_INIT;
  limit.algorithm = RL_FIXED_WINDOW;
  limit.scope = ratel::ToStr("global");
  limit.limit = 1;
  limit.window_ns = kSecond;
  rl_rule rule = RL_RULE_INIT;
  rule.name = ratel::ToStr("one");
  rule.limits = &limit;
  rule.limit_count = 1;
  Config config;
  config.AddRule(rule);
  const Registry registry(config);
  EXPECT_TRUE(registry.Allow(Request().Path("/").NowNs(kStart)));
  EXPECT_FALSE(registry.Allow(Request().Path("/").NowNs(kStart)));
  limit.limit = 0;
  EXPECT_THROW(config.AddRule(rule), Error);
}

TEST(Config, MissingFile) {
  Config config;
  try {
    config.LoadFile("/nowhere/rules.yaml");
    FAIL() << "a missing file was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.Status(), RL_E_IO);
  }
}

TEST(Config, RedisWhereTheBuildHasIt) {
  Config config;
  rl_status status = RL_OK;
  try {
    config.UseRedis("redis://127.0.0.1:1");
  } catch (const Error& error) {
    status = error.Status();
    EXPECT_STRNE(error.what(), "");
  }
  EXPECT_EQ(status, (rl_features() & RL_FEATURE_REDIS) != 0 ? RL_OK : RL_E_UNSUPPORTED);
}

TEST(Callbacks, LogHearsAFailedReload) {
  std::string heard;
  Config config = Loaded();
  config.SetLog([&](int level, std::string_view text) {
    if (level == RL_LOG_ERROR || level == RL_LOG_WARNING) heard = text;
  });
  Registry registry(config);
  EXPECT_THROW(registry.ReloadFile("/nowhere/rules.yaml"), Error);
  EXPECT_NE(heard.find("/nowhere/rules.yaml"), std::string::npos);
}

/// A map behind a mutex, and whether it is still there.
struct MapStorage {
  std::mutex mutex;
  std::map<std::string, std::string, std::less<>> states;

  rl_status Apply(rl_op* op, rl_cell* cells, std::uint32_t count) {
    const std::lock_guard lock(mutex);
    for (std::uint32_t i = 0; i < count; ++i) {
      const auto held = states.find(ratel::ToView(cells[i].key));
      const bool found = held != states.end();
      cells[i].state = found ? held->second.data() : nullptr;
      cells[i].state_size = found ? held->second.size() : 0;
    }
    const rl_status status = rl_step(op, cells, count);
    if (status != RL_OK) return status;
    for (std::uint32_t i = 0; i < count; ++i) {
      if (cells[i].write == 0) continue;
      const std::string key(ratel::ToView(cells[i].key));
      if (cells[i].new_size == 0) {
        states.erase(key);
      } else {
        states[key].assign(static_cast<const char*>(cells[i].new_state), cells[i].new_size);
      }
    }
    return RL_OK;
  }
};

ratel::Storage Callbacks(const std::shared_ptr<MapStorage>& map) {
  ratel::Storage storage;
  storage.apply = [map](rl_op* op, rl_cell* cells, std::uint32_t count) { return map->Apply(op, cells, count); };
  storage.count = [map](std::uint64_t* keys) {
    *keys = map->states.size();
    return RL_OK;
  };
  storage.forget = [map](std::string_view key) {
    map->states.erase(std::string(key));
    return RL_OK;
  };
  return storage;
}

TEST(Callbacks, StorageDecidesAndIsReleased) {
  const auto map = std::make_shared<MapStorage>();
  {
    Config config = Loaded();
    config.SetStorage(Callbacks(map));
    const Registry registry(config);
    for (int i = 0; i < 5; ++i) EXPECT_TRUE(registry.Allow(Order()));
    EXPECT_FALSE(registry.Allow(Order()));
    EXPECT_EQ(registry.KeyCount(), 1u);
    registry.Reset(Order());
    EXPECT_EQ(registry.KeyCount(), 0u);
    EXPECT_GT(map.use_count(), 1);
  }
  EXPECT_EQ(map.use_count(), 1);
}

TEST(Callbacks, StorageWithoutApplyIsRefused) {
  Config config = Loaded();
  EXPECT_THROW(config.SetStorage(ratel::Storage{}), Error);
}

TEST(Callbacks, StorageThatThrowsCannotAnswer) {
  Config config = Loaded(R"({"version": 1, "rules": [{"name": "closed", "scope": "user", "limit": 1, "window": "1s",
    "on_store_error": "closed"}]})");
  ratel::Storage storage;
  storage.apply = [](rl_op*, rl_cell*, std::uint32_t) -> rl_status { throw std::runtime_error("gone"); };
  config.SetStorage(std::move(storage));
  const Registry registry(config);
  const Decision decision = registry.Allow(Order());
  EXPECT_FALSE(decision);
  EXPECT_EQ(decision.Source(), RL_SOURCE_FAIL_CLOSED);
  EXPECT_EQ(registry.Metrics().store_errors, 1u);
}

TEST(Callbacks, AsyncStorageFinishesOnAnotherThread) {
  const auto map = std::make_shared<MapStorage>();
  std::vector<std::thread> threads;
  Config config = Loaded();
  ratel::Storage storage = Callbacks(map);
  storage.apply_async = [&, map](rl_op* op, rl_cell* cells, std::uint32_t count, rl_completion* done) {
    threads.emplace_back([=] { rl_completion_finish(done, map->Apply(op, cells, count)); });
    return RL_OK;
  };
  config.SetStorage(std::move(storage));
  std::mutex mutex;
  int allowed = 0;
  {
    const Registry registry(config);
    for (int i = 0; i < 7; ++i) {
      registry.AllowAsync(Order(), [&](const Decision& answer) {
        const std::lock_guard lock(mutex);
        allowed += answer.Allowed() ? 1 : 0;
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(allowed, 5);
}

TEST(Version, LibraryFitsTheHeader) {
  EXPECT_EQ(rl_abi_version() >> 16, static_cast<std::uint32_t>(RL_ABI_MAJOR));
  EXPECT_EQ(rl_struct_size("request"), sizeof(rl_request));
}

}  // namespace
