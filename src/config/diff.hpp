// What a reload would change, told before it is done.
#pragma once

#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace ratel {

struct Change {
  enum class Kind : uint8_t {
    kRuleAdded,
    kRuleRemoved,
    kRuleChanged,
    kLimitAdded,
    kLimitRemoved,
    kLimitChanged,
    kLimitStartsNew,
    kSettingChanged
  } kind;
  std::string rule;    ///< empty for a setting
  std::string limit;   ///< empty when it is about the rule
  std::string detail;  ///< one line: "limit 10 -> 20 per 1m: counts carry over"
};

/// In the order of the new set, removals last.
std::vector<Change> Diff(const RuleSet& before, const RuleSet& after);
std::string ToText(const std::vector<Change>& changes);  ///< one line each
std::string ToJson(const std::vector<Change>& changes);

}  // namespace ratel
