// Bytes -> a rule set and requests, through the ABI: whatever comes in, a status comes out, and no refused question
// looks like an allowance.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "ratel/rl.h"

namespace {

/// Takes pieces off the input's front.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool empty() const { return size_ == 0; }
  uint64_t Number(size_t bytes) {
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; ++i) value = value << 8 | Byte();
    return value;
  }
  rl_str Piece(size_t most) {
    const size_t length = std::min<size_t>(Number(1) % (most + 1), size_);
    const rl_str piece{reinterpret_cast<const char*>(data_), length};
    Skip(length);
    return piece;
  }
  /// Up to a byte 0, which is taken too.
  rl_str Text() {
    size_t length = 0;
    while (length < size_ && data_[length] != 0) ++length;
    const rl_str text{reinterpret_cast<const char*>(data_), length};
    Skip(std::min(length + 1, size_));
    return text;
  }

 private:
  uint8_t Byte() {
    const uint8_t value = size_ == 0 ? uint8_t{0} : *data_;
    Skip(size_ == 0 ? 0 : 1);
    return value;
  }
  void Skip(size_t count) {
    data_ += count;
    size_ -= count;
  }
  const uint8_t* data_;
  size_t size_;
};

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckAnswer(rl_status status, const rl_decision& decision) {
  Require(decision.status == status && decision.allowed <= 1);
  if (status != RL_OK) Require(decision.allowed == 0 && decision.rule == 0);
  if (decision.allowed == 0 && status == RL_OK) Require(decision.reason != RL_REASON_NONE);
}

/// A storage that holds one state of rubbish under every key and keeps nothing.
rl_status ApplyRubbish(void* self, rl_op* op, rl_cell* cells, uint32_t count) {
  const rl_str* rubbish = static_cast<const rl_str*>(self);
  for (uint32_t i = 0; i < count; ++i) {
    cells[i].state = rubbish->data;
    cells[i].state_size = rubbish->size;
  }
  const rl_status status = rl_step(op, cells, count);
  for (uint32_t i = 0; i < count; ++i)
    Require(cells[i].write <= 1 && (cells[i].new_size == 0 || cells[i].new_state != nullptr));
  return status;
}

rl_request ReadRequest(Input& input, rl_attribute* attributes) {
  rl_request request = RL_REQUEST_INIT;
  const uint64_t choice = input.Number(1);
  request.flags = choice == 255 ? 1 : 0;
  request.now_ns = (choice & 1) != 0 ? input.Number(8) : uint64_t{1'700'000'000'000'000'000} + input.Number(4) * 1000;
  request.cost = (choice & 2) != 0 ? static_cast<int64_t>(input.Number(8)) : static_cast<int64_t>(input.Number(1));
  request.rule = (choice & 4) != 0 ? static_cast<uint32_t>(input.Number(1)) : 0;
  request.method = (choice & 8) != 0 ? input.Piece(8) : rl_str{"GET", 3};
  request.path = input.Piece(255);
  request.user = input.Piece(40);
  request.ip = input.Piece(50);
  if ((choice & 16) != 0) request.key = input.Piece(255);
  request.attribute_count = static_cast<uint32_t>(input.Number(1) % 3);
  for (uint32_t i = 0; i < request.attribute_count; ++i) attributes[i] = {input.Piece(10), input.Piece(10)};
  request.attributes = attributes;
  return request;
}

void AskEverything(rl_registry* registry, const rl_request& request, Input& input) {
  static char buffer[1 << 16];
  uint64_t needed = 0;
  rl_decision decision = RL_DECISION_INIT;
  rl_decision other = RL_DECISION_INIT;
  const rl_status status = rl_allow(registry, &request, &decision, nullptr);
  CheckAnswer(status, decision);
  CheckAnswer(rl_peek(registry, &request, &other, nullptr), other);
  Require(rl_allow_many(registry, &request, 1, &other, nullptr) == RL_OK);
  CheckAnswer(other.status, other);
  const auto actual = static_cast<int64_t>(input.Number(2));
  CheckAnswer(rl_settle(registry, &request, &decision, actual, &other, nullptr), other);
  const auto forms = static_cast<uint32_t>(input.Number(1));
  const rl_status told = rl_decision_headers(registry, &decision, forms, buffer, sizeof buffer, &needed, nullptr);
  Require(told == RL_OK || told == RL_E_INVALID_ARGUMENT);
  rl_decision_problem(registry, &decision, buffer, sizeof buffer, &needed, nullptr);
  const rl_status explained =
      rl_explain(registry, &request, static_cast<uint32_t>(actual & 1), buffer, sizeof buffer, &needed, nullptr);
  Require((explained == RL_OK || explained == RL_E_BUFFER_TOO_SMALL) == (status == RL_OK) || explained != RL_OK);
  rl_client_ip(registry, request.ip, &request.user, 1, &request.path, static_cast<uint32_t>(actual & 1), buffer,
               sizeof buffer, &needed, nullptr);
  rl_http http = RL_HTTP_INIT;
  http.header_flags = forms;
  http.peer = request.ip;
  http.forwarded = &request.path;
  http.forwarded_count = 1;
  const rl_status served =
      rl_allow_http(registry, &request, &http, &other, buffer, static_cast<uint64_t>(actual), &needed, nullptr);
  CheckAnswer(served, other);
  if (input.Number(1) % 8 == 0) rl_reset(registry, &request, nullptr);
}

void AskUntilEmpty(rl_registry* registry, Input input) {
  for (int i = 0; i < 64 && !input.empty(); ++i) {
    rl_attribute attributes[3];
    const rl_request request = ReadRequest(input, attributes);
    AskEverything(registry, request, input);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  const rl_str rules = input.Text();
  rl_str rubbish = input.Piece(255);
  rl_config* config = nullptr;
  rl_error err = RL_ERROR_INIT;
  Require(rl_config_create(&config, &err) == RL_OK);
  Require(rl_config_use_memory(config, 1000, &err) == RL_OK);
  const rl_status loaded = rl_config_load_text(config, rules, {"fuzz", 4}, &err);
  rl_registry* registry = nullptr;
  const rl_status created = rl_registry_create(config, &registry, &err);
  Require((created == RL_OK) == (registry != nullptr));
  if (loaded != RL_OK) {
    Require(created == RL_E_CONFIG && err.message[0] != '\0');
    rl_config_clear(config);
    static constexpr char kRules[] =
        "rules: [{name: a, path: '/{x}', limits: [{scope: user, algorithm: sliding_log, limit: 3, window: 1s},"
        " {scope: ip, algorithm: leaky_bucket, limit: 7, window: 3s, burst: 2}]},"
        " {name: b, scope: [user, 'attribute:t'], algorithm: sliding_counter, limit: 9, window: 1m}]";
    Require(rl_config_load_text(config, {kRules, sizeof kRules - 1}, {"own", 3}, &err) == RL_OK);
    Require(rl_registry_create(config, &registry, &err) == RL_OK);
  }
  if (registry != nullptr) {
    AskUntilEmpty(registry, input);
    rl_registry* hosted = nullptr;
    const rl_storage storage{sizeof storage, 0, &rubbish, ApplyRubbish, nullptr, nullptr, nullptr, nullptr, nullptr};
    Require(rl_config_set_storage(config, &storage, &err) == RL_OK);
    Require(rl_registry_create(config, &hosted, &err) == RL_OK);
    AskUntilEmpty(hosted, input);
    rl_registry_destroy(hosted);
  }
  rl_registry_destroy(registry);
  rl_config_destroy(config);
  return 0;
}
