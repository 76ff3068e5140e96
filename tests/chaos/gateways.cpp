#include "chaos/gateways.hpp"

#include <algorithm>
#include <stdexcept>

namespace ratel::test {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

bool Eventually(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 6000; ++attempt) {
    if (holds()) return true;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return false;
}

std::string RulesOf(uint64_t limit, int instances, std::string_view on_store_error, std::string_view tier) {
  return R"({"version":1,"instances":)" + std::to_string(instances) +
         R"(,"rules":[{"name":"r","scope":"user","algorithm":"token_bucket","limit":)" + std::to_string(limit) +
         R"(,"window":"1d","on_store_error":")" + std::string(on_store_error) + R"(","local_tier":")" +
         std::string(tier) + R"("}]})";
}

rl_registry* RegistryOf(const std::string& rules, const std::string& url) {
  rl_config* config = nullptr;
  rl_registry* registry = nullptr;
  rl_error error = RL_ERROR_INIT;
  const bool made = rl_config_create(&config, &error) == RL_OK &&
                    rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error) == RL_OK &&
                    rl_config_set_secret(config, Borrow("a secret of the tests"), &error) == RL_OK &&
                    rl_config_use_redis(config, Borrow(url), &error) == RL_OK &&
                    rl_registry_create(config, &registry, &error) == RL_OK;
  rl_config_destroy(config);
  if (!made) throw std::runtime_error(error.message);
  return registry;
}

void Answers::Add(const Answers& other) {
  allowed += other.allowed;
  denied += other.denied;
  for (size_t i = 0; i < by_source.size(); ++i) by_source[i] += other.by_source[i];
  longest = std::max(longest, other.longest);
}

std::string Answers::ToText() const {
  constexpr std::array<const char*, 8> kNames = {"exact", "leased", "cached denial", "local",
                                                 "open",  "closed", "no rule",       "action"};
  std::string text;
  for (size_t i = 0; i < by_source.size(); ++i) {
    if (by_source[i] == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(kNames[i]) + " " + std::to_string(by_source[i]);
  }
  return text.empty() ? "nothing" : text;
}

Gateway::Gateway(const std::string& rules, const std::string& url) : registry_(RegistryOf(rules, url)) {
  thread_ = std::thread([this] { Run(); });
}

Gateway::~Gateway() {
  Stop();
  rl_registry_destroy(registry_);
}

void Gateway::Enter(Phase phase) {
  phase_ = phase;
  exact_in_phase_ = false;
  inexact_in_phase_ = false;
  denied_in_phase_ = false;
}

void Gateway::Stop() {
  over_ = true;
  if (thread_.joinable()) thread_.join();
}

void Gateway::Run() {
  rl_request request = RL_REQUEST_INIT;
  request.user = Borrow("alice");
  while (!over_) {
    const Phase phase = phase_;
    if (const int64_t ahead = clock_ahead_ns_; ahead != 0) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      request.now_ns = static_cast<uint64_t>(std::chrono::nanoseconds(now).count() + ahead);
    }
    rl_decision decision = RL_DECISION_INIT;
    const auto asked = Clock::now();
    if (rl_allow(registry_, &request, &decision, nullptr) != RL_OK) std::abort();
    const auto took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - asked);
    Answers& answers = answers_[phase];
    answers.longest = std::max(answers.longest, took);
    ++answers.by_source[decision.source];
    ++(decision.allowed != 0 ? answers.allowed : answers.denied);
    allowed_ += decision.allowed;
    const bool exact = decision.source == RL_SOURCE_EXACT;
    // What was asked for before the phase began says nothing about it.
    if (phase == phase_) {
      (exact ? exact_in_phase_ : inexact_in_phase_) = true;
      if (exact && decision.allowed == 0) denied_in_phase_ = true;
    }
    std::this_thread::sleep_for(milliseconds(1));
  }
}

Gateways::Gateways(int count, const std::string& rules, const std::string& url) {
  for (int i = 0; i < count; ++i) gateways_.push_back(std::make_unique<Gateway>(rules, url));
}

void Gateways::Enter(Phase phase) {
  for (const auto& gateway : gateways_) gateway->Enter(phase);
}

void Gateways::Stop() {
  for (const auto& gateway : gateways_) gateway->Stop();
}

uint64_t Gateways::allowed() const {
  uint64_t sum = 0;
  for (const auto& gateway : gateways_) sum += gateway->allowed();
  return sum;
}

bool Gateways::AllExact() const {
  return std::ranges::all_of(gateways_, [](const auto& gateway) { return gateway->exact_in_phase(); });
}

bool Gateways::AnyInexact() const {
  return std::ranges::any_of(gateways_, [](const auto& gateway) { return gateway->inexact_in_phase(); });
}

bool Gateways::AllDenied() const {
  return std::ranges::all_of(gateways_, [](const auto& gateway) { return gateway->denied_in_phase(); });
}

Answers Gateways::answers(Phase phase) const {
  Answers sum;
  for (const auto& gateway : gateways_) sum.Add(gateway->answers(phase));
  return sum;
}

}  // namespace ratel::test
