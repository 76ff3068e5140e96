// A registry of Ratel and the ways to ask it.
#pragma once

#include <ratel/rl.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "question.hpp"

namespace bench {

/// Ends the program when a call has failed.
void Check(rl_status status, std::string_view what);

class Engine {
 public:
  /// Rules as YAML; the rule that is asked about is called "api".
  explicit Engine(const std::string& rules);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  void Reload(const std::string& rules);
  rl_registry* registry() const noexcept { return registry_; }
  uint32_t rule() const noexcept { return rule_; }
  uint64_t Keys() const;
  /// As a service does from time to time: drops nothing here, and has full parts of the table put into huge pages.
  void EvictIdle();
  rl_metrics Metrics() const;

 private:
  rl_registry* registry_ = nullptr;
  uint32_t rule_ = 0;
};

/// "max_keys: ... rules: ..." with one rule "api" that a user's requests to /api/v1/items are under.
std::string OneRule(uint64_t max_keys, std::string_view algorithm, uint64_t limit, std::string_view window);

struct AllowRule {
  Engine& engine;
  Answer Allow(const Question& question) noexcept {
    rl_decision decision = RL_DECISION_INIT;
    rl_allow_rule(engine.registry(), engine.rule(), question.key.data(), question.key.size(), 1, question.now_us * 1000,
                  &decision);
    return {decision.allowed != 0, decision.remaining};
  }
};

/// A whole request: found by method and path, keyed by its user.
struct AllowRequest {
  Engine& engine;
  rl_request request = Blank();

  static rl_request Blank() noexcept {
    rl_request request = RL_REQUEST_INIT;
    request.method = {"GET", 3};
    request.path = {"/api/v1/items/4711", 18};
    return request;
  }
  Answer Allow(const Question& question) noexcept {
    rl_request asked = request;
    asked.now_ns = question.now_us * 1000;
    asked.user = {question.key.data(), question.key.size()};
    rl_decision decision = RL_DECISION_INIT;
    rl_allow(engine.registry(), &asked, &decision, nullptr);
    return {decision.allowed != 0, decision.remaining};
  }
};

/// 32 in one call. The requests are kept, as a caller would: only keys and instants are new.
class AllowMany {
 public:
  /// `whole`: found by method and path; else the rule is given.
  AllowMany(Engine& engine, bool whole);
  uint32_t Many(const std::array<Question, kBatch>& questions) noexcept {
    for (uint32_t i = 0; i < kBatch; ++i) {
      requests_[i].now_ns = questions[i].now_us * 1000;
      (whole_ ? requests_[i].user : requests_[i].key) = {questions[i].key.data(), questions[i].key.size()};
    }
    rl_allow_many(engine_.registry(), requests_.data(), kBatch, decisions_.data(), nullptr);
    uint32_t allowed = 0;
    for (const rl_decision& decision : decisions_) allowed += decision.allowed;
    return allowed;
  }

 private:
  Engine& engine_;
  bool whole_;
  std::array<rl_request, kBatch> requests_;
  std::array<rl_decision, kBatch> decisions_;
};

}  // namespace bench
