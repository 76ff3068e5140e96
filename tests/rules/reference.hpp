// Which rules cover a request, and which is more specific: by definition, one rule after the other. Shares no code with the matcher.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "rules/matcher.hpp"
#include "rules/rule.hpp"

namespace ratel::test {

class Reference {
 public:
  explicit Reference(const RuleSet& set) : set_(set) {}

  /// Rules whose path covers the query, most specific first.
  std::vector<uint32_t> CoveringPath(std::string_view path) const {
    std::vector<uint32_t> found;
    for (uint32_t i = 0; i < set_.rules.size(); ++i) {
      if (!set_.rules[i].is_default && CoversPath(set_.rules[i], path)) found.push_back(i);
    }
    std::sort(found.begin(), found.end(), [&](uint32_t a, uint32_t b) { return OrderOf(a) < OrderOf(b); });
    return found;
  }

  static bool CoversMethod(const Rule& rule, std::string_view method) {
    const std::string capitals = InCase(method, 'a', 'z', -32);
    return rule.methods.empty() || std::find(rule.methods.begin(), rule.methods.end(), capitals) != rule.methods.end();
  }

  static bool CoversAttributes(const Rule& rule, const std::vector<AttributeView>& attributes) {
    return std::all_of(rule.when.begin(), rule.when.end(), [&](const Condition& condition) {
      const auto first = std::find_if(attributes.begin(), attributes.end(),
                                      [&](AttributeView view) { return view.name == condition.attribute; });
      return first != attributes.end() && first->value == condition.value;
    });
  }

  /// Every rule that covers the query, most specific first; the default when there is none.
  std::vector<uint32_t> All(std::string_view method, std::string_view path,
                            const std::vector<AttributeView>& attributes) const {
    std::vector<uint32_t> found;
    for (const uint32_t i : CoveringPath(path)) {
      const Rule& rule = set_.rules[i];
      if (CoversMethod(rule, method) && CoversAttributes(rule, attributes)) found.push_back(i);
    }
    for (uint32_t i = 0; i < set_.rules.size() && found.empty(); ++i) {
      if (set_.rules[i].is_default) found.push_back(i);
    }
    return found;
  }

 private:
  static std::string InCase(std::string_view text, char from, char to, int shift) {
    std::string result(text);
    for (char& c : result) {
      if (c >= from && c <= to) c = static_cast<char>(c + shift);
    }
    return result;
  }

  std::string Cased(std::string_view text) const {
    return set_.ignore_case ? InCase(text, 'A', 'Z', 32) : std::string(text);
  }

  static std::vector<std::string> Split(std::string_view path) {
    std::vector<std::string> segments;
    std::string segment;
    for (const char c : std::string(path) + "/") {
      if (c != '/') {
        segment += c;
      } else if (!segment.empty()) {
        segments.push_back(segment);
        segment.clear();
      }
    }
    return segments;
  }

  static bool IsParameter(const std::string& segment) {
    return segment.front() == '{' && segment.back() == '}' && std::count(segment.begin(), segment.end(), '{') == 1 &&
           std::count(segment.begin(), segment.end(), '}') == 1;
  }

  bool CoversPath(const Rule& rule, std::string_view path) const {
    if (rule.path.empty()) return true;
    const std::string wanted = Cased(rule.path);
    const std::string given = Cased(path);
    if (rule.path_match == PathMatch::kLiteral) return given.compare(0, wanted.size(), wanted) == 0;
    const std::vector<std::string> pattern = Split(wanted);
    const std::vector<std::string> segments = Split(given);
    if (pattern.size() > segments.size()) return false;
    for (size_t i = 0; i < pattern.size(); ++i) {
      if (!IsParameter(pattern[i]) && pattern[i] != segments[i]) return false;
    }
    if (rule.path_match == PathMatch::kPrefix) return true;
    return pattern.size() == segments.size() && (wanted.back() == '/') == (given.back() == '/');
  }

  /// Ascending: the smaller the more specific.
  using Order = std::tuple<size_t, std::string, int, size_t, bool, size_t, std::vector<std::string>, size_t,
                           std::vector<std::string>, std::vector<std::string>, std::string>;
  Order OrderOf(uint32_t index) const {
    const Rule& rule = set_.rules[index];
    const bool literal = rule.path_match == PathMatch::kLiteral;
    std::string kinds;
    for (const std::string& segment : Split(rule.path)) kinds += !literal && IsParameter(segment) ? 'P' : 'L';
    // "/" as starts-with covers just what "/" as prefix covers.
    const bool starts_with = literal && rule.path != "/";
    const int kind = rule.path_match == PathMatch::kExact ? 0 : starts_with ? 2 : 1;
    std::vector<std::string> names;
    std::vector<std::string> values;
    for (const Condition& condition : rule.when) {
      names.push_back(condition.attribute);
      values.push_back(condition.value);
    }
    const size_t shorter = starts_with ? SIZE_MAX - rule.path.size() : 0;
    return {
        SIZE_MAX - kinds.size(), kinds,  kind,         shorter,  rule.methods.empty(), SIZE_MAX - names.size(), names,
        rule.methods.size(),     values, rule.methods, rule.name};
  }

  const RuleSet& set_;
};

}  // namespace ratel::test
