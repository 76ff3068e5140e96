#include "rules/pattern.hpp"

#include <algorithm>
#include <compare>

#include "rules/text_key.hpp"

namespace ratel {
namespace {

/// One pair of braces around the whole segment; "{a}.{b}" is plain text.
bool IsParameter(std::string_view segment) {
  return segment.size() >= 2 && segment.front() == '{' && segment.find_first_of("{}", 1) == segment.size() - 1 &&
         segment.back() == '}';
}

void AppendSegment(std::string_view segment, Pattern& pattern) {
  const bool parameter = pattern.match != PathMatch::kLiteral && IsParameter(segment);
  if (parameter) segment = "{}";
  pattern.text += '/';
  pattern.segments.push_back(
      {static_cast<uint32_t>(pattern.text.size()), static_cast<uint32_t>(segment.size()), parameter});
  pattern.text += segment;
}

std::strong_ordering Compare(std::string_view a, std::string_view b) { return a <=> b; }

/// Less = more specific; equal = the same paths.
std::strong_ordering ComparePaths(const Pattern& a, const Pattern& b) {
  if (auto order = b.segments.size() <=> a.segments.size(); std::is_neq(order)) return order;
  for (size_t i = 0; i < a.segments.size(); ++i) {
    if (auto order = a.segments[i].parameter <=> b.segments[i].parameter; std::is_neq(order)) return order;
  }
  static_assert(PathMatch::kPrefix < PathMatch::kLiteral && PathMatch::kLiteral < PathMatch::kExact);
  const auto kind = [](PathMatch match) { return match == PathMatch::kExact ? 0 : 1 + static_cast<int>(match); };
  if (auto order = kind(a.match) <=> kind(b.match); std::is_neq(order)) return order;
  if (auto order = b.text.size() <=> a.text.size(); std::is_neq(order)) return order;
  return Compare(a.text, b.text);
}

std::strong_ordering CompareAttributes(const Rule& a, const Rule& b) {
  if (auto order = b.when.size() <=> a.when.size(); std::is_neq(order)) return order;
  for (size_t i = 0; i < a.when.size(); ++i) {
    if (auto order = Compare(a.when[i].attribute, b.when[i].attribute); std::is_neq(order)) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering CompareTies(const Rule& a, const Rule& b) {
  if (auto order = a.methods.size() <=> b.methods.size(); std::is_neq(order)) return order;
  for (size_t i = 0; i < a.when.size(); ++i) {
    if (auto order = Compare(a.when[i].value, b.when[i].value); std::is_neq(order)) return order;
  }
  for (size_t i = 0; i < a.methods.size(); ++i) {
    if (auto order = Compare(a.methods[i], b.methods[i]); std::is_neq(order)) return order;
  }
  return std::strong_ordering::equal;
}

}  // namespace

Pattern MakePattern(const Rule& rule, bool ignore_case) {
  Pattern pattern;
  pattern.match = rule.path_match;
  if (rule.path.empty() || (rule.path == "/" && rule.path_match != PathMatch::kExact)) {
    pattern.match = PathMatch::kPrefix;
    return pattern;
  }
  std::string_view path(rule.path);
  const bool slash_at_end = path.back() == '/';
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    if (end > at) AppendSegment(path.substr(at, end - at), pattern);
    at = end + 1;
  }
  if (slash_at_end && pattern.match != PathMatch::kPrefix) pattern.text += '/';
  if (ignore_case) pattern.text = FoldCase(std::string_view(pattern.text));
  return pattern;
}

RankedRules RankRules(const RuleSet& set, TieBreak tie_break) {
  RankedRules ranked;
  ranked.patterns.resize(set.rules.size());
  for (uint32_t i = 0; i < set.rules.size(); ++i) {
    if (set.rules[i].is_default) continue;
    ranked.patterns[i] = MakePattern(set.rules[i], set.ignore_case);
    ranked.order.push_back(i);
  }
  std::sort(ranked.order.begin(), ranked.order.end(), [&](uint32_t left, uint32_t right) {
    const Rule& a = set.rules[left];
    const Rule& b = set.rules[right];
    if (auto order = ComparePaths(ranked.patterns[left], ranked.patterns[right]); std::is_neq(order))
      return std::is_lt(order);
    if (a.methods.empty() != b.methods.empty()) return b.methods.empty();
    if (auto order = CompareAttributes(a, b); std::is_neq(order)) return std::is_lt(order);
    if (auto order = CompareTies(a, b); std::is_neq(order)) return std::is_lt(order);
    if (tie_break == TieBreak::kName && a.name != b.name) return a.name < b.name;
    return left < right;
  });
  return ranked;
}

}  // namespace ratel
