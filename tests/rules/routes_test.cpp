// A large real API of 1,223 routes: each but one is a rule, and each with its parameters filled in finds its own rule.
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "rules/build.hpp"
#include "rules/path.hpp"
#include "rules/reference.hpp"

namespace ratel::test {
namespace {

/// Two parameters in one segment, which a rule cannot say. {basehead} covers that path too.
constexpr std::string_view kTwoInOneSegment = "/repos/{owner}/{repo}/compare/{base}...{head}";

RuleSet LoadRoutes() {
  std::ifstream file(RATEL_SOURCE_DIR "/tests/data/routes-github.txt");
  std::vector<Rule> rules;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string method;
    std::string path;
    if (!(words >> method >> path) || method[0] == '#' || path == kTwoInOneSegment) continue;
    rules.push_back(RuleBuilder(method + " " + path, path).Methods({method}));
  }
  return SetOf(std::move(rules));
}

const RuleSet& Routes() {
  static const RuleSet set = LoadRoutes();
  return set;
}

std::string FillIn(std::string_view path, int round) {
  std::string filled;
  int number = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '{') {
      filled += path[i];
      continue;
    }
    filled += "value-" + std::to_string(round) + "-" + std::to_string(number++);
    i = path.find('}', i);
  }
  return filled;
}

TEST(Semantics7Routes, AreAllThere) { EXPECT_EQ(Routes().rules.size(), 1222u); }

TEST(Semantics7Routes, EveryRouteFindsItsOwnRule) {
  const Matcher matcher = Matcher::Compile(Routes());
  for (uint32_t i = 0; i < Routes().rules.size(); ++i) {
    const Rule& rule = Routes().rules[i];
    for (int round = 0; round < 3; ++round) {
      const std::string path = FillIn(rule.path, round);
      EXPECT_EQ(NormalizePath(path), path);
      const uint32_t found = matcher.Match({rule.methods[0], path, {}});
      ASSERT_NE(found, Matcher::kNone) << rule.name;
      EXPECT_EQ(Routes().rules[found].name, rule.name) << path;
    }
  }
}

TEST(Semantics7Routes, TwoParametersInOneSegmentAreOneValue) {
  EXPECT_EQ(Matched(Routes(), "GET", FillIn(kTwoInOneSegment, 0)), "GET /repos/{owner}/{repo}/compare/{basehead}");
}

TEST(Semantics7Routes, NoRouteHidesAnother) { EXPECT_TRUE(FindUnreachable(Routes()).empty()); }

TEST(Semantics7Routes, AgreeWithTheDefinition) {
  const Matcher matcher = Matcher::Compile(Routes());
  const Reference reference(Routes());
  for (size_t i = 0; i < Routes().rules.size(); i += 41) {
    const std::string path = FillIn(Routes().rules[i].path, 0) + "/more";
    for (const char* method : {"GET", "DELETE"}) {
      std::vector<uint32_t> found(Matcher::kMaxMatches);
      found.resize(matcher.MatchAll({method, path, {}}, found));
      EXPECT_EQ(found, reference.All(method, path, {})) << method << " " << path;
    }
  }
}

}  // namespace
}  // namespace ratel::test
