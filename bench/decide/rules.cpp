// What it costs to find the rule: a whole rl_allow next to rl_allow_rule, with few and with many rules. Of one rule all the time, and of all rules in turn.
#include <string>
#include <vector>

#include "engine.hpp"
#include "sections.hpp"
#include "walk.hpp"

namespace bench {
namespace {

constexpr uint32_t kKeys = 1'000;

std::string RuleName(uint32_t rule) { return rule == 0 ? "api" : "rule-" + std::to_string(rule); }
std::string PathOf(uint32_t rule) { return "/api/v1/resource-" + std::to_string(rule); }

std::string ManyRules(uint32_t count) {
  std::string text = "max_keys: 4000000\nrules:\n";
  for (uint32_t rule = 0; rule < count; ++rule) {
    text += "  - {name: " + RuleName(rule) + ", method: GET, path: \"" + PathOf(rule) +
            "/items\", scope: user, algorithm: token_bucket, limit: 1000000, window: 1s}\n";
  }
  return text;
}

/// The paths of requests, some of each rule's.
struct ByPath {
  Engine& engine;
  const std::vector<std::string>& paths;
  AllowRequest request{engine};

  Answer Allow(const Question& question) noexcept {
    const std::string& path = paths[Below(static_cast<uint32_t>(paths.size()), Mix(question.number))];
    request.request.path = {path.data(), path.size()};
    return request.Allow(question);
  }
};

}  // namespace

void Rules(const Options& options) {
  for (const uint32_t count : {10U, 1'000U, options.quick ? 2'000U : 100'000U}) {
    Engine engine(ManyRules(count));
    std::vector<std::string> all;
    for (uint32_t rule = 0; rule < count; ++rule) all.push_back(PathOf(rule) + "/items/4711");
    const std::vector<std::string> one(1, all[count / 2]);
    // 1M/s for each key, and 1,000 keys that share 0.5 M/s: nothing is denied.
    Course course(kKeys, 2);
    TakeTurns("rules", std::to_string(count),
              {OneByOne("rl_allow_rule", Mode::kBackToBack, 1, course, [&] { return AllowRule{engine}; }),
               OneByOne("rl_allow, one path", Mode::kBackToBack, 1, course,
                        [&] {
                          return ByPath{engine, one};
                        }),
               OneByOne("rl_allow, all paths", Mode::kBackToBack, 1, course,
                        [&] {
                          return ByPath{engine, all};
                        })},
              options);
  }
}

}  // namespace bench
