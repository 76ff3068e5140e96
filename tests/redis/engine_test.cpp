// The whole engine on a Redis, through rl.h: policies while it fails, what is logged, the instant a decision is told at, TLS.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ratel/rl.h"
#include "redis/certificates.hpp"
#include "redis/server.hpp"

namespace ratel::test {
namespace {

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

bool Eventually(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

class Engine {
 public:
  Engine(std::string_view rules, const std::string& url) {
    rl_config* config = nullptr;
    EXPECT_EQ(rl_config_create(&config, nullptr), RL_OK);
    rl_error error = RL_ERROR_INIT;
    EXPECT_EQ(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), RL_OK) << error.message;
    EXPECT_EQ(rl_config_use_redis(config, Borrow(url), &error), RL_OK) << error.message;
    EXPECT_EQ(rl_config_set_secret(config, Borrow("a secret of the tests"), nullptr), RL_OK);
    rl_log log{};
    log.struct_size = sizeof log;
    log.self = this;
    log.write = [](void* self, int32_t, const char* text, uint64_t size) {
      auto& engine = *static_cast<Engine*>(self);
      const std::lock_guard lock(engine.mutex_);
      engine.told_ += std::string(text, size) + "\n";
    };
    EXPECT_EQ(rl_config_set_log(config, &log, nullptr), RL_OK);
    EXPECT_EQ(rl_registry_create(config, &registry, &error), RL_OK) << error.message;
    rl_config_destroy(config);
  }
  ~Engine() { rl_registry_destroy(registry); }
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  rl_decision Ask(std::string_view user = "alice") const {
    const rl_request request = RequestOf(user);
    rl_decision decision = RL_DECISION_INIT;
    EXPECT_EQ(rl_allow(registry, &request, &decision, nullptr), RL_OK);
    return decision;
  }
  static rl_request RequestOf(std::string_view user) {
    rl_request request = RL_REQUEST_INIT;
    request.user = Borrow(user);
    return request;
  }
  rl_metrics Metrics() const {
    rl_metrics metrics{};
    metrics.struct_size = sizeof metrics;
    EXPECT_EQ(rl_metrics_get(registry, &metrics, nullptr), RL_OK);
    return metrics;
  }
  std::string told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }

  rl_registry* registry = nullptr;

 private:
  mutable std::mutex mutex_;
  std::string told_;
};

std::string Rules(std::string_view policy) {
  return R"({"version":1,"instances":4,"rules":[{"name":"r","scope":"user","algorithm":"fixed_window","limit":8,)"
         R"("window":"24h","on_store_error":")" +
         std::string(policy) + R"("}]})";
}

TEST(Engine, EachPolicyAnswersWhileTheServerIsDownAndCountsAreExactAgainAfterwards) {
  const std::pair<const char*, uint8_t> policies[] = {
      {"local", RL_SOURCE_LOCAL_FALLBACK}, {"open", RL_SOURCE_FAIL_OPEN}, {"closed", RL_SOURCE_FAIL_CLOSED}};
  for (const auto& [policy, source] : policies) {
    SCOPED_TRACE(policy);
    RedisServer server;
    Engine engine(Rules(policy), server.url("deadline_ms=2000"));
    EXPECT_EQ(engine.Ask().remaining, 7u);
    EXPECT_EQ(engine.Ask().source, RL_SOURCE_EXACT);
    server.Kill();
    EXPECT_TRUE(Eventually([&, wanted = source] { return engine.Ask("bob").source == wanted; }));
    int admitted = 0;
    for (int i = 0; i < 20; ++i) {
      const rl_decision decision = engine.Ask("carol");
      EXPECT_EQ(decision.source, source);
      admitted += decision.allowed;
    }
    EXPECT_EQ(admitted, source == RL_SOURCE_LOCAL_FALLBACK ? 8 / 4 : source == RL_SOURCE_FAIL_OPEN ? 20 : 0);
    const rl_metrics metrics = engine.Metrics();
    EXPECT_GE(metrics.store_errors, 20u);
    EXPECT_EQ(metrics.local_fallback >= 20, source == RL_SOURCE_LOCAL_FALLBACK) << metrics.local_fallback;
    EXPECT_EQ(metrics.fail_open >= 20, source == RL_SOURCE_FAIL_OPEN) << metrics.fail_open;
    EXPECT_EQ(metrics.fail_closed >= 20, source == RL_SOURCE_FAIL_CLOSED) << metrics.fail_closed;
    EXPECT_EQ(metrics.allowed + metrics.denied, metrics.requests);
    EXPECT_NE(engine.told().find("127.0.0.1"), std::string::npos);
    server.Start();
    EXPECT_TRUE(Eventually([&] { return engine.Ask("dora").source == RL_SOURCE_EXACT; }));
    EXPECT_NE(engine.told().find("connected again"), std::string::npos) << engine.told();
  }
}

TEST(Engine, ADenialNeverTakesTheFallbackPath) {
  RedisServer server;
  Engine engine(Rules("local"), server.url("deadline_ms=20000"));
  int admitted = 0;
  for (int i = 0; i < 30; ++i) {
    const rl_decision decision = engine.Ask();
    ASSERT_EQ(decision.source, RL_SOURCE_EXACT);
    admitted += decision.allowed;
    EXPECT_EQ(decision.reason, decision.allowed ? RL_REASON_NONE : RL_REASON_LIMITED);
  }
  EXPECT_EQ(admitted, 8);
  EXPECT_EQ(engine.Metrics().store_errors, 0u);
}

TEST(Engine, TwoGatewaysShareOneBudgetAndNoIdentityIsStored) {
  RedisServer server;
  Engine one(Rules("local"), server.url("deadline_ms=20000"));
  Engine two(Rules("local"), server.unix_url("deadline_ms=20000"));
  int admitted = 0;
  for (int i = 0; i < 10; ++i) admitted += one.Ask("alice@example.org").allowed + two.Ask("alice@example.org").allowed;
  EXPECT_EQ(admitted, 8);
  ASSERT_EQ(server.Keys().size(), 2u);
  for (const std::string& key : server.Keys()) {
    EXPECT_EQ((key + server.Do({"DUMP", key})).find("alice"), std::string::npos);
  }
}

TEST(Engine, KeysOfOneUserLieInOneSlot) {
  RedisServer server;
  Engine engine(
      R"({"version":1,"rules":[{"name":"r","limits":[)"
      R"({"name":"a","scope":"user","limit":5,"window":"1h"},{"name":"b","scope":"user","limit":9,"window":"24h"}]}]})",
      server.url("deadline_ms=20000"));
  const auto tags = [&] {
    std::set<std::string> found;
    for (const std::string& key : server.Keys()) {
      if (key.starts_with("rl{")) found.insert(key.substr(0, key.find('}')));
    }
    return found.size();
  };
  for (const char* user : {"alice", "bob", "carol"}) engine.Ask(user);
  EXPECT_EQ(server.Keys().size(), 6u + 1);
  EXPECT_EQ(tags(), 3u);
}

TEST(Engine, ManyQuestionsWhileTheServerIsDown) {
  RedisServer server({}, false);
  Engine engine(Rules("closed"), server.url("deadline_ms=1000"));
  std::vector<rl_request> requests(40, Engine::RequestOf("alice"));
  std::vector<rl_decision> decisions(40, rl_decision RL_DECISION_INIT);
  ASSERT_EQ(rl_allow_many(engine.registry, requests.data(), 40, decisions.data(), nullptr), RL_OK);
  for (const rl_decision& decision : decisions) {
    EXPECT_EQ(decision.source, RL_SOURCE_FAIL_CLOSED);
    EXPECT_EQ(decision.generation, 1u);
    EXPECT_EQ(decision.cost, 1);
  }
  EXPECT_EQ(engine.Metrics().fail_closed, 40u);
}

TEST(Engine, ASettleFindsWhatWasSpentAtTheServersTime) {
  // The gateway's clock is years off; the server's counts.
  RedisServer server;
  Engine engine(Rules("closed"), server.url("deadline_ms=20000"));
  rl_request request = Engine::RequestOf("alice");
  request.now_ns = 1'000'000'000;
  request.cost = 5;
  rl_decision decision = RL_DECISION_INIT;
  ASSERT_EQ(rl_allow(engine.registry, &request, &decision, nullptr), RL_OK);
  EXPECT_EQ(decision.remaining, 3u);
  EXPECT_GT(decision.now_ns, 1'700'000'000'000'000'000u);
  rl_decision settled = RL_DECISION_INIT;
  ASSERT_EQ(rl_settle(engine.registry, &request, &decision, 1, &settled, nullptr), RL_OK);
  EXPECT_EQ(settled.remaining, 7u);
  EXPECT_EQ(rl_reset(engine.registry, &request, nullptr), RL_OK);
  ASSERT_EQ(rl_peek(engine.registry, &request, &decision, nullptr), RL_OK);
  EXPECT_EQ(decision.remaining, 8u);
}

TEST(Engine, ManyQuestionsAreAnsweredInOrder) {
  RedisServer server;
  Engine engine(Rules("closed"), server.url("deadline_ms=20000&connections=3"));
  std::vector<rl_request> requests(100, Engine::RequestOf("alice"));
  std::vector<rl_decision> decisions(100, rl_decision RL_DECISION_INIT);
  ASSERT_EQ(rl_allow_many(engine.registry, requests.data(), 100, decisions.data(), nullptr), RL_OK);
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(decisions[i].status, RL_OK);
    ASSERT_EQ(decisions[i].source, RL_SOURCE_EXACT);
    EXPECT_EQ(decisions[i].allowed, i < 8 ? 1 : 0);
    EXPECT_EQ(decisions[i].remaining, i < 8 ? 7 - i : 0);
  }
}

TEST(Engine, CallbacksRunOnceAlsoWhenTheRegistryIsDestroyed) {
  RedisServer server;
  std::atomic<int> answered{0};
  std::atomic<int> cancelled{0};
  struct Counts {
    std::atomic<int>& answered;
    std::atomic<int>& cancelled;
  } counts{answered, cancelled};
  const auto callback = [](void* user, const rl_decision* decision) {
    auto& into = *static_cast<Counts*>(user);
    ++(decision->status == RL_E_CANCELLED ? into.cancelled : into.answered);
  };
  constexpr int kCount = 200;
  {
    Engine engine(Rules("local"), server.url("deadline_ms=30000"));
    const rl_request request = Engine::RequestOf("alice");
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(rl_allow_async(engine.registry, &request, callback, &counts, nullptr), RL_OK);
    ASSERT_TRUE(Eventually([&] { return answered == kCount; }));
    server.Pause();
    for (int i = 0; i < kCount; ++i)
      ASSERT_EQ(rl_allow_async(engine.registry, &request, callback, &counts, nullptr), RL_OK);
  }
  server.Resume();
  EXPECT_EQ(answered, kCount);
  EXPECT_EQ(cancelled, kCount);
}

TEST(Engine, KeysCannotBeCountedOrSwept) {
  RedisServer server;
  Engine engine(Rules("local"), server.url());
  uint64_t number = 0;
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(rl_registry_key_count(engine.registry, &number, &error), RL_E_UNSUPPORTED);
  EXPECT_EQ(rl_registry_evict_idle(engine.registry, 0, &number, &error), RL_E_UNSUPPORTED);
}

TEST(Engine, ExplainReadsWhatIsThere) {
  RedisServer server;
  Engine engine(Rules("local"), server.url("deadline_ms=20000"));
  for (int i = 0; i < 3; ++i) engine.Ask();
  const rl_request request = Engine::RequestOf("alice");
  std::string text(4096, '\0');
  uint64_t needed = 0;
  ASSERT_EQ(rl_explain(engine.registry, &request, 0, text.data(), text.size(), &needed, nullptr), RL_OK);
  EXPECT_NE(text.find("3 of 8 units"), std::string::npos) << text.substr(0, needed);
}

TEST(Tls, OnlyATrustedServerIsSpokenTo) {
  if ((rl_features() & RL_FEATURE_TLS) == 0) GTEST_SKIP() << "a build without TLS";
  RedisServer server({}, false);
  const Certificates files(server.folder());
  const int tls_port = FreePort();
  server.AddArguments({"--tls-port", std::to_string(tls_port), "--tls-cert-file", files.File("server.pem"),
                       "--tls-key-file", files.File("server.key"), "--tls-ca-cert-file", files.File("ca.pem"),
                       "--tls-auth-clients", "yes"});
  server.Start();
  const auto at = [&](const std::string& host) {
    return "rediss://" + host + ":" + std::to_string(tls_port) + "?deadline_ms=5000&";
  };
  const std::string client = "&cert=" + files.File("client.pem") + "&key=" + files.File("client.key");
  {
    Engine good(Rules("closed"), at("127.0.0.1") + "ca=" + files.File("ca.pem") + client);
    EXPECT_EQ(good.Ask().source, RL_SOURCE_EXACT) << good.told();
    std::vector<rl_request> requests(500, Engine::RequestOf("bob"));
    std::vector<rl_decision> decisions(500, rl_decision RL_DECISION_INIT);
    ASSERT_EQ(rl_allow_many(good.registry, requests.data(), 500, decisions.data(), nullptr), RL_OK);
    EXPECT_EQ(decisions[499].source, RL_SOURCE_EXACT);
    EXPECT_EQ(decisions[499].allowed, 0);
  }
  {
    Engine by_name(Rules("closed"), at("localhost") + "ca=" + files.File("ca.pem") + client);
    EXPECT_EQ(by_name.Ask().source, RL_SOURCE_EXACT) << by_name.told();
  }
  const std::pair<std::string, const char*> refused[] = {
      {at("127.0.0.1") + "ca=" + files.File("other.pem") + client, "not trusted"},
      {at("127.0.0.1") + "ca=" + files.File("ca.pem") + client + "&server_name=elsewhere.example", "not trusted"},
      {at("127.0.0.1") + "ca=" + files.File("ca.pem"), "certificate required"},
      {"rediss://127.0.0.1:" + std::to_string(server.port()) + "?deadline_ms=5000&ca=" + files.File("ca.pem"), ""},
  };
  for (const auto& [url, reason] : refused) {
    SCOPED_TRACE(url);
    Engine engine(Rules("closed"), url);
    EXPECT_EQ(engine.Ask().source, RL_SOURCE_FAIL_CLOSED);
    EXPECT_TRUE(Eventually([&, part = reason] {
      return !engine.told().empty() && engine.told().find(part) != std::string::npos;
    })) << engine.told();
  }
}

TEST(Tls, ACertificateThatIsPutRightIsTrustedWithoutANewRegistry) {
  if ((rl_features() & RL_FEATURE_TLS) == 0) GTEST_SKIP() << "a build without TLS";
  constexpr int kLimit = 8;  // of Rules(), with a share of a quarter
  for (const bool local : {true, false}) {
    SCOPED_TRACE(local ? "local" : "closed");
    RedisServer server({}, false);
    const Certificates files(server.folder());
    const auto show = [&](const std::string& name) {
      for (const char* kind : {".pem", ".key"})
        std::filesystem::copy_file(files.File(name + kind), files.File(std::string("shown") + kind),
                                   std::filesystem::copy_options::overwrite_existing);
    };
    const std::string port = std::to_string(FreePort());
    server.AddArguments({"--tls-port", port, "--tls-cert-file", files.File("shown.pem"), "--tls-key-file",
                         files.File("shown.key"), "--tls-ca-cert-file", files.File("ca.pem"), "--tls-auth-clients",
                         "no"});
    show("other");
    server.Start();
    Engine engine(Rules(local ? "local" : "closed"),
                  "rediss://127.0.0.1:" + port + "?deadline_ms=5000&ca=" + files.File("ca.pem"));
    int admitted = 0;
    for (int i = 0; i < kLimit; ++i) {
      const rl_decision decision = engine.Ask();
      EXPECT_EQ(decision.source, local ? RL_SOURCE_LOCAL_FALLBACK : RL_SOURCE_FAIL_CLOSED);
      admitted += decision.allowed;
    }
    EXPECT_EQ(admitted, local ? kLimit / 4 : 0);
    EXPECT_TRUE(Eventually([&] { return engine.told().find("not trusted") != std::string::npos; })) << engine.told();

    server.Kill();
    show("server");
    server.Start();
    EXPECT_TRUE(Eventually([&] {
      const rl_request request = Engine::RequestOf("alice");
      rl_decision seen = RL_DECISION_INIT;
      EXPECT_EQ(rl_peek(engine.registry, &request, &seen, nullptr), RL_OK);
      return seen.source == RL_SOURCE_EXACT && seen.remaining == static_cast<uint64_t>(kLimit - admitted);
    })) << engine.told();
    EXPECT_NE(engine.told().find("connected again"), std::string::npos) << engine.told();
    for (int i = 0; i < 2 * kLimit; ++i) {
      const rl_decision decision = engine.Ask();
      ASSERT_EQ(decision.source, RL_SOURCE_EXACT) << engine.told();
      admitted += decision.allowed;
    }
    EXPECT_EQ(admitted, kLimit) << "with what was admitted meanwhile";
  }
}

/// What a handler of exit needs that takes no argument.
struct AtExit {
  RedisServer* server;
  Engine* engine;
};
AtExit at_exit;

TEST(Tls, ARegistryThatIsLeftToTheEndOfTheProcessGoesOnUntilThen) {
  if ((rl_features() & RL_FEATURE_TLS) == 0) GTEST_SKIP() << "a build without TLS";
  RedisServer server({}, false);
  const Certificates files(server.folder());
  const std::string port = std::to_string(FreePort());
  server.AddArguments({"--tls-port", port, "--tls-cert-file", files.File("server.pem"), "--tls-key-file",
                       files.File("server.key"), "--tls-ca-cert-file", files.File("ca.pem"), "--tls-auth-clients",
                       "no"});
  server.Start();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    // Handed over before TLS is first used, and so called after whatever that has handed over.
    std::atexit([] {
      at_exit.server->Do({"CLIENT", "KILL", "TYPE", "normal"});
      _exit(Eventually([] { return at_exit.engine->Ask().source == RL_SOURCE_EXACT; }) ? 0 : 1);
    });
    at_exit = {&server, new Engine(Rules("closed"),
                                   "rediss://127.0.0.1:" + port + "?deadline_ms=5000&ca=" + files.File("ca.pem"))};
    if (at_exit.engine->Ask().source != RL_SOURCE_EXACT) _exit(2);
    std::exit(3);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Tls, FilesThatCannotBeUsedAreToldWhenTheRegistryIsMade) {
  if ((rl_features() & RL_FEATURE_TLS) == 0) GTEST_SKIP() << "a build without TLS";
  rl_config* config = nullptr;
  ASSERT_EQ(rl_config_create(&config, nullptr), RL_OK);
  const std::string rules = Rules("local");
  ASSERT_EQ(rl_config_load_text(config, Borrow(rules), Borrow("rules"), nullptr), RL_OK);
  ASSERT_EQ(rl_config_set_secret(config, Borrow("a secret of the tests"), nullptr), RL_OK);
  ASSERT_EQ(rl_config_use_redis(config, Borrow("rediss://127.0.0.1?ca=/no/such/file.pem"), nullptr), RL_OK);
  rl_registry* registry = nullptr;
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(rl_registry_create(config, &registry, &error), RL_E_CONFIG);
  EXPECT_NE(std::string(error.message).find("/no/such/file.pem"), std::string::npos) << error.message;
  rl_config_destroy(config);
}

}  // namespace
}  // namespace ratel::test
