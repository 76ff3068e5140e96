// One key that everybody asks about: over its limit while time stands still, and within it.
#include <optional>
#include <string>

#include "engine.hpp"
#include "flat_map.hpp"
#include "floors.hpp"
#include "sections.hpp"
#include "striped_map.hpp"
#include "walk.hpp"

namespace bench {
namespace {

constexpr uint64_t kSecondUs = 1'000'000;

#ifdef BENCH_HAS_BOOST
struct ReadFirst {
  TunedFlatMap& map;
  Answer Allow(const Question& question) { return map.AllowReadFirst(question); }
};
#endif

/// The limit is `limit` a second, and a question comes every `step_us`.
void OneKey(const char* shape, uint64_t limit, double step_us, const Options& options) {
  Engine engine(OneRule(1000, "token_bucket", limit, "1s"));
  const Limit numbers(limit, kSecondUs);
  StripedMap striped(numbers, 1);
  TunedStripedMap tuned_striped(numbers, 1);
  Lines lines(64);
  LineFloor floor{lines};
  Course of_engine(1, step_us), of_floor(1, step_us), of_striped(1, step_us), of_tuned_striped(1, step_us);
  std::vector<Case> cases;
  for (const int threads : {1, 2}) {
    const auto add = [&](const char* name, Course& course, auto make) {
      cases.push_back(OneByOne(name, Mode::kBackToBack, threads, course, make));
    };
    add("floor: line", of_floor, [&]() -> LineFloor& { return floor; });
    add("rl_allow_rule", of_engine, [&] { return AllowRule{engine}; });
    add("rl_allow", of_engine, [&] { return AllowRequest{engine}; });
    add("striped mutex map", of_striped, [&]() -> StripedMap& { return striped; });
    add("striped mutex map, tuned", of_tuned_striped, [&]() -> TunedStripedMap& { return tuned_striped; });
  }
#ifdef BENCH_HAS_BOOST
  FlatMap flat(numbers, 1);
  TunedFlatMap tuned_flat(numbers, 1);
  Course of_flat(1, step_us), of_tuned_flat(1, step_us);
  for (const int threads : {1, 2}) {
    cases.push_back(
        OneByOne("boost flat map", Mode::kBackToBack, threads, of_flat, [&]() -> FlatMap& { return flat; }));
    cases.push_back(OneByOne("boost flat map, tuned", Mode::kBackToBack, threads, of_tuned_flat,
                             [&]() -> TunedFlatMap& { return tuned_flat; }));
    cases.push_back(OneByOne("boost flat map, look first", Mode::kBackToBack, threads, of_tuned_flat,
                             [&] { return ReadFirst{tuned_flat}; }));
  }
#endif
  TakeTurns("hot", shape, cases, options);
}

}  // namespace

void Hot(const Options& options) {
  // 100 units, and no time in which any would come back.
  OneKey("denied", 100, 0, options);
  // Half of a million a second.
  OneKey("allowed", 1'000'000, 2, options);
}

}  // namespace bench
