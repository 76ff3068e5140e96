// Any bytes as a rule file: rules that keep their promises, or faults that say where.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "config/diff.hpp"
#include "config/reader.hpp"
#include "rules/matcher.hpp"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void CheckRules(const ratel::RuleSet& set) {
  for (ratel::Rule rule : set.rules) {
    Require(!rule.name.empty() && rule.path.find("//") == std::string::npos);
    Require(rule.limits.empty() == (rule.action != ratel::Action::kLimit));
    for (const ratel::Limit& limit : rule.limits) {
      Require(!limit.name.empty() && ratel::Resolve(limit.spec).ok());
      for (const ratel::Override& entry : limit.overrides) Require(ratel::Resolve(entry.spec).ok());
    }
    std::vector<ratel::Error> faults;
    ratel::ValidateRule(rule, "rule", faults);
    Require(faults.empty());
  }
  Require(ratel::Diff(set, set).empty());
  (void)ratel::Matcher::Compile(set);
}

void CheckFaults(const std::vector<ratel::Error>& faults) {
  Require(!faults.empty());
  for (const ratel::Error& fault : faults) {
    Require(!fault.message.empty() && fault.message.find('\n') == std::string::npos);
    Require(fault.position.line > 0 && fault.position.column > 0);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  ratel::RuleSetBuilder builder;
  if (builder.AddText(text, "fuzz")) {
    CheckRules(builder.rules());
  } else {
    CheckFaults(builder.faults());
    Require(builder.rules().rules.empty());
  }
  const ratel::Result<ratel::Micros> span = ratel::ParseDuration(text);
  if (span) Require(*ratel::ParseDuration(ratel::FormatDuration(*span)) == *span);
  return 0;
}
