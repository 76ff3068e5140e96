// Four threads spend on every key of a table that grows from nothing while a fifth swaps rule sets: each key admits its capacity, not one more or less. Counts, no times.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "../workload.hpp"
#include "engine.hpp"
#include "row.hpp"
#include "sections.hpp"

namespace bench {
namespace {

constexpr uint32_t kThreads = 4;
constexpr uint64_t kLimit = 8;

/// The rule that is asked, and one that comes and goes beside it.
std::string RulesOf(const char* algorithm, uint32_t keys, uint64_t version) {
  return OneRule(uint64_t{2} * keys, algorithm, kLimit, "1h") + "  - {name: other-" + std::to_string(version % 16) +
         ", path: /other, scope: ip, limit: " + std::to_string(version + 1) + ", window: 1m}\n";
}

}  // namespace

void Exact(const Options& options) {
  // Prime, so that every thread comes by every key.
  const uint32_t keys = options.quick ? 5'003 : 300'007;
  for (const char* algorithm : {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log", "sliding_counter"}) {
    Engine engine(RulesOf(algorithm, keys, 0));
    std::atomic<uint64_t> admitted{0};
    std::atomic<uint32_t> at_work{kThreads};
    std::vector<std::thread> threads;
    for (uint32_t thread = 0; thread < kThreads; ++thread) {
      threads.emplace_back([&, thread] {
        AllowRule ratel{engine};
        KeyMaker key;
        uint64_t mine = 0;
        // Half as many again as there is room for, each thread in an order of its own.
        for (uint64_t i = 0; i < keys * kLimit * 3 / 2 / kThreads; ++i) {
          const auto number = static_cast<uint32_t>((i * (2 * thread + 1) + thread * (keys / kThreads)) % keys);
          mine += ratel.Allow({key(number), number, kStartUs}).allowed;
        }
        admitted += mine;
        --at_work;
      });
    }
    uint64_t reloads = 0;
    while (at_work.load() != 0) {
      engine.Reload(RulesOf(algorithm, keys, ++reloads));
      std::this_thread::yield();
    }
    for (std::thread& thread : threads) thread.join();
    Row("exact", algorithm)
        .Add("keys", uint64_t{keys})
        .Add("admitted", admitted.load())
        .Add("capacity", keys * kLimit)
        .Add("reloads", reloads);
  }
}

}  // namespace bench
