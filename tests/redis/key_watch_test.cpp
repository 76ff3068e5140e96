// Rules from a key of a Redis, through the C ABI: read at once, watched, refused, missing, and the server that is not there.
#include <mutex>

#include "ratel/rl.h"
#include "redis/support.hpp"
#include "storage/redis/key_client.hpp"

namespace ratel::test {
namespace {

constexpr const char* kFive = "rules: [{name: orders, path: /orders, scope: user, limit: 5, window: 1h}]";
constexpr const char* kSeven = "rules: [{name: orders, path: /orders, scope: user, limit: 7, window: 1h}]";

rl_str Str(std::string_view text) { return {text.data(), text.size()}; }

/// A registry with a log that is remembered.
class Gateway {
 public:
  Gateway() {
    rl_config* config = nullptr;
    EXPECT_EQ(rl_config_create(&config, nullptr), RL_OK);
    EXPECT_EQ(rl_config_load_text(config, Str(kFive), Str("start"), nullptr), RL_OK);
    const rl_log log = {sizeof log, 0, this, Hear, nullptr};
    EXPECT_EQ(rl_config_set_log(config, &log, nullptr), RL_OK);
    EXPECT_EQ(rl_registry_create(config, &registry_, nullptr), RL_OK);
    rl_config_destroy(config);
  }
  ~Gateway() { rl_registry_destroy(registry_); }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  rl_status Watch(std::string_view url, std::string_view key, rl_error* error = nullptr) {
    return rl_registry_watch_redis(registry_, Str(url), Str(key), 100, error);
  }
  rl_registry* raw() { return registry_; }
  uint64_t Limit() {
    rl_request request = RL_REQUEST_INIT;
    rl_decision decision = RL_DECISION_INIT;
    request.path = Str("/orders");
    EXPECT_EQ(rl_peek(registry_, &request, &decision, nullptr), RL_OK);
    return decision.limit;
  }
  uint64_t Refused() {
    rl_metrics metrics = {};
    metrics.struct_size = sizeof metrics;
    EXPECT_EQ(rl_metrics_get(registry_, &metrics, nullptr), RL_OK);
    return metrics.reload_failures;
  }
  size_t Mentions(std::string_view part) {
    const std::lock_guard lock(mutex_);
    size_t count = 0;
    for (const std::string& line : lines_) count += line.find(part) != std::string::npos ? 1 : 0;
    return count;
  }

 private:
  static void Hear(void* self, int32_t, const char* text, uint64_t size) {
    auto& gateway = *static_cast<Gateway*>(self);
    const std::lock_guard lock(gateway.mutex_);
    gateway.lines_.emplace_back(text, size);
  }

  rl_registry* registry_ = nullptr;
  std::mutex mutex_;
  std::vector<std::string> lines_;
};

TEST(KeyWatch, ReadsAtOnceAndSwapsWhatIsPutThere) {
  RedisServer server;
  server.Do({"SET", "rules", kSeven});
  Gateway gateway;
  ASSERT_EQ(gateway.Watch(server.url(), "rules"), RL_OK);
  EXPECT_EQ(gateway.Limit(), 7u);
  server.Do({"SET", "rules", kFive});
  EXPECT_TRUE(Eventually([&] { return gateway.Limit() == 5; }));
  EXPECT_EQ(gateway.Mentions("rules reloaded from redis://127.0.0.1:" + std::to_string(server.port()) + "/0#rules"),
            2u);
}

TEST(KeyWatch, ABadVersionKeepsTheOldOneAndIsToldOnce) {
  RedisServer server;
  server.Do({"SET", "rules", kSeven});
  Gateway gateway;
  ASSERT_EQ(gateway.Watch(server.unix_url("db=0"), "rules"), RL_OK);
  server.Do({"SET", "rules", "rules:\n  - {name: orders, path: orders, scope: user, limit: 5, window: 1h}\n"});
  ASSERT_TRUE(Eventually([&] { return gateway.Refused() == 1; }));
  EXPECT_EQ(gateway.Limit(), 7u);
  EXPECT_EQ(gateway.Mentions("#rules:2:"), 1u) << "line and column";
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_EQ(gateway.Refused(), 1u);
  server.Do({"SET", "rules", kFive});
  EXPECT_TRUE(Eventually([&] { return gateway.Limit() == 5; }));
}

TEST(KeyWatch, RulesAtFaultAtTheStartAreAnError) {
  RedisServer server;
  server.Do({"SET", "rules", "rules: [{name: orders, path: /orders, scope: user, limit: 0, window: 1h}]"});
  Gateway gateway;
  rl_error error = RL_ERROR_INIT;
  EXPECT_EQ(gateway.Watch(server.url(), "rules", &error), RL_E_CONFIG);
  EXPECT_EQ(error.line, 1u);
  server.Do({"SET", "rules", kSeven});
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_EQ(gateway.Limit(), 5u) << "nothing is watched";
}

TEST(KeyWatch, AKeyThatIsNotThereAndOneThatGoes) {
  RedisServer server;
  Gateway gateway;
  ASSERT_EQ(gateway.Watch(server.url(), "later"), RL_OK);
  EXPECT_EQ(gateway.Mentions("there is no such key"), 1u);
  EXPECT_EQ(gateway.Limit(), 5u);
  server.Do({"SET", "later", kSeven});
  EXPECT_TRUE(Eventually([&] { return gateway.Limit() == 7; }));
  server.Do({"DEL", "later"});
  EXPECT_TRUE(Eventually([&] { return gateway.Mentions("there is no such key") == 2; }));
  EXPECT_EQ(gateway.Limit(), 7u);
  EXPECT_EQ(gateway.Refused(), 0u);
}

TEST(KeyWatch, StartsWithTheServerDownAndFindsItLater) {
  RedisServer server({}, false);
  Gateway gateway;
  ASSERT_EQ(gateway.Watch(server.url("deadline_ms=50"), "rules"), RL_OK);
  EXPECT_EQ(gateway.Mentions("Connection refused"), 1u);
  EXPECT_EQ(gateway.Limit(), 5u);
  server.Start();
  server.Do({"SET", "rules", kSeven});
  EXPECT_TRUE(Eventually([&] { return gateway.Limit() == 7; }));
}

TEST(KeyWatch, OneWatchAtATime) {
  RedisServer server;
  server.Do({"SET", "one", kSeven});
  server.Do({"SET", "two", kFive});
  Gateway gateway;
  ASSERT_EQ(gateway.Watch(server.url(), "one"), RL_OK);
  ASSERT_EQ(gateway.Watch(server.url(), "two"), RL_OK);
  EXPECT_EQ(gateway.Limit(), 5u);
  server.Do({"APPEND", "one", " # changed"});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(gateway.Limit(), 5u);
  ASSERT_EQ(gateway.Watch("", ""), RL_OK);
  server.Do({"SET", "two", kSeven});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(gateway.Limit(), 5u) << "it has ended";
  ASSERT_EQ(gateway.Watch(server.url(), "two"), RL_OK);
  EXPECT_EQ(gateway.Limit(), 7u);
  ASSERT_EQ(rl_registry_watch(gateway.raw(), Str(""), 0, nullptr), RL_OK);
  server.Do({"SET", "two", kFive});
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  EXPECT_EQ(gateway.Limit(), 7u) << "an empty path ends it, too";
}

TEST(KeyWatch, WhatIsRefused) {
  Gateway gateway;
  EXPECT_EQ(gateway.Watch("nonsense", "rules"), RL_E_INVALID_ARGUMENT);
  EXPECT_EQ(rl_registry_watch_redis(gateway.raw(), Str("redis://h"), Str("k"), 99, nullptr), RL_E_INVALID_ARGUMENT);
}

TEST(KeyWatch, APasswordAndADatabase) {
  RedisServer server;
  server.Do({"CONFIG", "SET", "requirepass", "right"});
  server.password = "right";
  redis::Options options = *redis::ParseUrl("redis://:right@127.0.0.1:" + std::to_string(server.port()) + "/3");
  auto client = redis::KeyClient::Make(options);
  ASSERT_TRUE(client);
  EXPECT_FALSE((*client)->Set("rules", kSeven).has_value());
  const auto got = (*client)->Get("rules");
  ASSERT_TRUE(got);
  EXPECT_EQ(*got, kSeven);
  options.database = 0;
  EXPECT_EQ(*(*redis::KeyClient::Make(options))->Get("rules"), std::nullopt);
  options.password = "wrong";
  EXPECT_FALSE((*redis::KeyClient::Make(options))->Get("rules"));
}

}  // namespace
}  // namespace ratel::test
