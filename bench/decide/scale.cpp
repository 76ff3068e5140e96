// More than fits: a hundred million keys that come once, through a table with room for ten million, while a client that has spent its limit goes on asking; then a billion
// decisions in all on the keys that are left. What is looked at: the victim never gets more, the table stays within its bound, and memory stays where it is.
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

constexpr uint64_t kLimit = 100;
constexpr uint32_t kSamples = 50;

struct Numbers {
  uint32_t flood, budget;
  uint64_t decisions;
};

/// What is seen on the way, by whoever counts.
struct Seen {
  std::vector<double> resident_bytes;
  uint64_t most_keys = 0;
  void Look(const Engine& engine) {
    resident_bytes.push_back(static_cast<double>(ResidentBytes()));
    most_keys = std::max(most_keys, engine.Keys());
  }
};

/// Two threads ask about `count` numbers in all, in batches of 32; `number` turns a place in the order into a key. Thread 0 looks at memory now and then.
template <class NumberOf>
double AskAll(Engine& engine, uint64_t count, uint64_t now_us, Seen& seen, NumberOf number_of,
              const std::function<void()>& between) {
  const auto work = [&](uint32_t thread) {
    Pin(static_cast<int>(thread));
    AllowMany many(engine, false);
    std::array<KeyMaker, kBatch> makers;
    std::array<Question, kBatch> questions;
    const uint64_t batches = count / kBatch / 2;
    for (uint64_t batch = 0; batch < batches; ++batch) {
      for (uint32_t k = 0; k < kBatch; ++k) {
        const uint32_t number = number_of((batch * 2 + thread) * kBatch + k);
        questions[k] = {makers[k](number), number, now_us};
      }
      many.Many(questions);
      if (thread != 0) continue;
      if (batch % 256 == 0) between();
      if ((batch + 1) % std::max<uint64_t>(batches / kSamples, 1) == 0) seen.Look(engine);
    }
  };
  const uint64_t begun = Clock();
  std::thread other(work, 1);
  work(0);
  other.join();
  return static_cast<double>(Clock() - begun) / static_cast<double>(count);
}

}  // namespace

void Scale(const Options& options) {
  const Numbers numbers{100'000'000 / options.divide, 10'000'000 / options.divide, 1'000'000'000 / options.divide};
  Engine engine(OneRule(numbers.budget, "fixed_window", kLimit, "1h"));
  const uint64_t now_us = kStartUs;
  AllowRule ratel{engine};
  const Question victim{"the client that is over its limit", 0, now_us};
  uint64_t before_flood = 0;
  while (ratel.Allow(victim).allowed) ++before_flood;
  uint64_t asked = 0;
  uint64_t admitted = 0;
  const auto ask_victim = [&] {
    ++asked;
    admitted += ratel.Allow(victim).allowed;
  };
  Seen flood, steady;
  const double flood_ns = AskAll(
      engine, numbers.flood, now_us, flood, [](uint64_t i) { return static_cast<uint32_t>(i); }, ask_victim);
  const uint64_t evicted_live = engine.Metrics().evicted_live;
  // Among the last that came, of which four fifths of the budget are asked for again and again, in the hours after.
  const uint32_t known = numbers.budget / 5 * 4;
  const uint64_t rest = numbers.decisions - numbers.flood;
  const auto of_known = [&](uint64_t i) { return numbers.flood - 1 - Below(known, Mix(i)); };
  const double steady_ns = AskAll(engine, rest, now_us + 3'600'000'000, steady, of_known, [] {});
  Row("scale", "flood")
      .Add("keys", uint64_t{numbers.flood})
      .Add("budget", uint64_t{numbers.budget})
      .Add("most_keys", flood.most_keys)
      .Add("evicted_live", evicted_live)
      .Add("ns", flood_ns)
      .Add("victim_limit", kLimit)
      .Add("victim_had", before_flood)
      .Add("victim_asked", asked)
      .Add("victim_got_more", admitted)
      .Add("resident_bytes", flood.resident_bytes);
  Row("scale", "steady")
      .Add("decisions", numbers.decisions)
      .Add("keys", uint64_t{known})
      .Add("most_keys", steady.most_keys)
      .Add("ns", steady_ns)
      .Add("resident_bytes", steady.resident_bytes);
}

}  // namespace bench
