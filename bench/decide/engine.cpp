#include "engine.hpp"

#include <cstdio>
#include <cstdlib>

namespace bench {
namespace {

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

rl_config* ConfigOf(const std::string& rules) {
  rl_config* config = nullptr;
  rl_error error = RL_ERROR_INIT;
  Check(rl_config_create(&config, &error), "config");
  if (rl_config_load_text(config, Borrow(rules), Borrow("bench"), &error) != RL_OK) Check(error.status, error.message);
  return config;
}

}  // namespace

void Check(rl_status status, std::string_view what) {
  if (status == RL_OK) return;
  std::fprintf(stderr, "%.*s: %s\n", static_cast<int>(what.size()), what.data(), rl_status_name(status));
  std::exit(1);
}

Engine::Engine(const std::string& rules) {
  rl_config* config = ConfigOf(rules);
  rl_error error = RL_ERROR_INIT;
  if (rl_registry_create(config, &registry_, &error) != RL_OK) Check(error.status, error.message);
  rl_config_destroy(config);
  Check(rl_rule_id(registry_, Borrow("api"), &rule_, nullptr), "rule");
}

Engine::~Engine() { rl_registry_destroy(registry_); }

void Engine::Reload(const std::string& rules) {
  rl_config* config = ConfigOf(rules);
  Check(rl_registry_reload(registry_, config, nullptr), "reload");
  rl_config_destroy(config);
}

uint64_t Engine::Keys() const {
  uint64_t keys = 0;
  Check(rl_registry_key_count(registry_, &keys, nullptr), "key count");
  return keys;
}

void Engine::EvictIdle() {
  uint64_t evicted = 0;
  Check(rl_registry_evict_idle(registry_, 1, &evicted, nullptr), "evict idle");
}

rl_metrics Engine::Metrics() const {
  rl_metrics metrics{};
  metrics.struct_size = sizeof metrics;
  Check(rl_metrics_get(registry_, &metrics, nullptr), "metrics");
  return metrics;
}

std::string OneRule(uint64_t max_keys, std::string_view algorithm, uint64_t limit, std::string_view window) {
  return "max_keys: " + std::to_string(max_keys) +
         "\nrules:\n  - {name: api, method: GET, path: /api/v1/items, scope: user, algorithm: " +
         std::string(algorithm) + ", limit: " + std::to_string(limit) + ", window: " + std::string(window) + "}\n";
}

AllowMany::AllowMany(Engine& engine, bool whole) : engine_(engine), whole_(whole) {
  for (rl_request& request : requests_) {
    request = whole ? AllowRequest::Blank() : rl_request RL_REQUEST_INIT;
    if (!whole) request.rule = engine.rule();
  }
  for (rl_decision& decision : decisions_) decision = RL_DECISION_INIT;
}

}  // namespace bench
