// Ratel on Redis through the C ABI: callers that wait (one, or IN_FLIGHT threads), rl_allow_many of 16 on threads,
// rl_allow_async and rl_allow_queued, the latter also with fewer decisions to a script call.
#include <ratel/rl.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "peer.hpp"

namespace bench {
namespace {

rl_str Borrow(const std::string& text) { return {text.data(), text.size()}; }

void Check(rl_status status, const rl_error& error) {
  if (status != RL_OK) throw std::runtime_error(std::string(rl_status_name(status)) + ": " + error.message);
}

/// A registry with one rule on the server. The extras are put at the ends of its rule and of its URL.
class Limiter {
 public:
  explicit Limiter(const Options& options, const std::string& extra_of_rule = "",
                   const std::string& extra_of_url = "") {
    rl_error error = RL_ERROR_INIT;
    rl_config* config = nullptr;
    Check(rl_config_create(&config, &error), error);
    const std::string rules =
        "version: 1\ndefault: {name: d, scope: user, algorithm: token_bucket, limit: " + std::to_string(options.limit) +
        ", window: 1d, on_store_error: closed" + extra_of_rule + "}\n";
    // A busy machine must not make failures: what is measured are answers.
    const std::string url = "redis://127.0.0.1:" + std::to_string(options.port) + "?deadline_ms=60000" + extra_of_url;
    Check(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), error);
    Check(rl_config_set_secret(config, Borrow("a secret for benchmarks"), &error), error);
    Check(rl_config_use_redis(config, Borrow(url), &error), error);
    Check(rl_registry_create(config, &registry_, &error), error);
    rl_config_destroy(config);
    Check(rl_rule_id(registry_, Borrow("d"), &rule_, &error), error);
    const std::string key = "warm";
    rl_decision decision = RL_DECISION_INIT;
    for (int attempt = 0; decision.source != RL_SOURCE_EXACT || !decision.allowed; ++attempt) {
      if (attempt == 100) throw std::runtime_error("no answer from Redis");
      rl_allow_rule(registry_, rule_, key.data(), key.size(), 1, 0, &decision);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  }
  ~Limiter() { rl_registry_destroy(registry_); }
  Limiter(const Limiter&) = delete;
  Limiter& operator=(const Limiter&) = delete;

  rl_request RequestOf(const std::string& key) const {
    rl_request request = RL_REQUEST_INIT;
    request.rule = rule_;
    request.key = Borrow(key);
    return request;
  }
  rl_registry* registry() const { return registry_; }
  uint32_t rule() const { return rule_; }

 private:
  rl_registry* registry_ = nullptr;
  uint32_t rule_ = 0;
};

bool Answered(const rl_decision& decision) {
  return decision.status == RL_OK && (decision.source == RL_SOURCE_EXACT || decision.source == RL_SOURCE_LEASED ||
                                      decision.source == RL_SOURCE_CACHED_DENIAL);
}

void Note(Seen& seen, const rl_decision& decision, Clock::time_point asked) {
  seen.failed += !Answered(decision);
  seen.Add(decision.allowed != 0, asked);
}

/// `run(seen, first, step)` on each of IN_FLIGHT threads.
template <typename Run>
Seen OnThreads(const Options& options, Run run) {
  std::vector<Seen> seen(options.in_flight);
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < options.in_flight; ++i) threads.emplace_back([&, i] { run(seen[i], i, options.in_flight); });
  for (std::thread& thread : threads) thread.join();
  Seen all;
  for (const Seen& one : seen) all.Add(one);
  return all;
}

void Blocking(const Options& options, const std::string& extra) {
  const Limiter limiter(options, extra);
  Measure([&] {
    return OnThreads(options, [&](Seen& seen, uint64_t first, uint64_t step) {
      for (uint64_t n = first; n < options.decisions; n += step) {
        const std::string key = KeyOf(options, n);
        rl_decision decision = RL_DECISION_INIT;
        const auto asked = Clock::now();
        rl_allow_rule(limiter.registry(), limiter.rule(), key.data(), key.size(), 1, 0, &decision);
        Note(seen, decision, asked);
      }
    });
  });
}

void Many(const Options& options) {
  constexpr uint64_t kBatch = 16;
  const Limiter limiter(options);
  Measure([&] {
    return OnThreads(options, [&](Seen& seen, uint64_t first, uint64_t step) {
      for (uint64_t n = first * kBatch; n < options.decisions; n += step * kBatch) {
        std::vector<std::string> keys;
        std::vector<rl_request> requests;
        for (uint64_t i = n; i < std::min(n + kBatch, options.decisions); ++i) keys.push_back(KeyOf(options, i));
        for (const std::string& key : keys) requests.push_back(limiter.RequestOf(key));
        std::vector<rl_decision> decisions(keys.size(), rl_decision RL_DECISION_INIT);
        const auto asked = Clock::now();
        rl_allow_many(limiter.registry(), requests.data(), static_cast<uint32_t>(requests.size()), decisions.data(),
                      nullptr);
        for (const rl_decision& decision : decisions) Note(seen, decision, asked);
      }
    });
  });
}

/// IN_FLIGHT questions at a time; each answer's callback asks the next one.
class Chain {
 public:
  Chain(const Options& options, const Limiter& limiter) : options_(options), limiter_(limiter) {
    seen_.nanoseconds.reserve(options.decisions);
    slots_.resize(std::min<uint64_t>(options.in_flight, options.decisions));
  }

  Seen Run() {
    for (Slot& slot : slots_) slot.chain = this;
    for (Slot& slot : slots_) Ask(slot);
    std::unique_lock lock(mutex_);
    over_.wait(lock, [&] { return idle_ == slots_.size(); });
    return seen_;
  }

 private:
  struct Slot {
    Chain* chain = nullptr;
    Clock::time_point asked;
  };

  void Ask(Slot& slot) {
    for (;;) {
      const uint64_t n = next_.fetch_add(1);
      if (n >= options_.decisions) {
        const std::lock_guard lock(mutex_);
        ++idle_;
        over_.notify_one();
        return;
      }
      const std::string key = KeyOf(options_, n);
      const rl_request request = limiter_.RequestOf(key);
      slot.asked = Clock::now();
      // A tier that answers by itself does so before the call returns: a loop, then, and no recursion.
      asking_ = &slot;
      answered_ = false;
      rl_allow_async(limiter_.registry(), &request, &Chain::Answer, &slot, nullptr);
      const bool at_once = answered_;
      asking_ = nullptr;
      if (!at_once) return;
    }
  }

  static void Answer(void* user, const rl_decision* decision) {
    Slot& slot = *static_cast<Slot*>(user);
    {
      const std::lock_guard lock(slot.chain->mutex_);
      Note(slot.chain->seen_, *decision, slot.asked);
    }
    if (asking_ == &slot)
      answered_ = true;
    else
      slot.chain->Ask(slot);
  }

  static thread_local Slot* asking_;
  static thread_local bool answered_;

  const Options& options_;
  const Limiter& limiter_;
  std::vector<Slot> slots_;
  std::atomic<uint64_t> next_{0};
  std::mutex mutex_;
  std::condition_variable over_;
  Seen seen_;
  size_t idle_ = 0;
};

thread_local Chain::Slot* Chain::asking_ = nullptr;
thread_local bool Chain::answered_ = false;

/// IN_FLIGHT questions at a time from one thread, answers collected in batches.
void Queued(const Options& options, const std::string& extra_of_rule, const std::string& extra_of_url = "") {
  const Limiter limiter(options, extra_of_rule, extra_of_url);
  rl_error error = RL_ERROR_INIT;
  rl_completion_queue* queue = nullptr;
  Check(rl_completion_queue_create(0, nullptr, nullptr, &queue, &error), error);
  Measure([&] {
    Seen seen;
    seen.nanoseconds.reserve(options.decisions);
    std::vector<Clock::time_point> asked(options.decisions);
    std::vector<uint64_t> tags(options.in_flight);
    std::vector<rl_decision> decisions(options.in_flight, rl_decision RL_DECISION_INIT);
    uint64_t next = 0;
    for (uint64_t answered = 0; answered < options.decisions;) {
      for (; next < options.decisions && next - answered < options.in_flight; ++next) {
        const std::string key = KeyOf(options, next);
        const rl_request request = limiter.RequestOf(key);
        asked[next] = Clock::now();
        Check(rl_allow_queued(limiter.registry(), &request, queue, next, &error), error);
      }
      uint32_t count = 0;
      Check(rl_completion_queue_drain(queue, tags.data(), decisions.data(), options.in_flight, RL_WAIT_FOREVER, &count,
                                      &error),
            error);
      for (uint32_t i = 0; i < count; ++i) Note(seen, decisions[i], asked[tags[i]]);
      answered += count;
    }
    return seen;
  });
  rl_completion_queue_destroy(queue);
}

void Async(const Options& options, const std::string& extra) {
  const Limiter limiter(options, extra);
  Chain chain(options, limiter);
  Measure([&] { return chain.Run(); });
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  return bench::Run(
      argc, argv,
      {{"blocking", [](const auto& options) { bench::Blocking(options, ""); }},
       {"many", bench::Many},
       {"queued", [](const auto& options) { bench::Queued(options, ""); }},
       {"queued_alone", [](const auto& options) { bench::Queued(options, "", "&batch=1"); }},
       {"queued_16", [](const auto& options) { bench::Queued(options, "", "&batch=16"); }},
       {"queued_denials", [](const auto& options) { bench::Queued(options, ", local_tier: denials"); }},
       {"queued_leases", [](const auto& options) { bench::Queued(options, ", local_tier: leases"); }},
       {"blocking_denials", [](const auto& options) { bench::Blocking(options, ", local_tier: denials"); }},
       {"blocking_leases", [](const auto& options) { bench::Blocking(options, ", local_tier: leases"); }},
       {"async", [](const auto& options) { bench::Async(options, ""); }}});
}
