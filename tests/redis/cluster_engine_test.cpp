// The whole engine on a Redis Cluster, through rl.h: which rules it takes, and that every call finds its states.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "ratel/rl.h"
#include "redis/cluster.hpp"

namespace ratel::test {
namespace {

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

RedisCluster& Cluster() {
  static RedisCluster cluster({}, false);
  cluster.FlushAll();
  return cluster;
}

struct Made {
  rl_status status = RL_E_INTERNAL;
  rl_registry* registry = nullptr;
  std::string message;
  uint32_t line = 0;
  Made() = default;
  Made(const Made&) = delete;
  Made& operator=(const Made&) = delete;
  ~Made() { rl_registry_destroy(registry); }
};

rl_config* Load(std::string_view rules) {
  rl_config* config = nullptr;
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(rl_config_create(&config, nullptr), RL_OK);
  EXPECT_EQ(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), RL_OK) << error.message;
  return config;
}

void Make(Made& made, std::string_view rules, std::string_view options = "") {
  const std::string url = Cluster().url("deadline_ms=20000" + std::string(options));
  rl_config* config = Load(rules);
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(rl_config_use_redis(config, Borrow(url), &error), RL_OK) << error.message;
  EXPECT_EQ(rl_config_set_secret(config, Borrow("a secret of the tests"), nullptr), RL_OK);
  made.status = rl_registry_create(config, &made.registry, &error);
  made.message = error.message;
  made.line = error.line;
  rl_config_destroy(config);
}

std::string Rules(std::string_view first, std::string_view second) {
  return R"({"version": 1, "rules": [{"name": "r", "limits": [)"
         "\n"
         R"({"name": "a", "limit": 5, "window": "24h", "scope": )" +
         std::string(first) +
         "},\n"
         R"({"name": "b", "limit": 100, "window": "24h", "scope": )" +
         std::string(second) + "}]}]}";
}

TEST(ClusterEngine, LimitsThatShareAPartAreDecidedTogether) {
  Made made;
  Make(made, Rules(R"("attribute:tenant")", R"(["attribute:tenant", "user"])"));
  ASSERT_EQ(made.status, RL_OK) << made.message;
  rl_attribute tenant{Borrow("tenant"), Borrow("acme")};
  int admitted = 0;
  rl_decision decision = RL_DECISION_INIT;
  rl_request request = RL_REQUEST_INIT;
  request.attributes = &tenant;
  request.attribute_count = 1;
  for (const char* user : {"alice", "bob", "carol", "", "alice", "bob", "alice", "dora"}) {
    request.user = Borrow(user);
    request.ip = Borrow("192.0.2.1");
    ASSERT_EQ(rl_allow(made.registry, &request, &decision, nullptr), RL_OK);
    ASSERT_EQ(decision.source, RL_SOURCE_EXACT);
    admitted += decision.allowed;
  }
  EXPECT_EQ(admitted, 5) << "of the tenant, whoever asks";
  request.user = Borrow("alice");
  ASSERT_EQ(rl_reset(made.registry, &request, nullptr), RL_OK);
  ASSERT_EQ(rl_allow(made.registry, &request, &decision, nullptr), RL_OK);
  EXPECT_EQ(decision.remaining, 4u);
  rl_decision settled = RL_DECISION_INIT;
  ASSERT_EQ(rl_settle(made.registry, &request, &decision, 3, &settled, nullptr), RL_OK);
  ASSERT_EQ(rl_peek(made.registry, &request, &decision, nullptr), RL_OK);
  EXPECT_EQ(decision.remaining, 2u);
  EXPECT_EQ(decision.source, RL_SOURCE_EXACT);
}

TEST(ClusterEngine, LimitsThatShareNothingAreRefusedWithAWayOut) {
  const std::string rules = Rules(R"("user")", R"("ip")");
  Made refused;
  Make(refused, rules);
  EXPECT_EQ(refused.status, RL_E_CONFIG);
  EXPECT_EQ(refused.registry, nullptr);
  for (const char* part : {"rule \"r\"", "\"a\" (user)", "\"b\" (ip)", "slot=rule"})
    EXPECT_NE(refused.message.find(part), std::string::npos) << refused.message;
  EXPECT_EQ(refused.line, 3u);

  Made made;
  Make(made, rules, "&slot=rule");
  ASSERT_EQ(made.status, RL_OK) << made.message;
  for (const char* user : {"alice", "bob", "carol"}) {
    rl_request request = RL_REQUEST_INIT;
    request.user = Borrow(user);
    request.ip = Borrow("192.0.2.1");
    rl_decision decision = RL_DECISION_INIT;
    ASSERT_EQ(rl_allow(made.registry, &request, &decision, nullptr), RL_OK);
    EXPECT_EQ(decision.source, RL_SOURCE_EXACT);
    EXPECT_EQ(decision.remaining, 4u);
  }
}

TEST(ClusterEngine, AReloadIsHeldToTheSame) {
  Made made;
  Make(made, Rules(R"("user")", R"("user")"));
  ASSERT_EQ(made.status, RL_OK) << made.message;
  rl_config* config = Load(Rules(R"("user")", R"("global")"));
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(rl_registry_reload(made.registry, config, &error), RL_E_CONFIG);
  EXPECT_NE(std::string(error.message).find("slot=rule"), std::string::npos) << error.message;
  rl_config_destroy(config);
  EXPECT_EQ(rl_registry_generation(made.registry), 1u);
  rl_metrics metrics{};
  metrics.struct_size = sizeof metrics;
  ASSERT_EQ(rl_metrics_get(made.registry, &metrics, nullptr), RL_OK);
  EXPECT_EQ(metrics.reload_failures, 1u);
  config = Load(Rules(R"("user")", R"(["user", "ip"])"));
  EXPECT_EQ(rl_registry_reload(made.registry, config, &error), RL_OK) << error.message;
  rl_config_destroy(config);
}

TEST(ClusterEngine, ManyUsersAreSpreadOverTheNodes) {
  RedisCluster& cluster = Cluster();
  Made made;
  Make(made, Rules(R"("user")", R"("user")"));
  ASSERT_EQ(made.status, RL_OK) << made.message;
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) names.push_back("user " + std::to_string(i));
  std::vector<rl_request> requests(names.size(), rl_request RL_REQUEST_INIT);
  for (size_t i = 0; i < names.size(); ++i) requests[i].user = Borrow(names[i]);
  std::vector<rl_decision> decisions(names.size(), rl_decision RL_DECISION_INIT);
  ASSERT_EQ(
      rl_allow_many(made.registry, requests.data(), static_cast<uint32_t>(requests.size()), decisions.data(), nullptr),
      RL_OK);
  for (const rl_decision& decision : decisions) EXPECT_EQ(decision.source, RL_SOURCE_EXACT);
  size_t states = 0;
  for (size_t i = 0; i < RedisCluster::kMasters; ++i) {
    const auto keys = cluster.node(i).Keys();
    const auto on_node =
        static_cast<size_t>(std::ranges::count_if(keys, [](const std::string& key) { return key.starts_with("rl{"); }));
    EXPECT_GE(on_node, 10u) << "of 120 states";
    states += on_node;
  }
  EXPECT_EQ(states, 120u);
}

}  // namespace
}  // namespace ratel::test
