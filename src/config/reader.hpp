// Rule files: YAML (JSON is YAML) with positions, validated into rules; every fault of a file in one report.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "rules/rule.hpp"

namespace ratel {

/// Collects rules from texts, files, folders and code, then validates them as one set. One thread at a time.
class RuleSetBuilder {
 public:
  RuleSetBuilder();
  ~RuleSetBuilder();
  RuleSetBuilder(RuleSetBuilder&&) noexcept;
  RuleSetBuilder& operator=(RuleSetBuilder&&) noexcept;

  /// Adds a text's rules; returns false when it has faults (see faults()), and then nothing of it was added.
  bool AddText(std::string_view text, std::string_view file_name);
  /// A file, or every *.yaml, *.yml and *.json of a folder in name order (dot entries are not read): all of them or none.
  bool AddPath(const std::string& path);
  /// A rule made in code, checked like one from a file; faults have `file` "<rule>". Whether rules hide each other is left
  /// to Check, so that adding many stays cheap.
  bool AddRule(Rule rule);
  /// The whole set once more: false when a rule can never be reached. Needed after AddRule only.
  bool Check();

  /// Faults of the last Add or Check that failed, in file order. `path` says where ("rules[2].limits[0].window"), `message`
  /// what is wrong and what would be right.
  const std::vector<Error>& faults() const { return faults_; }
  const RuleSet& rules() const;
  void Clear();

 private:
  struct Text {
    std::string_view text;
    std::string file;
  };
  bool AddTexts(const std::vector<Text>& texts);

  struct State;
  std::unique_ptr<State> state_;
  std::vector<Error> faults_;
};

/// Parsing helpers that other folders may use. Their errors have a message only.
Result<Micros> ParseDuration(std::string_view text);  ///< "250ms", "1m", "1h30m", "1.5s"; a unit is required
Result<Scope> ParseScope(std::string_view text);      ///< "user", "attribute:tenant", "user,ip"
std::string FormatDuration(Micros span);              ///< "250ms", "1m30s"; ParseDuration reads it back

/// Checks one rule's values (not its relation to others); appends faults with `path` under `where`. Fills in defaults (limit
/// names), sorts methods and conditions, makes addresses in overrides canonical.
void ValidateRule(Rule& rule, std::string_view where, std::vector<Error>& faults);

}  // namespace ratel
