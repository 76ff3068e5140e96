// Field cases that need more than a timeline: a storage that fails and comes back, seen through the C ABI.
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "ratel/rl.h"

namespace {

constexpr uint64_t kStart = 1'700'006'400'000'000'000;

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

/// A map that can be switched off, and the log that is told about it. One thread.
class Outage {
 public:
  explicit Outage(std::string_view rules) {
    rl_config* config = nullptr;
    EXPECT_EQ(rl_config_create(&config, nullptr), RL_OK);
    rl_error error = RL_ERROR_INIT;
    EXPECT_EQ(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), RL_OK) << error.message;
    rl_storage storage{};
    storage.struct_size = sizeof storage;
    storage.self = this;
    storage.apply = Apply;
    EXPECT_EQ(rl_config_set_storage(config, &storage, nullptr), RL_OK);
    rl_log log{};
    log.struct_size = sizeof log;
    log.self = this;
    log.write = Write;
    EXPECT_EQ(rl_config_set_log(config, &log, nullptr), RL_OK);
    EXPECT_EQ(rl_registry_create(config, &registry_, &error), RL_OK) << error.message;
    rl_config_destroy(config);
  }
  ~Outage() { rl_registry_destroy(registry_); }
  Outage(const Outage&) = delete;
  Outage& operator=(const Outage&) = delete;

  rl_decision Ask(uint64_t at_ns = 0) {
    rl_request request = RL_REQUEST_INIT;
    request.now_ns = kStart + at_ns;
    request.user = Borrow("u");
    rl_decision decision = RL_DECISION_INIT;
    EXPECT_EQ(rl_allow(registry_, &request, &decision, nullptr), RL_OK);
    return decision;
  }
  rl_metrics Metrics() {
    rl_metrics metrics{};
    metrics.struct_size = sizeof metrics;
    EXPECT_EQ(rl_metrics_get(registry_, &metrics, nullptr), RL_OK);
    return metrics;
  }

  bool down = false;
  std::vector<std::string> told;

 private:
  static rl_status Apply(void* self, rl_op* op, rl_cell* cells, uint32_t count) {
    auto& outage = *static_cast<Outage*>(self);
    if (outage.down) return RL_E_STORE;
    for (uint32_t i = 0; i < count; ++i) {
      std::string& held = outage.held_[std::string(cells[i].key.data, cells[i].key.size)];
      cells[i].state = held.empty() ? nullptr : held.data();
      cells[i].state_size = held.size();
    }
    const rl_status status = rl_step(op, cells, count);
    for (uint32_t i = 0; status == RL_OK && i < count; ++i) {
      if (cells[i].write == 0) continue;
      std::string& held = outage.held_[std::string(cells[i].key.data, cells[i].key.size)];
      held.assign(static_cast<const char*>(cells[i].new_state), cells[i].new_size);
    }
    return status;
  }
  static void Write(void* self, int32_t, const char* text, uint64_t size) {
    static_cast<Outage*>(self)->told.emplace_back(text, size);
  }

  rl_registry* registry_ = nullptr;
  std::map<std::string, std::string> held_;
};

// B183: an error of the store is never an allowance that nobody hears of.
TEST(FieldCases, B183AFailureIsCountedAndLogged) {
  for (const auto& [policy, allowed] : {std::pair{"open", 1}, std::pair{"closed", 0}}) {
    Outage outage(
        std::string(R"({"version":1,"rules":[{"name":"r","scope":"user","limit":5,"window":"1s","on_store_error":")") +
        policy + R"("}]})");
    outage.down = true;
    const rl_decision decision = outage.Ask();
    EXPECT_EQ(decision.allowed, allowed);
    EXPECT_EQ(decision.source, allowed ? RL_SOURCE_FAIL_OPEN : RL_SOURCE_FAIL_CLOSED);
    EXPECT_EQ(outage.Metrics().store_errors, 1u);
    EXPECT_EQ(outage.Metrics().fail_open, allowed ? 1u : 0u);
    EXPECT_EQ(outage.Metrics().fail_closed, allowed ? 0u : 1u);
    EXPECT_EQ(outage.told.size(), 1u);
  }
}

// B186: N processes on local limits let through what one budget holds, and the store's own state counts again afterwards, with what was let through.
TEST(FieldCases, B186EachInstanceTakesItsShareAndRecovers) {
  constexpr uint64_t kLimit = 8;
  constexpr uint64_t kInstances = 4;
  Outage outage(R"({"version":1,"instances":4,"rules":[{"name":"r","scope":"user","algorithm":"fixed_window",)"
                R"("limit":8,"window":"1h"}]})");
  EXPECT_EQ(outage.Ask().remaining, kLimit - 1);
  outage.down = true;
  uint64_t local = 0;
  for (int n = 0; n < 20; ++n) {
    const rl_decision decision = outage.Ask();
    EXPECT_EQ(decision.source, RL_SOURCE_LOCAL_FALLBACK);
    local += decision.allowed;
  }
  EXPECT_EQ(local, kLimit / kInstances - 1) << "one of the share was spent before";
  outage.down = false;
  const rl_decision again = outage.Ask();
  EXPECT_EQ(again.source, RL_SOURCE_EXACT);
  EXPECT_EQ(again.allowed, 1);
  EXPECT_EQ(again.remaining, kLimit - 2);
  EXPECT_EQ(outage.Ask().remaining, kLimit - 3 - local) << "the store has been told";
  EXPECT_EQ(outage.Metrics().reported_back, local);
  EXPECT_EQ(outage.Metrics().local_fallback, 20u);
}

// B234: allowed + denied is every request, whichever way it was answered.
TEST(FieldCases, B234EveryPathIsCountedOnce) {
  Outage outage(R"({"version":1,"rules":[{"name":"r","limits":[)"
                R"({"name":"real","scope":"user","limit":2,"window":"1h"},)"
                R"({"name":"trial","scope":"user","limit":1,"window":"1h","shadow":true}]}]})");
  for (int n = 0; n < 4; ++n) outage.Ask();
  outage.down = true;
  for (int n = 0; n < 4; ++n) outage.Ask();
  const rl_metrics metrics = outage.Metrics();
  EXPECT_EQ(metrics.requests, 8u);
  EXPECT_EQ(metrics.allowed + metrics.denied, metrics.requests);
  EXPECT_EQ(metrics.local_fallback, 4u);
  EXPECT_GE(metrics.shadow_denied, 3u);
}

}  // namespace
