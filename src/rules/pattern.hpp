// A rule's path taken apart, and the order of specificity between rules.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"

namespace ratel {

/// Two rules whose patterns are equal cover the same paths.
struct Pattern {
  struct Segment {
    uint32_t begin = 0;  ///< in `text`
    uint32_t size = 0;
    bool parameter = false;
  };

  PathMatch match = PathMatch::kPrefix;
  /// Starts with '/' unless it is the prefix that covers everything (empty). Folded when case does not count, "{}" for every parameter, no slash at
  /// the end of a prefix.
  std::string text;
  std::vector<Segment> segments;

  std::string_view TextOf(const Segment& segment) const {
    return std::string_view(text).substr(segment.begin, segment.size);
  }
};

Pattern MakePattern(const Rule& rule, bool ignore_case);

/// The rules of a set but its default, most specific first.
struct RankedRules {
  std::vector<Pattern> patterns;  ///< by index in the set; empty ones for the default
  std::vector<uint32_t> order;    ///< indices in the set
};
/// Rules that are equal in all they cover stand by their name, or with `TieBreak::kPlace` as in the set.
enum class TieBreak : uint8_t { kName, kPlace };
RankedRules RankRules(const RuleSet& set, TieBreak tie_break);

}  // namespace ratel
