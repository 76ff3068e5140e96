#include "gateway.hpp"

#include <array>
#include <charconv>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace simulation {
namespace {

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

void Check(rl_status status, const rl_error& error) {
  if (status != RL_OK) throw std::runtime_error(std::string(rl_status_name(status)) + ": " + error.message);
}

}  // namespace

Gateway::Gateway(World& world, const std::string& rules, Store* store, int64_t ahead) : world_(world), ahead_(ahead) {
  rl_error error = RL_ERROR_INIT;
  rl_config* config = nullptr;
  Check(rl_config_create(&config, &error), error);
  const std::unique_ptr<rl_config, void (*)(rl_config*)> owned(config, rl_config_destroy);
  Check(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), error);
  Check(rl_config_set_secret(config, Borrow("a secret of simulations"), &error), error);
  rl_clock clock{};
  clock.struct_size = sizeof clock;
  clock.self = this;
  clock.now_ns = [](void* self) { return static_cast<Gateway*>(self)->Now(); };
  Check(rl_config_set_clock(config, &clock, &error), error);
  if (store != nullptr) {
    const rl_storage storage = store->StorageOf();
    Check(rl_config_set_storage(config, &storage, &error), error);
  }
  Check(rl_registry_create(config, &registry_, &error), error);
  Check(rl_rule_id(registry_, Borrow("r"), &rule_, &error), error);
}

rl_decision Gateway::Ask(uint64_t client, Nanoseconds now) {
  std::array<char, 20> key;
  const char* end = std::to_chars(key.data(), key.data() + key.size(), client).ptr;
  rl_decision decision = RL_DECISION_INIT;
  if (rl_allow_rule(registry_, rule_, key.data(), static_cast<uint64_t>(end - key.data()), 1, now, &decision) != RL_OK)
    throw std::runtime_error("a decision failed");
  return decision;
}

}  // namespace simulation
