// Rules for tests, in one line each.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "rules/matcher.hpp"
#include "rules/rule.hpp"

namespace ratel::test {

struct RuleBuilder {
  Rule rule;

  RuleBuilder(std::string name, std::string path) {
    rule.name = std::move(name);
    rule.path = std::move(path);
  }
  RuleBuilder& Methods(std::vector<std::string> methods) {
    std::sort(methods.begin(), methods.end());
    rule.methods = std::move(methods);
    return *this;
  }
  RuleBuilder& When(std::vector<Condition> conditions) {
    std::sort(conditions.begin(), conditions.end());
    rule.when = std::move(conditions);
    return *this;
  }
  RuleBuilder& Exact() {
    rule.path_match = PathMatch::kExact;
    return *this;
  }
  RuleBuilder& Literal() {
    rule.path_match = PathMatch::kLiteral;
    return *this;
  }
  RuleBuilder& Default() {
    rule.is_default = true;
    return *this;
  }
  operator Rule() const { return rule; }  // NOLINT(google-explicit-constructor)
};

inline RuleSet SetOf(std::vector<Rule> rules) {
  RuleSet set;
  set.rules = std::move(rules);
  return set;
}

/// The name of the rule that a request gets, "-" for none.
inline std::string Matched(const RuleSet& set, std::string_view method, std::string_view path,
                           std::vector<AttributeView> attributes = {}) {
  const uint32_t rule = Matcher::Compile(set).Match({method, path, attributes});
  return rule == Matcher::kNone ? "-" : set.rules.at(rule).name;
}

/// The names of all rules that a request meets, joined by blanks.
inline std::string AllMatched(const RuleSet& set, std::string_view method, std::string_view path,
                              std::vector<AttributeView> attributes = {}, size_t room = Matcher::kMaxMatches) {
  std::vector<uint32_t> out(room);
  out.resize(Matcher::Compile(set).MatchAll({method, path, attributes}, out));
  std::string names;
  for (const uint32_t rule : out) names += (names.empty() ? "" : " ") + set.rules.at(rule).name;
  return names;
}

}  // namespace ratel::test
