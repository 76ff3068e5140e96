#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "rules/matcher.hpp"
#include "rules/pattern.hpp"

namespace ratel {
namespace {

/// Rules that cover the same paths under the same conditions: which methods are taken, and by whom.
struct Taken {
  uint32_t any_method = Matcher::kNone;
  std::map<std::string_view, uint32_t> methods;

  /// The rule that has taken every method that `rule` covers (of several the one with its first method), else kNone.
  uint32_t Owner(const Rule& rule, bool any_counts) const {
    if (rule.methods.empty() || (any_counts && any_method != Matcher::kNone)) return any_method;
    for (const std::string& method : rule.methods) {
      if (!methods.contains(method)) return Matcher::kNone;
    }
    return methods.at(rule.methods.front());
  }

  void Take(const Rule& rule, uint32_t number) {
    if (rule.methods.empty()) any_method = number;
    for (const std::string& method : rule.methods) methods.emplace(method, number);
  }
};

void AppendWithSize(std::string_view piece, std::string& key) {
  key += std::to_string(piece.size());
  key += ':';
  key += piece;
}

std::string KeyOf(const Rule& rule, PathMatch match, std::string_view text) {
  std::string key = std::to_string(static_cast<int>(match));
  AppendWithSize(text, key);
  for (const Condition& condition : rule.when) {
    AppendWithSize(condition.attribute, key);
    AppendWithSize(condition.value, key);
  }
  return key;
}

using TakenByKey = std::unordered_map<std::string, Taken>;

/// "/api/" as literal covers less than "/api" as prefix and comes after it, also when that one names no method.
uint32_t OwnerBesideLiteral(const TakenByKey& taken, const Rule& rule, const Pattern& pattern) {
  if (pattern.match != PathMatch::kLiteral || pattern.text.back() != '/') return Matcher::kNone;
  const std::string_view prefix = std::string_view(pattern.text).substr(0, pattern.text.size() - 1);
  const auto found = taken.find(KeyOf(rule, PathMatch::kPrefix, prefix));
  return found == taken.end() ? Matcher::kNone : found->second.Owner(rule, true);
}

bool CoversEverything(const Rule& rule, const Pattern& pattern) {
  return pattern.text.empty() && rule.methods.empty() && rule.when.empty();
}

}  // namespace

std::vector<Unreachable> FindUnreachable(const RuleSet& set) {
  const RankedRules ranked = RankRules(set, TieBreak::kPlace);
  std::vector<Unreachable> found;
  TakenByKey taken;
  uint32_t everything = Matcher::kNone;
  for (const uint32_t number : ranked.order) {
    const Rule& rule = set.rules[number];
    const Pattern& pattern = ranked.patterns[number];
    if (everything == Matcher::kNone && CoversEverything(rule, pattern)) everything = number;
    if (set.match_all) continue;
    Taken& same = taken[KeyOf(rule, pattern.match, pattern.text)];
    uint32_t owner = same.Owner(rule, false);
    if (owner == Matcher::kNone) owner = OwnerBesideLiteral(taken, rule, pattern);
    if (owner != Matcher::kNone) {
      found.push_back({number, owner});
    } else {
      same.Take(rule, number);
    }
  }
  for (uint32_t i = 0; i < set.rules.size() && everything != Matcher::kNone; ++i) {
    if (set.rules[i].is_default) found.push_back({i, everything});
  }
  return found;
}

}  // namespace ratel
