// One decision through the C ABI, next to what one would write instead: 64 mutexes over unordered_map<string> with the same token bucket.
//
// Both see the same keys in the same order at the same instants, and both compute the same answer (checked before the clock runs). `now` is an
// argument for both. Bytes per key are what the resident set grew by while the keys were filled in.
#include <benchmark/benchmark.h>
#include <ratel/rl.h>

#include <cstdio>
#include <cstdlib>
#include <numeric>

#include "workload.hpp"

namespace {

using namespace bench;

constexpr uint64_t kStartUs = 1'700'000'000'000'000;
constexpr uint64_t kLimit = 100;
constexpr uint64_t kWindowUs = 60'000'000;
constexpr size_t kOrder = size_t{1} << 20;
constexpr char kRules[] =
    "max_keys: 16000000\n"
    "rules:\n"
    "  - {name: api, method: GET, path: /api/v1/items, scope: user, algorithm: token_bucket, limit: 100, window: 1m}\n";

void Check(rl_status status, const char* what) {
  if (status == RL_OK) return;
  std::fprintf(stderr, "%s: %s\n", what, rl_status_name(status));
  std::abort();
}

class Engine {
 public:
  Engine() {
    rl_config* config = nullptr;
    Check(rl_config_create(&config, nullptr), "config");
    Check(rl_config_load_text(config, {kRules, sizeof kRules - 1}, {"bench", 5}, nullptr), "rules");
    Check(rl_registry_create(config, &registry_, nullptr), "registry");
    rl_config_destroy(config);
    Check(rl_rule_id(registry_, {"api", 3}, &rule_, nullptr), "rule");
  }
  ~Engine() { rl_registry_destroy(registry_); }

  bool AllowRule(std::string_view key, uint64_t now_us, rl_decision* decision) {
    rl_allow_rule(registry_, rule_, key.data(), key.size(), 1, now_us * 1000, decision);
    return decision->allowed != 0;
  }
  bool Allow(std::string_view key, uint64_t now_us, rl_decision* decision) {
    rl_request request = RL_REQUEST_INIT;
    request.now_ns = now_us * 1000;
    request.method = {"GET", 3};
    request.path = {"/api/v1/items/4711", 18};
    request.user = {key.data(), key.size()};
    rl_allow(registry_, &request, decision, nullptr);
    return decision->allowed != 0;
  }
  rl_registry* registry() const { return registry_; }
  uint32_t rule() const { return rule_; }

 private:
  rl_registry* registry_ = nullptr;
  uint32_t rule_ = 0;
};

struct RatelAllowRule {
  Engine engine;
  bool operator()(std::string_view key, uint64_t now_us, uint64_t* remaining) {
    rl_decision decision = RL_DECISION_INIT;
    const bool allowed = engine.AllowRule(key, now_us, &decision);
    *remaining = decision.remaining;
    return allowed;
  }
};

struct RatelAllow {
  Engine engine;
  bool operator()(std::string_view key, uint64_t now_us, uint64_t* remaining) {
    rl_decision decision = RL_DECISION_INIT;
    const bool allowed = engine.Allow(key, now_us, &decision);
    *remaining = decision.remaining;
    return allowed;
  }
};

struct StripedMutexMap {
  StripedMap map{kLimit, kWindowUs};
  bool operator()(std::string_view key, uint64_t now_us, uint64_t* remaining) {
    return map.Allow(key, 1, now_us, remaining);
  }
};

enum Distribution : int64_t { kUniform, kZipf };

/// The order of keys is drawn once per shape and thread.
const std::vector<uint32_t>& OrderOf(uint64_t keys, int64_t distribution, int thread) {
  static std::mutex mutex;
  static std::unordered_map<std::string, std::vector<uint32_t>> orders;
  const std::lock_guard lock(mutex);
  auto& order = orders[std::to_string(keys) + "/" + std::to_string(distribution) + "/" + std::to_string(thread)];
  if (order.empty()) {
    const auto seed = static_cast<uint64_t>(thread) + 1;
    order = distribution == kUniform ? Uniform(keys, kOrder, seed) : Zipf(keys, kOrder, seed);
  }
  return order;
}

/// One subject at a time is alive; it is filled with every key before it is measured.
template <class Subject>
struct Shared {
  std::unique_ptr<Subject> subject;
  uint64_t keys = 0;
  double bytes_per_key = 0;

  void Fill(uint64_t wanted) {
    if (subject != nullptr && keys == wanted) return;
    subject.reset();
    const uint64_t before = ResidentBytes();
    subject = std::make_unique<Subject>();
    KeyMaker key;
    uint64_t remaining = 0;
    for (uint64_t i = 0; i < wanted; ++i) (*subject)(key(i), kStartUs, &remaining);
    keys = wanted;
    bytes_per_key = static_cast<double>(ResidentBytes() - before) / static_cast<double>(wanted);
  }
};

template <class Subject>
Shared<Subject>& SharedOf() {
  static Shared<Subject> shared;
  return shared;
}

template <class Subject>
void Decide(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  Shared<Subject>& shared = SharedOf<Subject>();
  const std::vector<uint32_t>& order = OrderOf(keys, state.range(1), state.thread_index());
  KeyMaker key;
  size_t i = 0;
  uint64_t remaining = 0;
  // Time goes on so that buckets refill as fast as they are spent from: the path of an allowed request.
  uint64_t now_us = kStartUs + kWindowUs;
  uint64_t allowed = 0;
  for (auto _ : state) {
    allowed += (*shared.subject)(key(order[i++ & (kOrder - 1)]), now_us, &remaining);
    now_us += 2;
    benchmark::DoNotOptimize(remaining);
  }
  state.counters["allowed"] = benchmark::Counter(static_cast<double>(allowed) / static_cast<double>(state.iterations()),
                                                 benchmark::Counter::kAvgThreads);
  if (state.thread_index() == 0) state.counters["bytes_per_key"] = shared.bytes_per_key;
}

/// Frees what other subjects hold, then fills this one.
template <class Subject>
void Setup(const benchmark::State& state) {
  if constexpr (!std::is_same_v<Subject, RatelAllow>) SharedOf<RatelAllow>() = {};
  if constexpr (!std::is_same_v<Subject, RatelAllowRule>) SharedOf<RatelAllowRule>() = {};
  if constexpr (!std::is_same_v<Subject, StripedMutexMap>) SharedOf<StripedMutexMap>() = {};
  SharedOf<Subject>().Fill(static_cast<uint64_t>(state.range(0)));
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  for (const int64_t keys : {1'000, 1'000'000, 10'000'000}) {
    for (const int64_t distribution : {kUniform, kZipf}) benchmark->Args({keys, distribution});
  }
  benchmark->ArgNames({"keys", "zipf"})->UseRealTime()->MinTime(0.5);
  benchmark->ThreadRange(1, 2);
}

BENCHMARK(Decide<RatelAllowRule>)->Apply(Shapes)->Setup(Setup<RatelAllowRule>)->Name("rl_allow_rule");
BENCHMARK(Decide<RatelAllow>)->Apply(Shapes)->Setup(Setup<RatelAllow>)->Name("rl_allow");
BENCHMARK(Decide<StripedMutexMap>)->Apply(Shapes)->Setup(Setup<StripedMutexMap>)->Name("striped_mutex_unordered_map");

/// 32 decisions in one call.
void Many(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  Setup<RatelAllow>(state);
  rl_registry* registry = SharedOf<RatelAllow>().subject->engine.registry();
  const std::vector<uint32_t>& order = OrderOf(keys, state.range(1), 0);
  constexpr uint32_t kBatch = 32;
  std::array<KeyMaker, kBatch> makers;
  std::array<rl_request, kBatch> requests;
  std::array<rl_decision, kBatch> decisions;
  size_t i = 0;
  uint64_t now_us = kStartUs + kWindowUs;
  for (auto _ : state) {
    for (uint32_t k = 0; k < kBatch; ++k) {
      const std::string_view key = makers[k](order[i++ & (kOrder - 1)]);
      requests[k] = RL_REQUEST_INIT;
      requests[k].rule = SharedOf<RatelAllow>().subject->engine.rule();
      requests[k].key = {key.data(), key.size()};
      requests[k].now_ns = now_us * 1000;
      decisions[k].struct_size = sizeof(rl_decision);
    }
    now_us += 64;
    rl_allow_many(registry, requests.data(), kBatch, decisions.data(), nullptr);
    benchmark::DoNotOptimize(decisions.data());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kBatch);
  state.counters["ns_per_decision"] = benchmark::Counter(static_cast<double>(state.iterations()) * kBatch,
                                                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(Many)
    ->ArgNames({"keys", "zipf"})
    ->Args({1'000, kUniform})
    ->Args({1'000'000, kUniform})
    ->Args({10'000'000, kUniform})
    ->UseRealTime()
    ->MinTime(0.5)
    ->Name("rl_allow_many_32_by_rule");

/// The same answers from both, over a trace with denials.
void CheckAnswers() {
  RatelAllowRule ratel;
  StripedMutexMap map;
  KeyMaker key;
  std::mt19937_64 random(7);
  uint64_t now_us = kStartUs;
  for (int i = 0; i < 200'000; ++i) {
    now_us += random() % 40'000;
    const uint64_t n = random() % 7;
    uint64_t a = 0;
    uint64_t b = 0;
    const bool allowed_a = ratel(key(n), now_us, &a);
    const bool allowed_b = map(key(n), now_us, &b);
    if (allowed_a == allowed_b && a == b) continue;
    std::fprintf(stderr, "step %d: ratel %d %llu, map %d %llu\n", i, allowed_a, static_cast<unsigned long long>(a),
                 allowed_b, static_cast<unsigned long long>(b));
    std::abort();
  }
}

}  // namespace

int main(int argc, char** argv) {
  CheckAnswers();
  benchmark::AddCustomContext("ratel", rl_version_string());
  benchmark::AddCustomContext("compiler", __VERSION__);
  benchmark::AddCustomContext("answers", "checked equal over 200,000 steps");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
