// Tables that grow: resident bytes a key on the way from one to 16 million keys, and how long single inserts take on the way to 4 million. Time stands still, so that every key
// stays. One subject to a process: what another has left behind is not counted as its memory.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "../workload.hpp"
#include "engine.hpp"
#include "flat_map.hpp"
#include "row.hpp"
#include "sections.hpp"
#include "striped_map.hpp"

namespace bench {
namespace {

constexpr uint64_t kLimit = 100;
constexpr uint64_t kWindowUs = 60'000'000;

struct OwnedEngine {
  explicit OwnedEngine(uint64_t keys) : engine(OneRule(keys + keys / 2, "token_bucket", kLimit, "1m")) {}
  Answer Allow(const Question& question) noexcept { return AllowRule{engine}.Allow(question); }
  Engine engine;
};

/// Calls `use` with a way to make the subject of that name.
template <class Use>
void With(const std::string& subject, Use use) {
  const Limit limit(kLimit, kWindowUs);
  if (subject == "ratel") {
    use([](uint64_t keys) { return std::make_unique<OwnedEngine>(keys); });
  } else if (subject == "striped mutex map") {
    use([&](uint64_t keys) { return std::make_unique<StripedMap>(limit, keys); });
  } else if (subject == "striped mutex map, tuned") {
    use([&](uint64_t keys) { return std::make_unique<TunedStripedMap>(limit, keys); });
#ifdef BENCH_HAS_BOOST
  } else if (subject == "boost flat map") {
    use([&](uint64_t keys) { return std::make_unique<FlatMap>(limit, keys); });
  } else if (subject == "boost flat map, tuned") {
    use([&](uint64_t keys) { return std::make_unique<TunedFlatMap>(limit, keys); });
#endif
  } else {
    std::fprintf(stderr, "no subject %s\n", subject.c_str());
    std::exit(2);
  }
}

}  // namespace

void Growth(const std::string& name, const Options& options) {
  const uint32_t most = options.quick ? 200'000 : 16'000'000;
  const uint32_t first = most / 16;
  const uint32_t step = first / 4;
  With(name, [&](auto make) {
    std::vector<double> keys, bytes;
    const uint64_t before = ResidentBytes();
    auto subject = make(most);
    KeyMaker key;
    for (uint32_t i = 0; i < most; ++i) {
      subject->Allow({key(i), i, kStartUs});
      if (i + 1 < first || (i + 1) % step != 0) continue;
      keys.push_back(i + 1.0);
      bytes.push_back(static_cast<double>(ResidentBytes() - before) / (i + 1.0));
    }
    Row("growth", name).Add("keys", keys).Add("bytes_per_key", bytes);
  });
}

void Inserts(const std::string& name, const Options& options) {
  const uint32_t most = options.quick ? 100'000 : 4'000'000;
  With(name, [&](auto make) {
    Pin(0);
    auto subject = make(most);
    std::vector<uint32_t> took(most);
    uint64_t longest = 0;
    KeyMaker key;
    for (uint32_t i = 0; i < most; ++i) {
      const Question question{key(i), i, kStartUs};
      const uint64_t begun_cpu = ThreadClock();
      const uint64_t begun = Clock();
      subject->Allow(question);
      took[i] = static_cast<uint32_t>(std::min<uint64_t>(Clock() - begun, UINT32_MAX));
      longest = std::max(longest, ThreadClock() - begun_cpu);
    }
    std::sort(took.begin(), took.end());
    const auto at = [&](double share) { return static_cast<uint64_t>(took[static_cast<size_t>(share * (most - 1))]); };
    Row("inserts", name)
        .Add("keys", uint64_t{most})
        .Add("p50_ns", at(0.5))
        .Add("p99_ns", at(0.99))
        .Add("p9999_ns", at(0.9999))
        .Add("max_ns", longest);
  });
}

}  // namespace bench
