#include "config/diff.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>
#include <unordered_map>

#include "config/keys.hpp"
#include "config/reader.hpp"
#include "config/words.hpp"
#include "core/json.hpp"

namespace ratel {
namespace {

using Kind = Change::Kind;

template <class T, size_t N>
std::string Word(const std::array<std::string_view, N>& words, T value) {
  return std::string(words[static_cast<size_t>(value)]);
}

std::string OnOff(bool value) { return value ? "on" : "off"; }

std::string Number(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

template <class List, class ToString>
std::string Join(const List& list, ToString to_string) {
  std::string text;
  for (const auto& item : list) {
    if (!text.empty()) text += ',';
    text += to_string(item);
  }
  return text;
}

std::string MethodsOf(const Rule& rule) {
  return rule.methods.empty() ? "any" : Join(rule.methods, [](const std::string& method) { return method; });
}

std::string PathOf(const Rule& rule) { return rule.path.empty() ? "any" : rule.path; }

std::string WhenOf(const Rule& rule) {
  return rule.when.empty() ? "none"
                           : Join(rule.when, [](const Condition& c) { return c.attribute + "=" + Quote(c.value); });
}

std::string NumbersOf(const LimitSpec& spec) {
  std::string text = std::to_string(spec.limit) + " per " + FormatDuration(spec.window);
  if (spec.burst != 0) text += ", burst " + std::to_string(spec.burst);
  return text;
}

std::string Summary(const Limit& limit) {
  return NumbersOf(limit.spec) + ", " + ToText(limit.spec.algorithm) + " by " + ToText(limit.scope);
}

std::string Summary(const Rule& rule) {
  if (rule.is_default) return "the default";
  return MethodsOf(rule) + " " + PathOf(rule) + (rule.when.empty() ? "" : " when " + WhenOf(rule));
}

/// "a x -> y; b x -> y", of those that differ.
class Differences {
 public:
  void Note(std::string_view what, const std::string& before, const std::string& after) {
    if (before != after) Append(std::string(what) + " " + before + " -> " + after);
  }
  void Append(const std::string& text) {
    if (!text_.empty()) text_ += "; ";
    text_ += text;
  }
  bool empty() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

class Differ {
 public:
  Differ(const RuleSet& before, const RuleSet& after) : before_(before), after_(after) {
    for (const Rule& rule : before.rules) old_rules_.emplace(rule.name, &rule);
  }

  std::vector<Change> Run() {
    Settings();
    for (const Rule& rule : after_.rules) {
      const auto old = old_rules_.find(rule.name);
      if (old == old_rules_.end()) {
        Add(Kind::kRuleAdded, rule.name, {}, Summary(rule));
      } else {
        CompareRules(*old->second, rule);
      }
    }
    Removals();
    return std::move(changes_);
  }

 private:
  void Settings() {
    Setting("match", Word(kMatchWords, before_.match_all), Word(kMatchWords, after_.match_all));
    Setting("ignore_case", OnOff(before_.ignore_case), OnOff(after_.ignore_case));
    if (before_.trusted_proxies != after_.trusted_proxies) {
      const auto count = [](const RuleSet& set) { return std::to_string(set.trusted_proxies.size()); };
      Add(Kind::kSettingChanged, {}, {},
          "trusted_proxies: other networks (" + count(before_) + " -> " + count(after_) + ")");
    }
    Setting("client_ip_from", Word(kClientIpFromWords, static_cast<size_t>(before_.client_ip_from)),
            Word(kClientIpFromWords, static_cast<size_t>(after_.client_ip_from)));
    Setting("ipv6_prefix", std::to_string(before_.ipv6_prefix), std::to_string(after_.ipv6_prefix),
            ": IPv6 clients have other keys and start new");
    Setting("max_keys", std::to_string(before_.max_keys), std::to_string(after_.max_keys),
            ": in force with the next start");
    Setting("instances", std::to_string(before_.instances), std::to_string(after_.instances));
    Setting("local_factor", Number(before_.local_factor), Number(after_.local_factor));
    Setting("lease_life", SpanToText(before_.lease_life), SpanToText(after_.lease_life));
    Setting("lease_units", std::to_string(before_.lease_units), std::to_string(after_.lease_units));
    Setting("headers", HeadersOf(before_), HeadersOf(after_));
    Setting("regions", RegionsOf(before_), RegionsOf(after_));
  }

  static std::string RegionsOf(const RuleSet& set) {
    std::string text;
    for (const Region& region : set.regions)
      text += (text.empty() ? "" : " ") + region.name + ":" + std::to_string(region.weight);
    return text.empty() ? "none" : text;
  }

  static std::string HeadersOf(const RuleSet& set) {
    static constexpr std::array<std::string_view, 8> kForms = {"x_ratelimit", "reset-delta", "retry_after", "draft-11",
                                                               "draft-8",     "draft-7",     "draft-6",     "off"};
    std::string text;
    for (size_t bit = 0; bit < kForms.size(); ++bit) {
      if ((set.headers.forms >> bit & 1) == 0) continue;
      if (!text.empty()) text += '+';
      text += kForms[bit];
    }
    return text.empty() ? "x_ratelimit+retry_after" : text;
  }

  void Setting(const std::string& name, const std::string& before, const std::string& after,
               const char* consequence = "") {
    if (before != after) Add(Kind::kSettingChanged, {}, {}, name + " " + before + " -> " + after + consequence);
  }

  void CompareRules(const Rule& before, const Rule& after) {
    Differences differences;
    const bool same_coverage = before.methods == after.methods && before.path == after.path &&
                               before.when == after.when && before.is_default == after.is_default;
    if (!same_coverage) differences.Append("covers " + Summary(before) + " -> " + Summary(after));
    differences.Note("path_match", Word(kPathMatchWords, before.path_match), Word(kPathMatchWords, after.path_match));
    differences.Note("action", Word(kActionWords, before.action), Word(kActionWords, after.action));
    differences.Note("cost", std::to_string(before.cost), std::to_string(after.cost));
    differences.Note("shadow", OnOff(before.shadow), OnOff(after.shadow));
    differences.Note("on_store_error", Word(kOnStoreErrorWords, before.on_store_error),
                     Word(kOnStoreErrorWords, after.on_store_error));
    differences.Note("local_tier", Word(kLocalTierWords, before.local_tier), Word(kLocalTierWords, after.local_tier));
    differences.Note("region", Word(kRegionWords, before.is_global), Word(kRegionWords, after.is_global));
    if (!differences.empty()) Add(Kind::kRuleChanged, after.name, {}, differences.text());
    for (const Limit& limit : after.limits) {
      if (const Limit* old = FindLimit(before, limit.name)) {
        CompareLimits(after.name, *old, limit);
      } else {
        Add(Kind::kLimitAdded, after.name, limit.name, Summary(limit) + ": starts new");
      }
    }
  }

  static const Limit* FindLimit(const Rule& rule, const std::string& name) {
    const auto found =
        std::find_if(rule.limits.begin(), rule.limits.end(), [&](const Limit& limit) { return limit.name == name; });
    return found == rule.limits.end() ? nullptr : &*found;
  }

  void CompareLimits(const std::string& rule, const Limit& before, const Limit& after) {
    const bool starts_new = before.spec.algorithm != after.spec.algorithm || before.scope != after.scope;
    Differences differences;
    differences.Note("algorithm", ToText(before.spec.algorithm), ToText(after.spec.algorithm));
    differences.Note("scope", ToText(before.scope), ToText(after.scope));
    differences.Note("limit", NumbersOf(before.spec), NumbersOf(after.spec));
    differences.Note("shadow", OnOff(before.shadow), OnOff(after.shadow));
    CompareOverrides(before, after, differences);
    if (differences.empty()) return;
    Add(starts_new ? Kind::kLimitStartsNew : Kind::kLimitChanged, rule, after.name,
        differences.text() + (starts_new ? ": counts start new" : ": counts carry over"));
  }

  static void CompareOverrides(const Limit& before, const Limit& after, Differences& differences) {
    std::unordered_map<std::string_view, const LimitSpec*> old;
    for (const Override& entry : before.overrides) old.emplace(entry.value, &entry.spec);
    size_t added = 0;
    size_t changed = 0;
    for (const Override& entry : after.overrides) {
      const auto found = old.find(entry.value);
      if (found == old.end()) {
        ++added;
        continue;
      }
      const LimitSpec& was = *found->second;
      if (was.limit != entry.spec.limit || was.window != entry.spec.window || was.burst != entry.spec.burst) ++changed;
      old.erase(found);
    }
    if (added + changed + old.size() == 0) return;
    differences.Append("overrides: " + std::to_string(added) + " added, " + std::to_string(changed) + " changed, " +
                       std::to_string(old.size()) + " removed");
  }

  void Removals() {
    std::unordered_map<std::string_view, const Rule*> kept;
    for (const Rule& rule : after_.rules) kept.emplace(rule.name, &rule);
    for (const Rule& rule : before_.rules) {
      const auto after = kept.find(rule.name);
      if (after == kept.end()) {
        Add(Kind::kRuleRemoved, rule.name, {}, Summary(rule) + ": its counts are left to expire");
        continue;
      }
      for (const Limit& limit : rule.limits) {
        if (FindLimit(*after->second, limit.name) != nullptr) continue;
        Add(Kind::kLimitRemoved, rule.name, limit.name, Summary(limit) + ": its counts are left to expire");
      }
    }
  }

  void Add(Kind kind, std::string rule, std::string limit, std::string detail) {
    changes_.push_back({kind, std::move(rule), std::move(limit), std::move(detail)});
  }

  const RuleSet& before_;
  const RuleSet& after_;
  std::unordered_map<std::string_view, const Rule*> old_rules_;
  std::vector<Change> changes_;
};

const char* ToText(Kind kind) {
  switch (kind) {
    case Kind::kRuleAdded:
      return "rule_added";
    case Kind::kRuleRemoved:
      return "rule_removed";
    case Kind::kRuleChanged:
      return "rule_changed";
    case Kind::kLimitAdded:
      return "limit_added";
    case Kind::kLimitRemoved:
      return "limit_removed";
    case Kind::kLimitChanged:
      return "limit_changed";
    case Kind::kLimitStartsNew:
      return "limit_starts_new";
    case Kind::kSettingChanged:
      return "setting_changed";
  }
  return "";
}

/// "+ rule x", "~ rule x, limit y", ...
std::string Heading(const Change& change) {
  const bool is_new = change.kind == Kind::kRuleAdded || change.kind == Kind::kLimitAdded;
  const bool is_gone = change.kind == Kind::kRuleRemoved || change.kind == Kind::kLimitRemoved;
  std::string text = is_new ? "+ " : is_gone ? "- " : "~ ";
  if (change.rule.empty()) return text + "setting";
  text += "rule " + change.rule;
  return change.limit.empty() ? text : text + ", limit " + change.limit;
}

}  // namespace

std::vector<Change> Diff(const RuleSet& before, const RuleSet& after) { return Differ(before, after).Run(); }

std::string ToText(const std::vector<Change>& changes) {
  std::string text;
  for (const Change& change : changes) text.append(Heading(change)).append(": ").append(change.detail).append("\n");
  return text;
}

std::string ToJson(const std::vector<Change>& changes) {
  JsonWriter json;
  json.Begin('[');
  for (const Change& change : changes) {
    json.Begin('{').Name("kind").Text(ToText(change.kind)).Name("rule").Text(change.rule);
    json.Name("limit").Text(change.limit).Name("detail").Text(change.detail).End('}');
  }
  json.End(']');
  return json.Take();
}

}  // namespace ratel
