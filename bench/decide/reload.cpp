// How long single decisions take while another thread swaps rule sets, next to the same without: a swap must not be seen as a spike. Quiet and disturbed spells take turns.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "engine.hpp"
#include "row.hpp"
#include "sections.hpp"
#include "walk.hpp"

namespace bench {
namespace {

constexpr uint64_t kLimit = 1'000;

/// A rule set whose numbers differ by version, so that states are converted as they are met.
std::string RulesOf(uint32_t count, uint64_t version) {
  std::string text = OneRule(4'000'000, "token_bucket", kLimit + version % 2, "1m");
  for (uint32_t rule = 1; rule < count; ++rule) {
    text += "  - {name: rule-" + std::to_string(rule) + ", path: /other/" + std::to_string(rule) +
            ", scope: user, limit: 100, window: 1m}\n";
  }
  return text;
}

/// One bucket for each power of two, in nanoseconds, split in four.
class Histogram {
 public:
  void Add(uint64_t nanoseconds) noexcept {
    most_ = std::max(most_, nanoseconds);
    ++counts_[std::min(Place(nanoseconds), counts_.size() - 1)];
    ++total_;
  }
  /// The upper end of the bucket in which a share of all has been seen.
  double At(double share) const noexcept {
    uint64_t seen = 0;
    for (size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (static_cast<double>(seen) >= share * static_cast<double>(total_)) {
        return static_cast<double>(End(i));
      }
    }
    return static_cast<double>(most_);
  }
  uint64_t most() const noexcept { return most_; }
  uint64_t total() const noexcept { return total_; }

 private:
  static size_t Place(uint64_t n) noexcept {
    if (n < 4) return n;
    const auto power = static_cast<size_t>(63 - __builtin_clzll(n));
    return 4 * (power - 1) + ((n >> (power - 2)) & 3);
  }
  static uint64_t End(size_t place) noexcept {
    if (place < 4) return place + 1;
    const size_t power = place / 4 + 1;
    return (uint64_t{1} << power) + (place % 4 + 1) * (uint64_t{1} << (power - 2));
  }
  std::vector<uint64_t> counts_ = std::vector<uint64_t>(160);
  uint64_t total_ = 0;
  uint64_t most_ = 0;
};

void Listen(Engine& engine, Course& course, double seconds, Histogram& histogram) {
  Pin(0);
  AllowRequest ratel{engine};
  Walk walk(course, 1);
  KeyMaker key;
  const uint64_t end = Clock() + static_cast<uint64_t>(seconds * 1e9);
  while (true) {
    const Question question = walk.Next(key);
    const uint64_t begun = Clock();
    ratel.Allow(question);
    const uint64_t done = Clock();
    histogram.Add(done - begun);
    if (done >= end) break;
  }
}

/// Swaps every 20 ms, on the other processor.
uint64_t Disturb(Engine& engine, const std::vector<std::string>& texts, const std::atomic<bool>& stop) {
  Pin(1);
  uint64_t reloads = 0;
  while (!stop.load()) {
    engine.Reload(texts[++reloads % 2]);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return reloads;
}

void ReloadRow(const char* name, uint32_t rules, const Histogram& seen, uint64_t reloads) {
  Row("reload", name)
      .Add("rules", uint64_t{rules})
      .Add("decisions", seen.total())
      .Add("reloads", reloads)
      .Add("p50_ns", seen.At(0.5))
      .Add("p99_ns", seen.At(0.99))
      .Add("p999_ns", seen.At(0.999))
      .Add("p9999_ns", seen.At(0.9999))
      .Add("max_ns", seen.most());
}

}  // namespace

void Reload(const Options& options) {
  const uint32_t keys = options.quick ? 10'000 : 1'000'000;
  const double seconds = options.quick ? 0.05 : 0.5;
  for (const uint32_t rules : {10U, 1'000U}) {
    const std::vector<std::string> texts{RulesOf(rules, 0), RulesOf(rules, 1)};
    Engine engine(texts[0]);
    KeyMaker key;
    for (uint32_t i = 0; i < keys; ++i) AllowRule{engine}.Allow({key(i), i, kStartUs});
    Course course(keys, 60e6 / (0.9 * kLimit * keys));
    Histogram quiet, disturbed;
    uint64_t reloads = 0;
    for (int round = 0; round < options.rounds; ++round) {
      Listen(engine, course, seconds, quiet);
      std::atomic<bool> stop{false};
      std::thread other([&] { reloads += Disturb(engine, texts, stop); });
      Listen(engine, course, seconds, disturbed);
      stop = true;
      other.join();
    }
    ReloadRow("quiet", rules, quiet, 0);
    ReloadRow("while rules are swapped", rules, disturbed, reloads);
  }
}

}  // namespace bench
