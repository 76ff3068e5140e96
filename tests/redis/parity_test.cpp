// The script and the engine: random traces against the reference and the embedded store, answer by answer. That the script decides as the engine's own
// steps do is an assertion inside the storage, too.
#include <random>
#include <set>

#include "redis/cluster.hpp"
#include "redis/support.hpp"
#include "storage/memory/memory_storage.hpp"

namespace ratel::test {
namespace {

enum class Where { kServer, kCluster };

/// A storage on something empty.
std::unique_ptr<Storage> Fresh(Where where) {
  if (where == Where::kCluster) {
    static RedisCluster cluster({}, false);
    cluster.FlushAll();
    return Open(cluster.url(kPatient));
  }
  static RedisServer server;
  server.Do({"FLUSHALL"});
  return Open(server.unix_url(kPatient));
}

struct Trace {
  uint64_t seed;
  uint64_t keys;
  int steps;
  bool back;  ///< the clock steps back
};

std::string Told(const Outcome& o) {
  return std::string(o.allowed      ? "allowed"
                     : o.never_fits ? "never fits"
                                    : "denied") +
         " remaining " + std::to_string(o.remaining) + " retry " + std::to_string(o.retry_at) + " reset " +
         std::to_string(o.reset_at) + " delay " + std::to_string(o.delay);
}

/// Runs a trace over limits whose numbers change as they go; `limits[i]` are the numbers of the i-th limit over its reloads.
void Follow(const Trace& trace, const std::vector<Versions>& limits, uint64_t span, Where where = Where::kServer) {
  const auto storage = Fresh(where);
  const auto memory = MakeMemoryStorage({});
  ReferenceStorage reference;
  std::mt19937_64 random(trace.seed);
  const auto pick = [&](uint64_t below) { return random() % below; };
  Micros now = kStart;
  uint16_t version = 0;
  for (int step = 0; step < trace.steps; ++step) {
    if (trace.back && pick(10) == 0) now = SubtractFloor(now, pick(pick(5) == 0 ? 30 * span : 3 * span));
    now += pick(4) == 0 ? pick(span + span / 2) : pick(span / 3000 + 2);
    if (now > kMaxMicros) now = kStart;
    if (pick(200) == 0) version = static_cast<uint16_t>(pick(3));
    std::vector<Charge> charges;
    std::set<std::pair<uint64_t, uint64_t>> used;
    const uint64_t count = pick(4) == 0 ? 1 + pick(5) : 1;
    for (uint64_t n = 0; n < count; ++n) {
      const uint64_t limit = pick(limits.size());
      const uint64_t key = pick(trace.keys);
      if (!used.emplace(limit, key).second) continue;
      const uint64_t most = limits[limit][version].capacity;
      const uint64_t cost = pick(5) == 0 ? 1 + pick(pick(3) == 0 ? most + most / 8 + 2 : 12) : 1;
      charges.push_back(ChargeFor(limits[limit], version, limit * 1000 + key, cost, pick(6) == 0));
      charges.back().group = static_cast<uint32_t>(trace.seed * 7919);
    }
    const uint64_t kind = pick(20);
    const Mode mode = kind == 0 || kind == 1      ? Mode::kSettle
                      : kind == 2                 ? Mode::kPeek
                      : kind == 3 && pick(8) == 0 ? Mode::kForget
                                                  : Mode::kSpend;
    Operation operation{charges, now, mode};
    operation.charged_at = pick(3) == 0 ? now : SubtractFloor(now, pick(span + span / 5));
    operation.actual = pick(3) == 0 ? pick(limits[0][version].capacity * 3) : pick(10);
    std::vector<Charge> as_reference = charges;
    std::vector<Charge> as_memory = charges;
    Operation by_reference = operation;
    by_reference.charges = as_reference;
    Operation by_memory = operation;
    by_memory.charges = as_memory;
    ASSERT_EQ(storage->Apply(operation), Status::kOk);
    ASSERT_EQ(operation.now, now);
    ASSERT_EQ(memory->Apply(by_memory), Status::kOk);
    ASSERT_EQ(reference.Apply(by_reference), Status::kOk);
    if (mode == Mode::kForget) continue;
    // The reference does not convert what it is only shown; the embedded store may have dropped what a clock that steps back would show.
    if (mode == Mode::kPeek && trace.back) continue;
    const std::vector<Charge>& expected = mode == Mode::kPeek ? as_memory : as_reference;
    for (size_t i = 0; i < charges.size(); ++i) {
      ASSERT_TRUE(SameAnswer(charges[i].outcome, expected[i].outcome))
          << "step " << step << " charge " << i << " of " << charges.size() << " mode " << int(mode) << " cost "
          << charges[i].cost << " actual " << operation.actual << " charged " << now - operation.charged_at
          << " us ago, " << ToText(charges[i].numbers->spec.algorithm) << " version " << version << "\n  redis    "
          << Told(charges[i].outcome) << "\n  expected " << Told(expected[i].outcome);
      if (mode != Mode::kPeek) continue;
      // What equals "new" by now may be gone from one of them and not yet from the other.
      const Tick tick = charges[i].numbers->TickOf(now);
      const auto live = [&](const State& state) { return state.expiry <= tick ? State{} : state; };
      ASSERT_EQ(live(charges[i].before), live(expected[i].before)) << "step " << step;
      ASSERT_EQ(charges[i].after, expected[i].after) << "step " << step;
    }
  }
}

class EachAlgorithm : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(EachAlgorithm, AnswersAsTheEngine) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const Versions numbers({Make(GetParam(), 1 + random() % 9, 1'000'000),
                            Make(GetParam(), 1 + random() % 20, 2'000'000),
                            Make(GetParam(), 999 + random() % 3, 7'000'000)});
    Follow({seed, seed % 3 == 0 ? 1u : 5u, 1500, seed % 2 == 0}, {numbers}, 1'000'000);
    if (HasFatalFailure()) return;
  }
}

TEST_P(EachAlgorithm, AnswersAsTheEngineAtTheBoundsOfExactness) {
  // Numbers that fill what doubles hold, ticks that are coarse, windows of a microsecond and of years.
  const auto algorithm = GetParam();
  const auto at_most = [&](uint64_t limit, Micros window) {
    while (!Resolve({algorithm, limit, window, 0}).ok()) limit -= limit / 100 + 1;
    return limit;
  };
  for (const Micros window :
       {Micros{1}, Micros{7}, Micros{999'983}, Micros{60'000'000}, Micros{86'400'000'000}, kMaxWindow}) {
    SCOPED_TRACE("window " + std::to_string(window));
    const uint64_t largest = at_most((uint64_t{1} << 53) - 1, window);
    const Versions numbers({Make(algorithm, largest, window), Make(algorithm, at_most(largest / 3 + 1, window), window),
                            Make(algorithm, at_most(3, window), window)});
    Follow({window, 2, 600, window % 2 == 0}, {numbers}, window);
    if (HasFatalFailure()) return;
  }
}

std::vector<Versions> AllAlgorithms(uint64_t seed) {
  std::mt19937_64 random(seed * 77);
  std::vector<Versions> limits;
  for (const Algorithm algorithm : kAlgorithms) {
    limits.push_back(
        Versions({Make(algorithm, 3 + random() % 9, 1'000'000), Make(algorithm, 3 + random() % 20, 2'000'000),
                  Make(algorithm, 100 + random() % 3, 500'000)}));
  }
  return limits;
}

TEST(Parity, AnyMixOfAlgorithmsInOneRequest) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Follow({seed, 2, 2000, seed % 2 == 0}, AllAlgorithms(seed), 1'000'000);
    if (HasFatalFailure()) return;
  }
}

TEST(ClusterParity, AnyMixOfAlgorithmsInOneRequest) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Follow({seed, 2, 1500, seed % 2 == 0}, AllAlgorithms(seed), 1'000'000, Where::kCluster);
    if (HasFatalFailure()) return;
  }
}

TEST(Parity, ABurstThatIsNotTheLimit) {
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kLeakyBucket}) {
    const Versions numbers(
        {Make(algorithm, 60, 60'000'000, 10), Make(algorithm, 7, 1'000'000, 500), Make(algorithm, 60, 60'000'000)});
    Follow({99, 2, 2000, true}, {numbers}, 10'000'000);
    if (HasFatalFailure()) return;
  }
}

}  // namespace
}  // namespace ratel::test
