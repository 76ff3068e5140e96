// Prints what the report layer writes for seeded random decisions, next to the numbers that went in: a JSON line each.
//   emit fields COUNT SEED    emit metrics COUNT SEED
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "report/header_text.hpp"
#include "report/metrics.hpp"

namespace {

using nlohmann::json;
using Engine = std::mt19937_64;

/// Numbers of every size: a random count of bits, then random bits.
uint64_t AnySize(Engine& random, unsigned max_bits) {
  const auto bits = static_cast<unsigned>(random() % (max_bits + 1));
  return bits == 0 ? 0 : random() >> (64 - bits);
}

std::string AnyName(Engine& random) {
  std::string name;
  for (size_t length = 1 + random() % 20; length > 0; --length) {
    char c = static_cast<char>(' ' + random() % 95);
    if (c == '"' || c == '\\') c = '_';
    name.push_back(c);
  }
  return name;
}

ratel::Decision AnyDecision(Engine& random) {
  ratel::Decision decision;
  decision.allowed = random() % 2 == 0;
  decision.limit_id = 1;
  decision.limit_count = 1;
  decision.limit = std::max<uint64_t>(1, AnySize(random, 53));
  decision.capacity = random() % 2 == 0 ? decision.limit : std::max<uint64_t>(1, AnySize(random, 53));
  decision.remaining = random() % (decision.capacity + 1);
  decision.window_ns = std::max<uint64_t>(1, AnySize(random, 48)) * 1000;
  decision.now_ns = AnySize(random, 62);
  decision.reset_after_ns = AnySize(random, 50) * 1000;
  if (!decision.allowed) {
    decision.reason = random() % 4 == 0 ? ratel::Reason::kNeverFits : ratel::Reason::kLimited;
    const bool never = decision.reason == ratel::Reason::kNeverFits;
    decision.retry_after_ns = never ? ratel::kNever : std::max<uint64_t>(1, AnySize(random, 50)) * 1000;
  }
  return decision;
}

struct Form {
  const char* name;
  uint32_t bits;
};

constexpr Form kForms[] = {
    {"x", ratel::kHeadersX | ratel::kHeadersRetryAfter},
    {"x_delta", ratel::kHeadersX | ratel::kHeadersResetDelta | ratel::kHeadersRetryAfter},
    {"draft_6", ratel::kHeadersDraft6 | ratel::kHeadersRetryAfter},
    {"draft_7", ratel::kHeadersDraft7 | ratel::kHeadersRetryAfter},
    {"draft_8", ratel::kHeadersDraft8 | ratel::kHeadersRetryAfter},
    {"draft_11", ratel::kHeadersDraft11 | ratel::kHeadersRetryAfter},
};

void EmitFields(uint64_t count, Engine& random) {
  for (uint64_t i = 0; i < count; ++i) {
    const Form& form = kForms[i % std::size(kForms)];
    const ratel::Decision d = AnyDecision(random);
    const std::string name = AnyName(random);
    const json line = {{"form", form.name},
                       {"name", name},
                       {"allowed", d.allowed},
                       {"cured", d.reason == ratel::Reason::kLimited},
                       {"limit", d.limit},
                       {"capacity", d.capacity},
                       {"remaining", d.remaining},
                       {"window_ns", d.window_ns},
                       {"now_ns", d.now_ns},
                       {"retry_after_ns", d.retry_after_ns},
                       {"reset_after_ns", d.reset_after_ns},
                       {"headers", ratel::HeaderText(d, name, form.bits)}};
    std::cout << line.dump() << '\n';
  }
}

std::string AnyLabel(Engine& random) {
  constexpr char kOdd[] = "a\\\"\n{}=, #";
  std::string label;
  for (size_t length = 1 + random() % 12; length > 0; --length) label.push_back(kOdd[random() % (sizeof kOdd - 1)]);
  return label;
}

void EmitMetrics(uint64_t count, Engine& random) {
  for (uint64_t i = 0; i < count; ++i) {
    ratel::MetricsSnapshot s;
    s.requests = AnySize(random, 52);
    s.denied = AnySize(random, 52);
    s.keys = AnySize(random, 52);
    json rules = json::array();
    for (uint64_t r = random() % 5; r > 0; --r) {
      ratel::MetricsSnapshot::PerRule rule;
      rule.rule = std::to_string(r) + AnyLabel(random);
      rule.allowed = AnySize(random, 52);
      rule.cost_allowed = AnySize(random, 52);
      rules.push_back({{"rule", rule.rule}, {"allowed", rule.allowed}, {"cost_allowed", rule.cost_allowed}});
      s.rules.push_back(rule);
    }
    const json line = {{"requests", s.requests},
                       {"denied", s.denied},
                       {"keys", s.keys},
                       {"rules", rules},
                       {"text", ratel::ToPrometheus(s)}};
    std::cout << line.dump() << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const std::string what = argv[1];
  const uint64_t count = std::strtoull(argv[2], nullptr, 10);
  Engine random(std::strtoull(argv[3], nullptr, 10));
  if (what == "fields") {
    EmitFields(count, random);
  } else if (what == "metrics") {
    EmitMetrics(count, random);
  } else {
    return 2;
  }
  return 0;
}
