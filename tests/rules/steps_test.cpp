// The work of a match, counted in places looked at, not timed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "rules/build.hpp"

namespace ratel::test {
namespace {

struct Steps {
  double mean = 0;
  size_t most = 0;
};

/// What matching the i-th rule's own request costs, over a sample of the rules.
template <class MakeRule, class MakeQuery>
Steps Measure(uint32_t count, MakeRule make_rule, MakeQuery make_query) {
  std::vector<Rule> rules;
  for (uint32_t i = 0; i < count; ++i) rules.push_back(make_rule(i));
  const Matcher matcher = Matcher::Compile(SetOf(std::move(rules)));
  Steps steps;
  const uint32_t samples = std::min<uint32_t>(count, 2000);
  for (uint32_t i = 0; i < samples; ++i) {
    const uint32_t rule = static_cast<uint32_t>(uint64_t{i} * count / samples);
    const size_t cost = make_query(matcher, rule);
    steps.most = std::max(steps.most, cost);
    steps.mean += static_cast<double>(cost) / samples;
  }
  return steps;
}

template <class MakeRule, class MakeQuery>
void ExpectFlat(MakeRule make_rule, MakeQuery make_query) {
  const Steps few = Measure(10, make_rule, make_query);
  for (const uint32_t count : {1000u, 100'000u}) {
    const Steps many = Measure(count, make_rule, make_query);
    EXPECT_LE(many.mean, few.mean * 1.25 + 1) << count;
    EXPECT_LE(many.most, few.most + 24) << count;
  }
}

TEST(Semantics7Steps, DistinctPaths) {
  ExpectFlat(
      [](uint32_t i) { return RuleBuilder("r" + std::to_string(i), "/service-" + std::to_string(i) + "/orders/{id}"); },
      [](const Matcher& matcher, uint32_t i) {
        const std::string path = "/service-" + std::to_string(i) + "/orders/17";
        EXPECT_EQ(matcher.Match({"GET", path, {}}), i);
        return matcher.CountSteps({"GET", path, {}});
      });
}

TEST(Semantics7Steps, BelowOneParameter) {
  ExpectFlat(
      [](uint32_t i) { return RuleBuilder("r" + std::to_string(i), "/repos/{owner}/thing-" + std::to_string(i)); },
      [](const Matcher& matcher, uint32_t i) {
        const std::string path = "/repos/me/thing-" + std::to_string(i);
        EXPECT_EQ(matcher.Match({"GET", path, {}}), i);
        return matcher.CountSteps({"GET", path, {}});
      });
}

TEST(Semantics7Steps, OneTenantEach) {
  ExpectFlat(
      [](uint32_t i) {
        return RuleBuilder("r" + std::to_string(i), "/api").When({{"tenant", std::to_string(i)}});
      },
      [](const Matcher& matcher, uint32_t i) {
        const std::string tenant = std::to_string(i);
        const AttributeView attribute{"tenant", tenant};
        EXPECT_EQ(matcher.Match({"GET", "/api/x", {&attribute, 1}}), i);
        return matcher.CountSteps({"GET", "/api/x", {&attribute, 1}});
      });
}

TEST(Semantics7Steps, OneTenantEachAmongOtherConditions) {
  ExpectFlat(
      [](uint32_t i) {
        return RuleBuilder("r" + std::to_string(i), "/api")
            .When({{"a-tenant", std::to_string(i)}, {"plan", "pro"}, {"region", "eu"}});
      },
      [](const Matcher& matcher, uint32_t i) {
        const std::string tenant = std::to_string(i);
        const AttributeView attributes[] = {{"a-tenant", tenant}, {"plan", "pro"}, {"region", "eu"}};
        EXPECT_EQ(matcher.Match({"GET", "/api/x", attributes}), i);
        return matcher.CountSteps({"GET", "/api/x", attributes});
      });
}

TEST(Semantics7Steps, StartsWith) {
  ExpectFlat(
      [](uint32_t i) {
        return RuleBuilder("r" + std::to_string(i), "/lit-" + std::to_string(1'000'000 + i)).Literal();
      },
      [](const Matcher& matcher, uint32_t i) {
        const std::string path = "/lit-" + std::to_string(1'000'000 + i) + "-and-more";
        EXPECT_EQ(matcher.Match({"GET", path, {}}), i);
        return matcher.CountSteps({"GET", path, {}});
      });
}

TEST(Semantics7Steps, PathsThatNoRuleCovers) {
  ExpectFlat([](uint32_t i) { return RuleBuilder("r" + std::to_string(i), "/a/b" + std::to_string(i) + "/c/{x}/d"); },
             [](const Matcher& matcher, uint32_t i) {
               const std::string path = "/a/b" + std::to_string(i) + "/c/1/2/3/4/5";
               EXPECT_EQ(matcher.Match({"GET", path, {}}), Matcher::kNone);
               return matcher.CountSteps({"GET", path, {}});
             });
}

/// Every way to write `levels` segments as "a" or {x}, and behind each a segment that no request has.
RuleSet EveryCombination(unsigned levels) {
  std::vector<Rule> rules;
  for (uint32_t bits = 0; bits < 1u << levels; ++bits) {
    std::string path;
    for (unsigned level = 0; level < levels; ++level) path += bits >> level & 1 ? "/a" : "/{x}";
    rules.push_back(RuleBuilder("r" + std::to_string(bits), path + "/end" + std::to_string(bits)));
  }
  return SetOf(std::move(rules));
}

TEST(Semantics7Steps, BacktrackingIsBoundedByTheSizeOfTheRules) {
  for (const unsigned levels : {4u, 8u, 12u}) {
    const RuleSet set = EveryCombination(levels);
    const Matcher matcher = Matcher::Compile(set);
    std::string path;
    for (unsigned level = 0; level < levels; ++level) path += "/a";
    const size_t nodes = 2 * set.rules.size() + set.rules.size();
    EXPECT_EQ(matcher.Match({"GET", path + "/nowhere", {}}), Matcher::kNone);
    EXPECT_LE(matcher.CountSteps({"GET", path + "/nowhere", {}}), 8 * nodes) << levels;
  }
}

TEST(Semantics7Steps, NothingIsLookedAtThatCannotBeMoreSpecific) {
  RuleSet set = EveryCombination(10);
  std::string path;
  for (int level = 0; level < 10; ++level) path += "/a";
  set.rules.push_back(RuleBuilder("best", path + "/x/y"));
  const Matcher matcher = Matcher::Compile(set);
  EXPECT_EQ(matcher.Match({"GET", path + "/x/y", {}}), set.rules.size() - 1);
  EXPECT_LE(matcher.CountSteps({"GET", path + "/x/y", {}}), 100u);
}

TEST(Semantics7Steps, ALongPathCostsNoMoreThanTheRulesAreDeep) {
  const RuleSet set =
      SetOf({RuleBuilder("a", "/a/{x}/a/{y}"), RuleBuilder("b", "/{x}/a/{y}/a"), RuleBuilder("l", "/a/a").Literal()});
  const Matcher matcher = Matcher::Compile(set);
  const auto steps = [&](int segments) {
    std::string path;
    for (int i = 0; i < segments; ++i) path += "/a";
    return matcher.CountSteps({"GET", path, {}});
  };
  EXPECT_EQ(steps(100'000), steps(10));
}

TEST(Semantics7Steps, DeepRulesDoNoHarm) {
  std::string path;
  for (int i = 0; i < 100'000; ++i) path += i % 2 == 0 ? "/a" : "/{x}";
  std::string request;
  for (int i = 0; i < 100'000; ++i) request += "/a";
  const RuleSet set = SetOf({RuleBuilder("deep", path), RuleBuilder("other", "/a/a/a/b")});
  const Matcher matcher = Matcher::Compile(set);
  EXPECT_EQ(matcher.Match({"GET", request, {}}), 0u);
  EXPECT_EQ(matcher.Match({"GET", "/a/a/a", {}}), Matcher::kNone);
}

}  // namespace
}  // namespace ratel::test
