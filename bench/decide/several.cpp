// Three limits of one request, all or nothing: the user's, the API key's and the address's. Next to it the same by hand, three buckets under the mutexes of their stripes.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <unordered_map>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "bucket.hpp"
#include "engine.hpp"
#include "row.hpp"
#include "sections.hpp"
#include "walk.hpp"

namespace bench {
namespace {

constexpr char kRules[] =
    "max_keys: 6000000\n"
    "rules:\n"
    "  - name: api\n"
    "    path: /api/v1/items\n"
    "    limits:\n"
    "      - {name: user, scope: user, algorithm: token_bucket, limit: 100, window: 1m}\n"
    "      - {name: key, scope: api_key, algorithm: token_bucket, limit: 1000, window: 1m}\n"
    "      - {name: place, scope: attribute:place, algorithm: token_bucket, limit: 10000, window: 1m}\n";

/// Ten users share an API key, ten keys a place.
struct Names {
  KeyMaker user, api_key, place;
  std::array<std::string_view, 3> Of(const Question& question) noexcept {
    return {question.key, api_key(question.number / 10), place(question.number / 100)};
  }
};

struct ThreeOfRatel {
  Engine& engine;
  Names names{};

  Answer Allow(const Question& question) noexcept {
    const auto [user, api_key, place] = names.Of(question);
    const rl_attribute attribute{{"place", 5}, {place.data(), place.size()}};
    rl_request request = AllowRequest::Blank();
    request.now_ns = question.now_us * 1000;
    request.user = {user.data(), user.size()};
    request.api_key = {api_key.data(), api_key.size()};
    request.attributes = &attribute;
    request.attribute_count = 1;
    rl_decision decision = RL_DECISION_INIT;
    rl_allow(engine.registry(), &request, &decision, nullptr);
    return {decision.allowed != 0, 0};
  }
};

/// The mutexes are taken in the order of their stripes, each once.
class ThreeByHand {
 public:
  explicit ThreeByHand(uint64_t keys) {
    for (size_t level = 0; level < 3; ++level) {
      for (Stripe& stripe : stripes_) stripe.maps[level].reserve(keys / stripes_.size() * 9 / 8);
      keys /= 10;
    }
  }

  Answer Allow(const Question& question, Names& names) {
    const std::array<std::string_view, 3> keys = names.Of(question);
    std::array<size_t, 3> places;
    for (size_t i = 0; i < 3; ++i) places[i] = XXH3_64bits(keys[i].data(), keys[i].size()) >> 58;
    std::array<size_t, 3> order = places;
    std::sort(order.begin(), order.end());
    std::array<std::unique_lock<std::mutex>, 3> locks;
    for (size_t i = 0; i < 3; ++i) {
      if (i == 0 || order[i] != order[i - 1]) locks[i] = std::unique_lock(stripes_[order[i]].mutex);
    }
    std::array<Bucket*, 3> buckets;
    std::array<Bucket, 3> next;
    for (size_t i = 0; i < 3; ++i) {
      auto& map = stripes_[places[i]].maps[i];
      const auto found = map.find(keys[i]);
      buckets[i] = found != map.end() ? &found->second : &map[std::string(keys[i])];
      next[i] = *buckets[i];
      if (!limits_[i].Spend(next[i], question.now_us).allowed) return {false, 0};
    }
    for (size_t i = 0; i < 3; ++i) *buckets[i] = next[i];
    return {true, 0};
  }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const noexcept { return XXH3_64bits(key.data(), key.size()); }
  };
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::array<std::unordered_map<std::string, Bucket, Hash, std::equal_to<>>, 3> maps;
  };
  const std::array<Limit, 3> limits_{Limit(100, 60'000'000), Limit(1'000, 60'000'000), Limit(10'000, 60'000'000)};
  std::array<Stripe, 64> stripes_;
};

struct OneHand {
  ThreeByHand& hand;
  Names names{};
  Answer Allow(const Question& question) { return hand.Allow(question, names); }
};

/// The same answers while all three limits deny now and then.
void CheckThem() {
  Engine engine(kRules);
  ThreeByHand hand(1000);
  ThreeOfRatel ours{engine};
  OneHand theirs{hand};
  KeyMaker key;
  std::mt19937_64 random(7);
  uint64_t now_us = kStartUs;
  for (int i = 0; i < 100'000; ++i) {
    now_us += random() % 4'000;
    const auto number = static_cast<uint32_t>(random() % 40 + (random() % 4) * 100);
    const Question question{key(number), number, now_us};
    if (ours.Allow(question) == theirs.Allow(question)) continue;
    std::fprintf(stderr, "step %d: three limits by hand answer otherwise than Ratel\n", i);
    std::exit(1);
  }
}

}  // namespace

void Several(const Options& options) {
  CheckThem();
  for (const uint32_t keys : {1'000U, options.quick ? 20'000U : 1'000'000U}) {
    Engine engine(kRules);
    ThreeByHand hand(keys);
    const double step_us = 60e6 / (0.9 * 100 * keys);
    Course of_engine(keys, step_us), of_hand(keys, step_us);
    std::vector<Case> cases;
    for (const int threads : {1, 2}) {
      cases.push_back(OneByOne("rl_allow, three limits", Mode::kBackToBack, threads, of_engine,
                               [&] { return ThreeOfRatel{engine}; }));
      cases.push_back(
          OneByOne("three buckets by hand, tuned", Mode::kBackToBack, threads, of_hand, [&] { return OneHand{hand}; }));
    }
    TakeTurns("several", std::to_string(keys), cases, options);
  }
}

}  // namespace bench
