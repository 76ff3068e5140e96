// From a tree of nodes to rules and settings: shapes, types, words and keys. Values are left to check.hpp.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/node.hpp"
#include "config/words.hpp"
#include "rules/rule.hpp"

namespace ratel {

/// A top-level setting as a text has given it.
struct GivenSetting {
  std::string value;  ///< canonical, to compare
  std::string file;
  Position position;
};

/// Where a rule of a text stands.
struct RulePlace {
  Position name;     ///< of the name's value, else of the rule
  std::string path;  ///< "rules[2]" or "default"
  bool inline_limit = false;
  bool faulty = false;
};

inline constexpr size_t kMaxFaults = 1000;  ///< of one report

/// What has been read so far, from any number of texts.
struct Draft {
  RuleSet set;                    ///< settings in force so far and the new rules
  std::vector<RulePlace> places;  ///< of set.rules
  std::map<std::string, GivenSetting, std::less<>> given;
  std::vector<Error> faults;
};

/// Reads a text into `draft`; its faults are appended in the order of their positions.
void ReadText(std::string_view text, const std::string& file, Draft& draft);

}  // namespace ratel
