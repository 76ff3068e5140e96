// One decision at several numbers of keys, uniform and Zipf, isolated, back to back and in batches, next to floors and peers with the same keys, the same algorithm and the
// same instants. Time goes on so that the key that is asked about most is asked for nine tenths of what its limit refills: nothing is denied, and with uniform keys
// hardly a bucket is as new.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "engine.hpp"
#include "flat_map.hpp"
#include "floors.hpp"
#include "row.hpp"
#include "sections.hpp"
#include "striped_map.hpp"
#include "walk.hpp"

namespace bench {
namespace {

constexpr uint64_t kLimit = 100;
constexpr uint64_t kWindowUs = 60'000'000;
constexpr uint64_t kYearUs = 31'536'000'000'000;  // more than a shape takes of its subjects' time

/// How often the key that comes most comes.
double LargestShare(uint64_t keys, const std::vector<uint32_t>* order) {
  if (order == nullptr) return 1.0 / static_cast<double>(keys);
  std::vector<uint32_t> counts(keys);
  uint32_t most = 0;
  for (const uint32_t key : *order) most = std::max(most, ++counts[key]);
  return static_cast<double>(most) / static_cast<double>(order->size());
}

/// Asks about every key once, and says what the resident set grew by for each.
template <class Subject>
double Fill(Subject&& subject, uint64_t keys, uint64_t before) {
  KeyMaker key;
  for (uint32_t i = 0; i < keys; ++i) subject.Allow({key(i), i, kStartUs});
  return static_cast<double>(ResidentBytes() - before) / static_cast<double>(keys);
}

void FilledRow(const char* name, const std::string& shape, double bytes) {
  Row("filled", name).Add("shape", shape).Add("bytes_per_key", bytes);
}

/// All subjects, filled with the same keys.
struct Subjects {
  explicit Subjects(uint64_t keys) : engine(OneRule(keys + keys / 2, "token_bucket", kLimit, "1m")), keys_(keys) {
    const std::string shape = std::to_string(keys);
    uint64_t before = ResidentBytes();
    const double bytes = Fill(AllowRule{engine}, keys, before);
    engine.EvictIdle();
    FilledRow("ratel", shape, bytes);
    lines.emplace(static_cast<uint64_t>(bytes * static_cast<double>(keys)));
    FillPeer("striped mutex map", striped);
    FillPeer("striped mutex map, tuned", tuned_striped);
#ifdef BENCH_HAS_BOOST
    FillPeer("boost flat map", flat);
    FillPeer("boost flat map, tuned", tuned_flat);
#endif
  }

  Engine engine;
  std::optional<Lines> lines;
  std::optional<StripedMap> striped;
  std::optional<TunedStripedMap> tuned_striped;
#ifdef BENCH_HAS_BOOST
  std::optional<FlatMap> flat;
  std::optional<TunedFlatMap> tuned_flat;
#endif

 private:
  template <class Peer>
  void FillPeer(const char* name, std::optional<Peer>& peer) {
    const uint64_t before = ResidentBytes();
    peer.emplace(Limit(kLimit, kWindowUs), keys_);
    FilledRow(name, std::to_string(keys_), Fill(*peer, keys_, before));
  }
  uint64_t keys_;
};

/// Each subject has a course of its own: what it has spent is its own affair.
class Cases {
 public:
  Cases(Subjects& subjects, uint32_t keys, const std::vector<uint32_t>* order, uint64_t begin_us)
      : subjects_(subjects),
        keys_(keys),
        order_(order),
        step_us_(LargestShare(keys, order) * kWindowUs / (0.9 * kLimit)),
        begin_us_(begin_us) {}

  std::vector<Case> Make() {
    Floors();
    Ratel();
    Peer("striped mutex map", subjects_.striped);
    Peer("striped mutex map, tuned", subjects_.tuned_striped);
#ifdef BENCH_HAS_BOOST
    Peer("boost flat map", subjects_.flat);
    Peer("boost flat map, tuned", subjects_.tuned_flat);
    auto bulk = [peer = &*subjects_.tuned_flat]() -> TunedFlatMap& { return *peer; };
    for (const int threads : {1, 2})
      cases_.push_back(AtOnce("boost flat map, bulk visit", threads, *courses_.back(), bulk));
#endif
    return std::move(cases_);
  }

 private:
  Course& NewCourse() {
    courses_.push_back(std::make_unique<Course>(keys_, step_us_, order_, begin_us_));
    return *courses_.back();
  }
  void Floors() {
    Course& course = NewCourse();
    auto line = [this] { return LineFloor{*subjects_.lines}; };
    auto hash = [this] { return HashFloor{*subjects_.lines}; };
    cases_.push_back(OneByOne("floor: line", Mode::kIsolated, 1, course, line));
    cases_.push_back(OneByOne("floor: hash and line", Mode::kIsolated, 1, course, hash));
    for (const int threads : {1, 2}) {
      cases_.push_back(OneByOne("floor: line", Mode::kBackToBack, threads, course, line));
      cases_.push_back(OneByOne("floor: hash and line", Mode::kBackToBack, threads, course, hash));
      cases_.push_back(AtOnce("floor: prefetch and line", threads, course, line));
    }
  }
  void Ratel() {
    Course& course = NewCourse();
    Engine& engine = subjects_.engine;
    auto rule = [&engine] { return AllowRule{engine}; };
    auto request = [&engine] { return AllowRequest{engine}; };
    cases_.push_back(OneByOne("rl_allow_rule", Mode::kIsolated, 1, course, rule));
    cases_.push_back(OneByOne("rl_allow", Mode::kIsolated, 1, course, request));
    for (const int threads : {1, 2}) {
      cases_.push_back(OneByOne("rl_allow_rule", Mode::kBackToBack, threads, course, rule));
      cases_.push_back(OneByOne("rl_allow", Mode::kBackToBack, threads, course, request));
      cases_.push_back(
          AtOnce("rl_allow_many, rule given", threads, course, [&engine] { return AllowMany(engine, false); }));
      cases_.push_back(
          AtOnce("rl_allow_many, whole requests", threads, course, [&engine] { return AllowMany(engine, true); }));
    }
  }
  template <class Subject>
  void Peer(const char* name, std::optional<Subject>& subject) {
    Course& course = NewCourse();
    auto make = [peer = &*subject]() -> Subject& { return *peer; };
    cases_.push_back(OneByOne(name, Mode::kIsolated, 1, course, make));
    for (const int threads : {1, 2}) cases_.push_back(OneByOne(name, Mode::kBackToBack, threads, course, make));
  }

  Subjects& subjects_;
  uint32_t keys_;
  const std::vector<uint32_t>* order_;
  const double step_us_;
  const uint64_t begin_us_;
  std::vector<std::unique_ptr<Course>> courses_;
  std::vector<Case> cases_;
};

template <class Subject>
void MustAnswer(const char* name, int step, Subject& subject, const Question& question, const Answer& expected) {
  if (subject.Allow(question) == expected) return;
  std::fprintf(stderr, "step %d: %s answers otherwise than Ratel\n", step, name);
  std::exit(1);
}

}  // namespace

void CheckAnswers() {
  constexpr int kSteps = 200'000;
  Engine engine(OneRule(1000, "token_bucket", kLimit, "1m"));
  AllowRule ratel{engine};
  const Limit limit(kLimit, kWindowUs);
  StripedMap striped(limit, 1000);
  TunedStripedMap tuned_striped(limit, 1000);
#ifdef BENCH_HAS_BOOST
  FlatMap flat(limit, 1000);
  TunedFlatMap tuned_flat(limit, 1000);
#endif
  KeyMaker key;
  std::mt19937_64 random(7);
  uint64_t now_us = kStartUs;
  uint64_t allowed = 0;
  for (int i = 0; i < kSteps; ++i) {
    now_us += random() % 40'000;
    const auto number = static_cast<uint32_t>(random() % 7);
    const Question question{key(number), number, now_us};
    const Answer answer = ratel.Allow(question);
    allowed += answer.allowed;
    MustAnswer("striped mutex map", i, striped, question, answer);
    MustAnswer("striped mutex map, tuned", i, tuned_striped, question, answer);
#ifdef BENCH_HAS_BOOST
    MustAnswer("boost flat map", i, flat, question, answer);
    MustAnswer("boost flat map, tuned", i, tuned_flat, question, answer);
#endif
  }
  Row("answers", "all subjects").Add("steps", kSteps).Add("allowed", static_cast<double>(allowed) / kSteps);
}

void Tables(const Options& options) {
  const std::vector<uint32_t> sizes =
      options.quick ? std::vector<uint32_t>{1'000, 20'000} : std::vector<uint32_t>{1'000, 1'000'000, 10'000'000};
  for (const uint32_t keys : sizes) {
    Subjects subjects(keys);
    const std::vector<uint32_t> zipf = Zipf(keys, options.quick ? 1 << 16 : 1 << 22, 1);
    const std::string shape = std::to_string(keys);
    TakeTurns("tables", shape + " uniform", Cases(subjects, keys, nullptr, kStartUs).Make(), options);
    TakeTurns("tables", shape + " Zipf", Cases(subjects, keys, &zipf, kStartUs + kYearUs).Make(), options);
  }
}

}  // namespace bench
