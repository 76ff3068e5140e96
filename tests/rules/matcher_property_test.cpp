// The compiled matcher against the definition, on random rule sets.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "rules/build.hpp"
#include "rules/pattern.hpp"
#include "rules/reference.hpp"

namespace ratel::test {
namespace {

class Generator {
 public:
  explicit Generator(uint32_t seed) : random_(seed) {}

  RuleSet Rules() {
    RuleSet set;
    set.ignore_case = Chance(3);
    set.match_all = Chance(2);
    long_words_ = Chance(3);
    const size_t count = Below(24);
    for (size_t i = 0; i < count; ++i) set.rules.push_back(MakeRule("r" + std::to_string(i)));
    if (Chance(2)) set.rules.push_back(RuleBuilder("default", "").Default());
    std::shuffle(set.rules.begin(), set.rules.end(), random_);
    return set;
  }

  std::string Path() {
    std::string path;
    for (size_t depth = Below(6); depth > 0; --depth)
      path += "/" + Word(Pick({"a", "b", "A", "ab", "abc-abc-abc-abc-abc", "x"}));
    return path.empty() ? "/" : path + (Chance(4) ? "/" : "");
  }

  std::string Method() { return Pick({"GET", "POST", "PUT", "get", "TRACE", ""}); }

  std::vector<AttributeView> Attributes() {
    std::vector<AttributeView> attributes;
    for (const char* name : {"plan", "region", "plan"}) {
      if (Chance(2)) attributes.push_back({name, values_[Below(3)]});
    }
    return attributes;
  }

  void Shuffle(RuleSet& set) { std::shuffle(set.rules.begin(), set.rules.end(), random_); }

 private:
  size_t Below(size_t n) { return random_() % n; }
  bool Chance(size_t one_in) { return Below(one_in) == 0; }
  std::string Pick(const std::vector<std::string>& from) { return from[Below(from.size())]; }

  /// In some sets the short words are others, that begin alike and end where a machine word does, or nearly.
  std::string Word(const std::string& word) const {
    if (!long_words_) return word;
    if (word == "a") return "abcdefgh";
    if (word == "b") return "abcdefgh-";
    if (word == "A") return "abcdefghabcdefgH";
    if (word == "ab") return "abcdefghabcdefghi";
    return word == "x" ? "abcdefg" : word;
  }

  Rule MakeRule(std::string name) {
    std::string path;
    for (size_t depth = Below(5); depth > 0; --depth) {
      path += "/" + Word(Pick({"a", "b", "A", "{p}", "{q}", "{}", "abc-abc-abc-abc-abc", "ab"}));
    }
    if (path.empty() ? Chance(2) : Chance(4)) path += "/";
    RuleBuilder builder(std::move(name), path);
    if (!path.empty() && Chance(4)) builder.Exact();
    if (!path.empty() && Chance(4)) builder.Literal();
    std::vector<std::string> methods;
    for (const char* method : {"GET", "POST", "PUT"}) {
      if (Chance(3)) methods.push_back(method);
    }
    builder.Methods(methods);
    std::vector<Condition> when;
    for (const char* attribute : {"plan", "region"}) {
      if (Chance(4)) when.push_back({attribute, std::string(values_[Below(3)])});
    }
    return builder.When(when);
  }

  static constexpr std::string_view values_[] = {"pro", "free", ""};
  std::mt19937 random_;
  bool long_words_ = false;
};

std::string Describe(const RuleSet& set) {
  std::string text = set.ignore_case ? "ignore case\n" : "";
  for (const Rule& rule : set.rules) {
    text += rule.name + " " + std::to_string(static_cast<int>(rule.path_match)) + " '" + rule.path + "'";
    for (const std::string& method : rule.methods) text += " " + method;
    for (const Condition& condition : rule.when) text += " " + condition.attribute + "=" + condition.value;
    text += "\n";
  }
  return text;
}

TEST(Semantics7RulesProperty, MatchAndMatchAllAgreeWithTheDefinition) {
  Generator generator(1);
  for (int round = 0; round < 600; ++round) {
    const RuleSet set = generator.Rules();
    const Matcher matcher = Matcher::Compile(set);
    const Reference reference(set);
    for (int i = 0; i < 40; ++i) {
      const std::string method = generator.Method();
      const std::string path = generator.Path();
      const std::vector<AttributeView> attributes = generator.Attributes();
      const std::vector<uint32_t> expected = reference.All(method, path, attributes);
      ASSERT_EQ(matcher.Match({method, path, attributes}), expected.empty() ? Matcher::kNone : expected.front())
          << method << " " << path << "\n"
          << Describe(set);
      for (const size_t room : {size_t{1}, size_t{3}, Matcher::kMaxMatches}) {
        std::vector<uint32_t> found(room);
        found.resize(matcher.MatchAll({method, path, attributes}, found));
        std::vector<uint32_t> first = expected;
        first.resize(std::min(room, first.size()));
        ASSERT_EQ(found, first) << method << " " << path << "\n" << Describe(set);
      }
    }
  }
}

TEST(Semantics7RulesProperty, ExplainAgreesWithTheDefinition) {
  Generator generator(2);
  for (int round = 0; round < 400; ++round) {
    const RuleSet set = generator.Rules();
    const Matcher matcher = Matcher::Compile(set);
    const Reference reference(set);
    for (int i = 0; i < 10; ++i) {
      const std::string method = generator.Method();
      const std::string path = generator.Path();
      const std::vector<AttributeView> attributes = generator.Attributes();
      std::vector<std::pair<uint32_t, int>> expected;
      bool matched = false;
      for (const uint32_t rule : reference.CoveringPath(path)) {
        const bool method_holds = Reference::CoversMethod(set.rules[rule], method);
        const bool holds = method_holds && Reference::CoversAttributes(set.rules[rule], attributes);
        const bool applies = holds && (set.match_all || !matched);
        matched |= holds;
        if (!applies) expected.emplace_back(rule, holds ? 2 : method_holds ? 1 : 0);
      }
      std::vector<std::pair<uint32_t, int>> found;
      for (const Matcher::PassedOver& passed : matcher.Explain({method, path, attributes})) {
        found.emplace_back(passed.rule, static_cast<int>(passed.why));
      }
      ASSERT_EQ(found, expected) << method << " " << path << "\n" << Describe(set);
    }
  }
}

std::vector<std::string> NamesOf(const RuleSet& set, const std::vector<uint32_t>& rules) {
  std::vector<std::string> names;
  for (const uint32_t rule : rules) names.push_back(set.rules[rule].name);
  return names;
}

TEST(Semantics7RulesProperty, TheOrderInTheFileDoesNotMatter) {
  Generator generator(3);
  for (int round = 0; round < 500; ++round) {
    const RuleSet set = generator.Rules();
    RuleSet shuffled = set;
    generator.Shuffle(shuffled);
    const Matcher of_set = Matcher::Compile(set);
    const Matcher of_shuffled = Matcher::Compile(shuffled);
    for (int i = 0; i < 20; ++i) {
      const std::string method = generator.Method();
      const std::string path = generator.Path();
      const std::vector<AttributeView> attributes = generator.Attributes();
      std::vector<uint32_t> found(Matcher::kMaxMatches);
      std::vector<uint32_t> found_shuffled(Matcher::kMaxMatches);
      found.resize(of_set.MatchAll({method, path, attributes}, found));
      found_shuffled.resize(of_shuffled.MatchAll({method, path, attributes}, found_shuffled));
      ASSERT_EQ(NamesOf(set, found), NamesOf(shuffled, found_shuffled)) << Describe(set);
    }
  }
}

/// Whether two rules say the same thing under two names.
bool AreTwins(const RuleSet& set, const Rule& a, const Rule& b) {
  const Pattern of_a = MakePattern(a, set.ignore_case);
  const Pattern of_b = MakePattern(b, set.ignore_case);
  return of_a.match == of_b.match && of_a.text == of_b.text && a.methods == b.methods && a.when == b.when;
}

RuleSet WithoutUnreachable(const RuleSet& set) {
  RuleSet rest = set;
  std::vector<bool> drop(set.rules.size());
  for (const Unreachable& pair : FindUnreachable(set)) {
    EXPECT_FALSE(drop[pair.rule]) << "reported twice";
    EXPECT_FALSE(drop[pair.because_of]) << "unreachable because of a rule that is unreachable itself";
    drop[pair.rule] = true;
  }
  rest.rules.clear();
  for (size_t i = 0; i < set.rules.size(); ++i) {
    if (!drop[i]) rest.rules.push_back(set.rules[i]);
  }
  return rest;
}

TEST(Semantics7RulesProperty, UnreachableRulesMakeNoDifference) {
  Generator generator(4);
  size_t dropped = 0;
  for (int round = 0; round < 600; ++round) {
    RuleSet set = generator.Rules();
    set.match_all = false;
    const RuleSet rest = WithoutUnreachable(set);
    dropped += set.rules.size() - rest.rules.size();
    EXPECT_TRUE(FindUnreachable(rest).empty()) << Describe(set);
    const Matcher of_set = Matcher::Compile(set);
    const Matcher of_rest = Matcher::Compile(rest);
    for (int i = 0; i < 60; ++i) {
      const std::string method = generator.Method();
      const std::string path = generator.Path();
      const std::vector<AttributeView> attributes = generator.Attributes();
      const uint32_t before = of_set.Match({method, path, attributes});
      const uint32_t after = of_rest.Match({method, path, attributes});
      ASSERT_EQ(before == Matcher::kNone, after == Matcher::kNone) << Describe(set);
      if (before == Matcher::kNone) continue;
      ASSERT_TRUE(AreTwins(set, set.rules[before], rest.rules[after])) << method << " " << path << "\n"
                                                                       << Describe(set);
    }
  }
  EXPECT_GT(dropped, 100u);
}

}  // namespace
}  // namespace ratel::test
