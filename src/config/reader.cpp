#include "config/reader.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <tuple>
#include <unordered_map>

#include "config/check.hpp"
#include "config/files.hpp"
#include "config/read.hpp"
#include "rules/matcher.hpp"

namespace ratel {

struct RuleSetBuilder::State {
  RuleSet set;
  std::map<std::string, GivenSetting, std::less<>> given;
  std::unordered_map<std::string, uint32_t> names;  ///< of set.rules, by index
};

namespace {

using Names = std::unordered_map<std::string, uint32_t>;

std::string PlaceOf(const Rule& rule) {
  return rule.position.line == 0 ? rule.file : rule.file + ":" + std::to_string(rule.position.line);
}

Error FaultAt(const Rule& rule, Position position, std::string path, std::string message) {
  return {Status::kConfig, std::move(message), rule.file, std::move(path), position};
}

/// Everything of a set but its rules.
RuleSet SettingsOf(const RuleSet& set) {
  RuleSet settings;
  settings.match_all = set.match_all;
  settings.ignore_case = set.ignore_case;
  settings.trusted_proxies = set.trusted_proxies;
  settings.client_ip_from = set.client_ip_from;
  settings.ipv6_prefix = set.ipv6_prefix;
  settings.max_keys = set.max_keys;
  settings.instances = set.instances;
  settings.local_factor = set.local_factor;
  settings.lease_life = set.lease_life;
  settings.lease_units = set.lease_units;
  settings.headers = set.headers;
  settings.regions = set.regions;
  return settings;
}

std::string NeverReached(const Rule& because_of) {
  return "no request reaches the rule: " + Quote(because_of.name) + " in " + PlaceOf(because_of) +
         " covers all of its requests and is preferred; change path, method or when of one of them";
}

std::string Hides(const Rule& rule) {
  return "no request reaches " + Quote(rule.name) + " in " + PlaceOf(rule) +
         " any more: this rule covers all of its requests and is preferred; change path, method or when of one of them";
}

const Rule* FindDefault(const std::vector<Rule>& rules) {
  const auto found = std::find_if(rules.begin(), rules.end(), [](const Rule& rule) { return rule.is_default; });
  return found == rules.end() ? nullptr : &*found;
}

bool IsByAddress(const Limit& limit) { return limit.scope.size() == 1 && limit.scope[0].part == ScopePart::kIp; }

/// Cuts the addresses of a rule's overrides, as the requests' addresses are; two that fall together are a fault.
void CutOverrides(Rule& rule, const RulePlace& place, unsigned ipv6_prefix, std::vector<Error>& faults) {
  const Where where = Where::Root(place.path);
  const Where limits = where.Key("limits");
  for (size_t i = 0; i < rule.limits.size(); ++i) {
    Limit& limit = rule.limits[i];
    if (!IsByAddress(limit)) continue;
    const Where here = limits.At(i);
    const Where overrides = (place.inline_limit ? where : here).Key("overrides");
    std::unordered_map<std::string, std::string> cut;
    for (Override& entry : limit.overrides) {
      const std::optional<Address> address = Address::Parse(entry.value);
      if (!address) continue;
      const std::string whole = entry.value;
      entry.value = address->Cut(ipv6_prefix).ToText();
      const auto [other, is_new] = cut.try_emplace(entry.value, whole);
      if (is_new || other->second == whole) continue;
      faults.push_back(FaultAt(rule, entry.position, overrides.Entry(whole).Text(),
                               "the override for " + other->second +
                                   " is for the same clients: ipv6_prefix cuts both to " + entry.value + "/" +
                                   std::to_string(ipv6_prefix)));
    }
  }
}

/// A rule that has IPv6 overrides, which were cut to the prefix known when it was added.
const Rule* FindCutRule(const std::vector<Rule>& rules) {
  for (const Rule& rule : rules) {
    for (const Limit& limit : rule.limits) {
      const bool is_cut = IsByAddress(limit) &&
                          std::any_of(limit.overrides.begin(), limit.overrides.end(),
                                      [](const Override& entry) { return entry.value.find(':') != std::string::npos; });
      if (is_cut) return &rule;
    }
  }
  return nullptr;
}

/// What one text cannot know: the other texts' rules.
class SetChecker {
 public:
  SetChecker(const RuleSet& old, const Names& old_names, Draft& draft)
      : old_(old), old_names_(old_names), draft_(draft) {}

  void Check() {
    CheckNames();
    CheckDefaults();
    CheckAddresses();
    CheckReach();
  }
  Names& names() { return names_; }

 private:
  void CheckNames() {
    const std::vector<Rule>& rules = draft_.set.rules;
    for (size_t i = 0; i < rules.size(); ++i) {
      if (rules[i].name.empty()) continue;
      const auto old = old_names_.find(rules[i].name);
      const Rule* other = old == old_names_.end() ? nullptr : &old_.rules[old->second];
      const auto [entry, is_new] = names_.try_emplace(rules[i].name, static_cast<uint32_t>(old_.rules.size() + i));
      if (other == nullptr && !is_new) other = &rules[entry->second - old_.rules.size()];
      if (other == nullptr) continue;
      const RulePlace& place = draft_.places[i];
      Add(FaultAt(
          rules[i], place.name, place.path + ".name",
          "the name " + Quote(rules[i].name) + " is taken by the rule in " + PlaceOf(*other) + ": names are unique"));
    }
  }

  void CheckDefaults() {
    const Rule* first = FindDefault(old_.rules);
    for (size_t i = 0; i < draft_.set.rules.size(); ++i) {
      const Rule& rule = draft_.set.rules[i];
      if (!rule.is_default) continue;
      if (first == nullptr) {
        first = &rule;
        continue;
      }
      Add(FaultAt(rule, rule.position, draft_.places[i].path, "there is a default in " + PlaceOf(*first) + " already"));
    }
  }

  void CheckAddresses() {
    const unsigned prefix = draft_.set.ipv6_prefix;
    for (size_t i = 0; i < draft_.set.rules.size(); ++i) {
      CutOverrides(draft_.set.rules[i], draft_.places[i], prefix, draft_.faults);
    }
    if (prefix == old_.ipv6_prefix) return;
    const Rule* cut = FindCutRule(old_.rules);
    if (cut == nullptr) return;
    const GivenSetting& given = draft_.given.find("ipv6_prefix")->second;
    Add({Status::kConfig,
         "ipv6_prefix comes too late for the overrides in " + PlaceOf(*cut) + ": load the text that gives it first",
         given.file, "ipv6_prefix", given.position});
  }

  /// Among the rules that are right by themselves.
  void CheckReach() {
    RuleSet all = SettingsOf(draft_.set);
    std::vector<const RulePlace*> places(old_.rules.size(), nullptr);
    all.rules = old_.rules;
    for (size_t i = 0; i < draft_.set.rules.size(); ++i) {
      if (draft_.places[i].faulty) continue;
      all.rules.push_back(draft_.set.rules[i]);
      places.push_back(&draft_.places[i]);
    }
    for (const Unreachable& pair : FindUnreachable(all)) {
      const Rule& rule = all.rules[pair.rule];
      const Rule& other = all.rules[pair.because_of];
      if (places[pair.rule] != nullptr) {
        Add(FaultAt(rule, rule.position, places[pair.rule]->path, NeverReached(other)));
      } else {
        const RulePlace* place = places[pair.because_of];
        Add(FaultAt(other, other.position, place == nullptr ? std::string() : place->path, Hides(rule)));
      }
    }
  }

  void Add(Error fault) {
    if (draft_.faults.size() < kMaxFaults) draft_.faults.push_back(std::move(fault));
  }

  const RuleSet& old_;
  const Names& old_names_;
  Draft& draft_;
  Names names_;
};

/// By file in the order of loading, then by position.
void SortFaults(const std::vector<std::string>& files, std::vector<Error>& faults) {
  std::unordered_map<std::string_view, size_t> order;
  for (const std::string& file : files) order.try_emplace(file, order.size());
  std::stable_sort(faults.begin(), faults.end(), [&](const Error& a, const Error& b) {
    return std::tuple(order[a.file], a.position.line, a.position.column) <
           std::tuple(order[b.file], b.position.line, b.position.column);
  });
}

}  // namespace

RuleSetBuilder::RuleSetBuilder() : state_(std::make_unique<State>()) {}
RuleSetBuilder::~RuleSetBuilder() = default;
RuleSetBuilder::RuleSetBuilder(RuleSetBuilder&&) noexcept = default;
RuleSetBuilder& RuleSetBuilder::operator=(RuleSetBuilder&&) noexcept = default;

const RuleSet& RuleSetBuilder::rules() const { return state_->set; }

void RuleSetBuilder::Clear() {
  *state_ = State();
  faults_.clear();
}

bool RuleSetBuilder::AddText(std::string_view text, std::string_view file_name) {
  return AddTexts({{text, std::string(file_name)}});
}

bool RuleSetBuilder::AddPath(const std::string& path) {
  faults_.clear();
  Result<std::vector<std::string>> files = ListRuleFiles(path);
  if (!files) {
    faults_.push_back(files.error());
    return false;
  }
  std::vector<std::string> bytes;
  std::vector<Text> texts;
  bytes.reserve(files->size());
  for (const std::string& file : *files) {
    Result<std::string> text = ReadFile(file);
    if (!text) {
      faults_.push_back(text.error());
      continue;
    }
    texts.push_back({bytes.emplace_back(std::move(*text)), file});
  }
  return faults_.empty() && AddTexts(texts);
}

bool RuleSetBuilder::AddTexts(const std::vector<Text>& texts) {
  faults_.clear();
  Draft draft;
  draft.set = SettingsOf(state_->set);
  draft.given = state_->given;
  std::vector<std::string> files;
  for (const Text& text : texts) {
    ReadText(text.text, text.file, draft);
    files.push_back(text.file);
  }
  SetChecker checker(state_->set, state_->names, draft);
  checker.Check();
  if (!draft.faults.empty()) {
    SortFaults(files, draft.faults);
    faults_ = std::move(draft.faults);
    return false;
  }
  std::vector<Rule>& rules = state_->set.rules;
  rules.reserve(rules.size() + draft.set.rules.size());
  state_->names.reserve(rules.size() + draft.set.rules.size());
  // From here on nothing throws.
  state_->names.merge(checker.names());
  std::move(draft.set.rules.begin(), draft.set.rules.end(), std::back_inserter(rules));
  draft.set.rules = std::move(rules);
  state_->set = std::move(draft.set);
  state_->given = std::move(draft.given);
  return true;
}

bool RuleSetBuilder::AddRule(Rule rule) {
  faults_.clear();
  if (rule.file.empty()) rule.file = "<rule>";
  ValidateRule(rule, {}, faults_);
  const auto name = state_->names.find(rule.name);
  if (name != state_->names.end()) {
    const Rule& other = state_->set.rules[name->second];
    faults_.push_back(
        FaultAt(rule, rule.position, "name",
                "the name " + Quote(rule.name) + " is taken by the rule in " + PlaceOf(other) + ": names are unique"));
  }
  if (const Rule* other = rule.is_default ? FindDefault(state_->set.rules) : nullptr) {
    faults_.push_back(FaultAt(rule, rule.position, {}, "there is a default in " + PlaceOf(*other) + " already"));
  }
  CutOverrides(rule, RulePlace(), state_->set.ipv6_prefix, faults_);
  if (!faults_.empty()) return false;
  std::vector<Rule>& rules = state_->set.rules;
  if (rules.size() == rules.capacity()) rules.reserve(std::max<size_t>(16, rules.size() * 2));
  state_->names.emplace(rule.name, static_cast<uint32_t>(rules.size()));
  rules.push_back(std::move(rule));
  return true;
}

bool RuleSetBuilder::Check() {
  faults_.clear();
  const std::vector<Rule>& rules = state_->set.rules;
  for (const Unreachable& pair : FindUnreachable(state_->set)) {
    const Rule& rule = rules[pair.rule];
    const Rule& other = rules[pair.because_of];
    faults_.push_back(FaultAt(rule, rule.position, {}, NeverReached(other)));
  }
  return faults_.empty();
}

}  // namespace ratel
