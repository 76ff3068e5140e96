#include "config/read.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <span>
#include <unordered_map>

#include "config/check.hpp"
#include "config/keys.hpp"
#include "config/reader.hpp"

namespace ratel {
namespace {

/// Keys that mean something only where there are limits.
constexpr auto kLimitingKeys =
    std::to_array<std::string_view>({"limits", "scope", "algorithm", "limit", "window", "burst", "overrides", "cost",
                                     "shadow", "on_store_error", "local_tier", "region"});
constexpr Micros kLeastLeaseLife = 10'000;
constexpr Micros kMostLeaseLife = 60'000'000;
constexpr uint64_t kMaxKeys = uint64_t{1} << 40;

// Bits of RL_HEADERS_* in rl.h.
constexpr uint32_t kHeadersX = 1u << 0;
constexpr uint32_t kHeadersResetDelta = 1u << 1;
constexpr uint32_t kHeadersRetryAfter = 1u << 2;
constexpr uint32_t kHeadersNone = 1u << 7;
constexpr std::array<uint32_t, kIetfWords.size()> kHeadersIetf = {0, 1u << 3, 1u << 4, 1u << 5, 1u << 6};

const char* KindOf(const Node& node) {
  if (node.IsMapping()) return "a mapping";
  if (node.IsSequence()) return "a list";
  switch (node.scalar) {
    case Node::Scalar::kInteger:
    case Node::Scalar::kNumber:
      return "a number";
    case Node::Scalar::kBool:
      return "a boolean";
    case Node::Scalar::kNull:
      return "nothing";
    case Node::Scalar::kText:
      break;
  }
  return "a text";
}

/// "the text "5"", "a list", "nothing"
std::string Shown(const Node& node) {
  if (!node.IsScalar() || node.scalar == Node::Scalar::kNull) return KindOf(node);
  return std::string(KindOf(node)) + " (" + Quote(node.text) + ")";
}

bool IsDigits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

std::string NumberText(double value) {
  char buffer[32];
  return {buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr};
}

bool IsWord(std::string_view text) {
  return text.size() <= 48 && text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
}

/// The values of a mapping by known key.
class Fields {
 public:
  Fields(std::span<const std::string_view> keys, size_t count) : keys_(keys), values_(count) {}
  const Node* operator[](std::string_view key) const {
    for (size_t i = 0; i < keys_.size(); ++i) {
      if (keys_[i] == key) return values_[i];
    }
    return nullptr;
  }
  bool HasAny(std::span<const std::string_view> keys) const {
    return std::any_of(keys.begin(), keys.end(), [this](std::string_view key) { return (*this)[key] != nullptr; });
  }
  const Node*& Slot(size_t i) { return values_[i]; }

 private:
  std::span<const std::string_view> keys_;
  std::vector<const Node*> values_;
};

class TextReader {
 public:
  TextReader(const Node& root, const std::string& file, Draft& draft) : root_(root), file_(file), draft_(draft) {}

  void Read() {
    const Where where = Where::Root();
    if (!root_.IsMapping())
      return Add(where, "a rule file is a mapping with keys such as `rules`, not " + Shown(root_));
    const Fields fields = ReadFields(root_, where, kTopKeys);
    Version(fields["version"], where.Key("version"));
    Settings(fields, where);
    if (fields["rules"] != nullptr) Rules(*fields["rules"], where.Key("rules"));
    if (const Node* node = fields["default"]) OneRule(*node, where.Key("default"), true);
  }

 private:
  // Faults.

  void Add(const Where& where, std::string message) { AddAt(Locate(where).position, where.Text(), std::move(message)); }

  void AddAt(Position position, std::string path, std::string message) {
    is_faulty_ = true;
    if (IsFull()) return;
    draft_.faults.push_back({Status::kConfig, std::move(message), file_, std::move(path), position});
  }

  /// Enough faults: more of them help nobody.
  bool IsFull() const { return draft_.faults.size() >= kMaxFaults; }

  /// The deepest node on the way.
  const Node& Locate(const Where& where) const {
    if (where.parent == nullptr) return root_;
    const Node& above = Locate(*where.parent);
    if (where.step == Where::Step::kIndex) {
      return above.IsSequence() && where.index < above.items.size() ? above.items[where.index] : above;
    }
    const Node* below = above.Find(where.key);
    return below == nullptr ? above : *below;
  }

  /// Whether a fault from the `first` on is about the value at `path` or a part of it.
  bool HasFault(size_t first, const std::string& path) const {
    const auto is_below = [&](const Error& fault) {
      if (fault.path.compare(0, path.size(), path) != 0) return false;
      return fault.path.size() == path.size() || fault.path[path.size()] == '.' || fault.path[path.size()] == '[';
    };
    return std::any_of(draft_.faults.begin() + static_cast<std::ptrdiff_t>(first), draft_.faults.end(), is_below);
  }

  // Shapes.

  Fields ReadFields(const Node& map, const Where& where, std::span<const std::string_view> keys) {
    Fields fields(keys, keys.size());
    for (size_t i = 0; i + 1 < map.items.size() && !IsFull(); i += 2) {
      const Node& key = map.items[i];
      const size_t slot = static_cast<size_t>(std::find(keys.begin(), keys.end(), key.text) - keys.begin());
      if (slot == keys.size()) {
        UnknownKey(key, where, keys);
      } else if (fields.Slot(slot) != nullptr) {
        AddAt(key.position, where.Key(key.text).Text(), "the key `" + key.text + "` is given twice");
      } else {
        fields.Slot(slot) = &map.items[i + 1];
      }
    }
    return fields;
  }

  void UnknownKey(const Node& key, const Where& where, std::span<const std::string_view> keys) {
    std::string message = "there is no key " + Quote(key.text) + " here";
    const std::string guess = DidYouMean(key.text, keys);
    message += guess.empty() ? "; known are " + List(keys) : guess;
    AddAt(key.position, (IsWord(key.text) ? where.Key(key.text) : where.Entry(key.text)).Text(), std::move(message));
  }

  bool IsMapping(const Node& node, const Where& where, const char* what) {
    if (node.IsMapping()) return true;
    Add(where, std::string(what) + " is a mapping (key: value), not " + Shown(node));
    return false;
  }

  // Scalars. Each returns nothing and adds a fault when the node is not what is due.

  std::optional<std::string> Text(const Node& node, const Where& where) {
    if (node.IsScalar() && node.scalar == Node::Scalar::kText) return node.text;
    const bool quotable = node.IsScalar() && node.scalar != Node::Scalar::kNull;
    Add(where, quotable ? "a text is due: write " + Quote(node.text) + " in quotes"
                        : std::string("a text is due, not ") + KindOf(node));
    return std::nullopt;
  }

  std::optional<bool> Bool(const Node* node, const Where& where) {
    if (node == nullptr) return std::nullopt;
    if (node->IsScalar() && node->scalar == Node::Scalar::kBool) {
      if (node->text == "true" || node->text == "false") return node->text == "true";
    }
    Add(where, "true or false is due, not " + Shown(*node));
    return std::nullopt;
  }

  std::optional<uint64_t> Integer(const Node* node, const Where& where, uint64_t least, uint64_t most) {
    if (node == nullptr) return std::nullopt;
    const std::string range = std::to_string(least) + " to " + std::to_string(most);
    if (!node->IsScalar() || node->scalar != Node::Scalar::kInteger) {
      WrongInteger(*node, where, range);
      return std::nullopt;
    }
    std::string_view digits = node->text;
    const bool negative = digits[0] == '-';
    if (negative) digits.remove_prefix(1);
    if (!IsDigits(digits) || (digits.size() > 1 && digits[0] == '0')) {
      Add(where, "a number is written in plain decimal digits, not like " + Quote(node->text));
      return std::nullopt;
    }
    uint64_t value = 0;
    const auto end = digits.data() + digits.size();
    if (negative || std::from_chars(digits.data(), end, value).ec != std::errc() || value < least || value > most) {
      Add(where, "the number is " + range + ", not " + node->text.substr(0, 24));
      return std::nullopt;
    }
    return value;
  }

  void WrongInteger(const Node& node, const Where& where, const std::string& range) {
    if (node.IsScalar() && node.scalar == Node::Scalar::kText && IsDigits(node.text)) {
      return Add(where, "a number is due and this is a text: write " + node.text.substr(0, 24) + " without quotes");
    }
    Add(where, "a whole number is due, " + range + ", not " + Shown(node));
  }

  std::optional<double> PositiveNumber(const Node* node, const Where& where) {
    if (node == nullptr) return std::nullopt;
    double value = 0;
    const bool is_number =
        node->IsScalar() && (node->scalar == Node::Scalar::kInteger || node->scalar == Node::Scalar::kNumber);
    if (is_number) {
      const auto end = node->text.data() + node->text.size();
      const auto [stop, error] = std::from_chars(node->text.data(), end, value);
      if (error == std::errc() && stop == end && value > 0 && value <= 1e6) return value;
    }
    Add(where, "a number above 0 and at most 1000000 is due, not " + Shown(*node));
    return std::nullopt;
  }

  std::optional<size_t> Word(const Node* node, const Where& where, std::span<const std::string_view> words) {
    if (node == nullptr) return std::nullopt;
    if (node->IsScalar() && node->scalar == Node::Scalar::kText) {
      const auto found = std::find(words.begin(), words.end(), node->text);
      if (found != words.end()) return static_cast<size_t>(found - words.begin());
      Add(where, Quote(node->text) + " is not one of " + OneOf(words) + DidYouMean(node->text, words));
    } else {
      Add(where, OneOf(words) + " is due, not " + Shown(*node));
    }
    return std::nullopt;
  }

  std::optional<Micros> Window(const Node* node, const Where& where) {
    if (node == nullptr) return std::nullopt;
    if (node->IsScalar() && node->scalar != Node::Scalar::kText && node->scalar != Node::Scalar::kNull) {
      Add(where, "a window is written with its unit (us, ms, s, m, h, d or w): " + Suggestion(*node));
      return std::nullopt;
    }
    const std::optional<std::string> text = Text(*node, where);
    if (!text) return std::nullopt;
    Result<Micros> window = ParseDuration(*text);
    if (window) return *window;
    Add(where, window.error().message);
    return std::nullopt;
  }

  static std::string Suggestion(const Node& node) {
    return node.scalar == Node::Scalar::kInteger && IsDigits(node.text) && node.text.size() < 12
               ? "write " + node.text + "s for seconds"
               : "such as 250ms, 1m or 1h";
  }

  // Settings.

  void Version(const Node* node, const Where& where) {
    const std::optional<uint64_t> version = Integer(node, where, 1, kMaxUnits);
    if (version && *version != 1)
      Add(where, "the format's version is 1; " + std::to_string(*version) + " is not known here");
  }

  /// Whether the setting may be taken over: no text before this one has given it another value.
  bool Give(std::string_view name, const std::string& value, const Where& where) {
    const Position position = Locate(where).position;
    const auto [entry, is_new] = draft_.given.try_emplace(std::string(name), GivenSetting{value, file_, position});
    if (is_new || entry->second.value == value) return true;
    Add(where, std::string(name) + " is another one than in " + entry->second.file + ":" +
                   std::to_string(entry->second.position.line) + ": one value holds for all files");
    return false;
  }

  void Settings(const Fields& fields, const Where& where) {
    RuleSet& set = draft_.set;
    if (const auto word = Word(fields["match"], where.Key("match"), kMatchWords)) {
      if (Give("match", std::string(kMatchWords[*word]), where.Key("match"))) set.match_all = *word == 1;
    }
    if (const auto value = Bool(fields["ignore_case"], where.Key("ignore_case"))) {
      if (Give("ignore_case", *value ? "true" : "false", where.Key("ignore_case"))) set.ignore_case = *value;
    }
    if (fields["trusted_proxies"] != nullptr) TrustedProxies(*fields["trusted_proxies"], where.Key("trusted_proxies"));
    if (const auto word = Word(fields["client_ip_from"], where.Key("client_ip_from"), kClientIpFromWords)) {
      if (Give("client_ip_from", std::string(kClientIpFromWords[*word]), where.Key("client_ip_from")))
        set.client_ip_from = static_cast<ForwardedField>(*word);
    }
    IntegerSetting(fields, where, "ipv6_prefix", 32, 128, set.ipv6_prefix);
    IntegerSetting(fields, where, "max_keys", 1, kMaxKeys, set.max_keys);
    IntegerSetting(fields, where, "instances", 1, 1'000'000, set.instances);
    if (const auto value = PositiveNumber(fields["local_factor"], where.Key("local_factor"))) {
      if (Give("local_factor", NumberText(*value), where.Key("local_factor"))) set.local_factor = *value;
    }
    LeaseLife(fields["lease_life"], where.Key("lease_life"));
    IntegerSetting(fields, where, "lease_units", 1, kMaxUnits, set.lease_units);
    if (fields["headers"] != nullptr) Headers(*fields["headers"], where.Key("headers"));
    if (fields["regions"] != nullptr) Regions(*fields["regions"], where.Key("regions"));
  }

  template <class T>
  void IntegerSetting(const Fields& fields, const Where& where, std::string_view name, uint64_t least, uint64_t most,
                      T& out) {
    const auto value = Integer(fields[name], where.Key(name), least, most);
    if (value && Give(name, std::to_string(*value), where.Key(name))) out = static_cast<T>(*value);
  }

  void LeaseLife(const Node* node, const Where& where) {
    const std::optional<Micros> life = Window(node, where);
    if (!life) return;
    if (*life < kLeastLeaseLife || *life > kMostLeaseLife)
      return Add(where, "a lease lives " + SpanToText(kLeastLeaseLife) + " to " + SpanToText(kMostLeaseLife) +
                            ", not " + SpanToText(*life));
    if (Give("lease_life", std::to_string(*life), where)) draft_.set.lease_life = *life;
  }

  void TrustedProxies(const Node& node, const Where& where) {
    if (!node.IsSequence())
      return Add(where, "a list of addresses and CIDR blocks is due, such as [10.0.0.0/8], not " + Shown(node));
    std::vector<Network> networks;
    std::vector<std::string> texts;
    for (size_t i = 0; i < node.items.size(); ++i) {
      const std::optional<std::string> text = Text(node.items[i], where.At(i));
      if (!text) continue;
      const std::optional<Network> network = Network::Parse(*text);
      if (!network) {
        Add(where.At(i),
            Quote(*text) +
                " is not an address or a CIDR block with its host bits zero, such as 10.0.0.0/8 or 2001:db8::/32");
        continue;
      }
      networks.push_back(*network);
      texts.push_back(*text);
    }
    std::sort(texts.begin(), texts.end());
    std::string canonical;
    for (const std::string& text : texts) canonical.append(text).append(" ");
    if (Give("trusted_proxies", canonical, where)) draft_.set.trusted_proxies = std::move(networks);
  }

  void Regions(const Node& node, const Where& where) {
    if (!node.IsMapping() || node.items.empty())
      return Add(where, "a mapping of each region to its weight is due, such as {eu: 5, us: 3}, not " + Shown(node));
    if (node.items.size() / 2 > kMaxRegions)
      return Add(where, "there are at most " + std::to_string(kMaxRegions) + " regions");
    std::vector<Region> regions;
    std::string canonical;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const std::string& name = node.items[i].text;
      const Where here = where.Entry(name);
      if (!IsRegionName(name))
        AddAt(node.items[i].position, here.Text(), "a region's name has 1 to 64 of a-z, A-Z, 0-9, -, _ and .");
      if (std::ranges::find(regions, name, &Region::name) != regions.end())
        AddAt(node.items[i].position, here.Text(), "the region is given twice");
      const auto weight = Integer(&node.items[i + 1], here, 1, kMaxWeight);
      if (weight) regions.push_back({name, *weight});
    }
    std::ranges::sort(regions, {}, &Region::name);
    for (const Region& region : regions) canonical += region.name + ":" + std::to_string(region.weight) + " ";
    if (Give("regions", canonical, where)) draft_.set.regions = std::move(regions);
  }

  static bool IsRegionName(std::string_view name) {
    static constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
    return !name.empty() && name.size() <= 64 && name.find_first_not_of(kCharacters) == std::string_view::npos;
  }

  void Headers(const Node& node, const Where& where) {
    uint32_t forms = kHeadersNone;
    if (node.IsMapping()) {
      forms = HeaderForms(node, where);
    } else if (!node.IsScalar() || node.text != "off" || node.scalar != Node::Scalar::kText) {
      return Add(where, "`off`, or a mapping of x_ratelimit, retry_after, reset and ietf is due, not " + Shown(node));
    }
    if (Give("headers", std::to_string(forms), where)) draft_.set.headers.forms = forms;
  }

  uint32_t HeaderForms(const Node& node, const Where& where) {
    const Fields fields = ReadFields(node, where, kHeaderKeys);
    const bool x = Bool(fields["x_ratelimit"], where.Key("x_ratelimit")).value_or(true);
    const bool retry_after = Bool(fields["retry_after"], where.Key("retry_after")).value_or(true);
    const bool delta = Word(fields["reset"], where.Key("reset"), kResetWords).value_or(0) == 1;
    uint32_t forms = kHeadersIetf[Word(fields["ietf"], where.Key("ietf"), kIetfWords).value_or(0)];
    if (x) forms |= delta ? kHeadersX | kHeadersResetDelta : kHeadersX;
    if (retry_after) forms |= kHeadersRetryAfter;
    return forms == 0 ? kHeadersNone : forms;
  }

  // Rules.

  void Rules(const Node& node, const Where& where) {
    if (!node.IsSequence()) return Add(where, "a list of rules is due, not " + Shown(node));
    draft_.set.rules.reserve(draft_.set.rules.size() + node.items.size());
    for (size_t i = 0; i < node.items.size() && !IsFull(); ++i) OneRule(node.items[i], where.At(i), false);
  }

  void OneRule(const Node& node, const Where& where, bool is_default) {
    if (!IsMapping(node, where, is_default ? "the default" : "a rule")) return;
    const size_t first_fault = draft_.faults.size();
    is_faulty_ = false;
    const std::span<const std::string_view> keys =
        is_default ? std::span<const std::string_view>(kDefaultKeys) : kRuleKeys;
    const Fields fields = ReadFields(node, where, keys);
    Rule rule;
    rule.file = file_;
    rule.position = node.position;
    rule.is_default = is_default;
    ReadName(fields, where, rule);
    ReadCoverage(fields, where, rule);
    ReadTreatment(fields, where, rule);
    const std::optional<Action> action = ReadAction(fields, where);
    bool inline_limit = true;
    if (action && action != Action::kLimit) {
      NoLimits(fields, where, *action);
    } else {
      inline_limit = ReadLimits(node, fields, where, rule);
    }
    rule.action = action.value_or(Action::kLimit);
    CheckRule(rule, where, inline_limit, [&](const Where& at, std::string message) {
      // What could not be read has been said; its stand-in value is no second fault.
      const std::string path = at.Text();
      const bool follows = HasFault(first_fault, path) || (!action && path == where.Key("limits").Text());
      if (!follows) Add(at, std::move(message));
    });
    const Node* name = fields["name"];
    const Position position = name == nullptr ? node.position : name->position;
    draft_.places.push_back({position, where.Text(), inline_limit, is_faulty_});
    draft_.set.rules.push_back(std::move(rule));
  }

  void Missing(const Where& where, std::string_view key, const char* example) {
    Add(where.Key(key), "the key `" + std::string(key) + "` is missing, such as `" + example + "`");
  }

  void ReadName(const Fields& fields, const Where& where, Rule& rule) {
    if (fields["name"] != nullptr) {
      rule.name = Text(*fields["name"], where.Key("name")).value_or(std::string());
    } else if (rule.is_default) {
      rule.name = "default";
    } else {
      Missing(where, "name", "name: create-order");
    }
  }

  void ReadCoverage(const Fields& fields, const Where& where, Rule& rule) {
    if (fields["method"] != nullptr) Methods(*fields["method"], where.Key("method"), rule);
    if (fields["path"] != nullptr) {
      const std::optional<std::string> path = Text(*fields["path"], where.Key("path"));
      if (path && path->empty()) Add(where.Key("path"), "a path starts with '/'; leave the key out for any path");
      if (path) rule.path = *path;
    }
    if (const auto word = Word(fields["path_match"], where.Key("path_match"), kPathMatchWords)) {
      rule.path_match = static_cast<PathMatch>(*word);
      if (fields["path"] == nullptr)
        Add(where.Key("path_match"), "path_match says how `path` is compared, and there is no path");
    }
    if (fields["when"] != nullptr) Conditions(*fields["when"], where.Key("when"), rule);
  }

  void Methods(const Node& node, const Where& where, Rule& rule) {
    if (!node.IsSequence()) {
      if (auto method = Text(node, where)) rule.methods.push_back(std::move(*method));
      return;
    }
    if (node.items.empty()) Add(where, "the list is empty; leave the key out for any method");
    for (size_t i = 0; i < node.items.size(); ++i) {
      if (auto method = Text(node.items[i], where.At(i))) rule.methods.push_back(std::move(*method));
    }
  }

  void Conditions(const Node& node, const Where& where, Rule& rule) {
    if (!IsMapping(node, where, "when")) return;
    if (node.items.empty()) Add(where, "there is no condition; leave the key out");
    for (size_t i = 0; i + 1 < node.items.size() && rule.when.size() <= kMaxConditions; i += 2) {
      const std::string& attribute = node.items[i].text;
      const std::optional<std::string> value = Text(node.items[i + 1], where.Entry(attribute));
      if (HasCondition(rule, attribute)) {
        AddAt(node.items[i].position, where.Entry(attribute).Text(), "the attribute is given twice");
      } else if (value) {
        rule.when.push_back({attribute, *value});
      }
    }
  }

  static bool HasCondition(const Rule& rule, const std::string& attribute) {
    return std::any_of(rule.when.begin(), rule.when.end(),
                       [&](const Condition& c) { return c.attribute == attribute; });
  }

  void ReadTreatment(const Fields& fields, const Where& where, Rule& rule) {
    rule.cost = Integer(fields["cost"], where.Key("cost"), 1, kMaxUnits).value_or(1);
    rule.shadow = Bool(fields["shadow"], where.Key("shadow")).value_or(false);
    rule.on_store_error = static_cast<OnStoreError>(
        Word(fields["on_store_error"], where.Key("on_store_error"), kOnStoreErrorWords).value_or(0));
    rule.local_tier =
        static_cast<LocalTier>(Word(fields["local_tier"], where.Key("local_tier"), kLocalTierWords).value_or(0));
    rule.is_global = Word(fields["region"], where.Key("region"), kRegionWords).value_or(0) == 1;
  }

  /// Nothing when it is given and cannot be read.
  std::optional<Action> ReadAction(const Fields& fields, const Where& where) {
    if (fields["action"] == nullptr) return Action::kLimit;
    const std::optional<size_t> word = Word(fields["action"], where.Key("action"), kActionWords);
    return word ? std::optional(static_cast<Action>(*word)) : std::nullopt;
  }

  /// Of a rule that blocks or lets through.
  void NoLimits(const Fields& fields, const Where& where, Action action) {
    const std::string word(kActionWords[static_cast<size_t>(action)]);
    for (const std::string_view key : kLimitingKeys) {
      if (fields[key] == nullptr) continue;
      Add(where.Key(key), "a rule with `action: " + word + "` has no limits: leave `" + std::string(key) + "` out");
    }
  }

  // Limits.

  /// Whether the rule has its one limit inline.
  bool ReadLimits(const Node& node, const Fields& fields, const Where& where, Rule& rule) {
    if (fields["limits"] == nullptr) {
      if (fields.HasAny(kInlineKeys)) rule.limits.push_back(OneLimit(fields, where, node.position));
      return true;
    }
    for (const std::string_view key : kInlineKeys) {
      if (fields[key] != nullptr)
        Add(where.Key(key), "the rule has `limits`: `" + std::string(key) + "` belongs into one of them");
    }
    const Node& list = *fields["limits"];
    const Where here = where.Key("limits");
    if (!list.IsSequence()) {
      Add(here, "a list of limits is due, not " + Shown(list));
      return false;
    }
    for (size_t i = 0; i < list.items.size() && rule.limits.size() <= kMaxLimits; ++i)
      ListedLimit(list.items[i], here.At(i), rule);
    return false;
  }

  void ListedLimit(const Node& node, const Where& where, Rule& rule) {
    if (!IsMapping(node, where, "a limit")) return;
    const Fields fields = ReadFields(node, where, kLimitKeys);
    Limit limit = OneLimit(fields, where, node.position);
    if (fields["name"] != nullptr) {
      limit.name = Text(*fields["name"], where.Key("name")).value_or(std::string());
      if (limit.name.empty()) Add(where.Key("name"), "a limit's name is not empty; leave the key out for a made one");
    }
    limit.shadow = Bool(fields["shadow"], where.Key("shadow")).value_or(false);
    rule.limits.push_back(std::move(limit));
  }

  Limit OneLimit(const Fields& fields, const Where& where, Position position) {
    if (fields["scope"] == nullptr) Missing(where, "scope", "scope: user");
    if (fields["limit"] == nullptr) Missing(where, "limit", "limit: 100");
    if (fields["window"] == nullptr) Missing(where, "window", "window: 1m");
    Limit limit;
    limit.position = position;
    if (fields["scope"] != nullptr) limit.scope = ReadScope(*fields["scope"], where.Key("scope"));
    limit.spec.algorithm =
        static_cast<Algorithm>(Word(fields["algorithm"], where.Key("algorithm"), kAlgorithmWords).value_or(0) + 1);
    ReadNumbers(fields, where, limit.spec);
    if (fields["overrides"] != nullptr) Overrides(*fields["overrides"], where.Key("overrides"), limit);
    return limit;
  }

  void ReadNumbers(const Fields& fields, const Where& where, LimitSpec& spec) {
    if (const auto value = Integer(fields["limit"], where.Key("limit"), 1, kMaxUnits)) spec.limit = *value;
    if (const auto value = Window(fields["window"], where.Key("window"))) spec.window = *value;
    if (const auto value = Integer(fields["burst"], where.Key("burst"), 1, kMaxUnits)) spec.burst = *value;
  }

  Scope ReadScope(const Node& node, const Where& where) {
    Scope scope;
    if (!node.IsSequence()) {
      ReadPart(node, where, scope);
      return scope;
    }
    for (size_t i = 0; i < node.items.size(); ++i) ReadPart(node.items[i], where.At(i), scope);
    return scope;
  }

  void ReadPart(const Node& node, const Where& where, Scope& scope) {
    const std::optional<std::string> text = Text(node, where);
    if (!text) return;
    if (text->find(',') != std::string::npos) return Add(where, "several parts are written as a list: [" + *text + "]");
    Result<Scope> part = ParseScope(*text);
    if (part) {
      scope.push_back(std::move(part->front()));
    } else {
      Add(where, part.error().message);
    }
  }

  void Overrides(const Node& node, const Where& where, Limit& limit) {
    if (!IsMapping(node, where, "overrides")) return;
    std::unordered_map<std::string_view, uint32_t> lines;
    for (size_t i = 0; i + 1 < node.items.size(); i += 2) {
      const Node& key = node.items[i];
      const Where here = where.Entry(key.text);
      const auto [first, is_new] = lines.try_emplace(key.text, key.position.line);
      if (!is_new) {
        AddAt(key.position, here.Text(),
              "there is an override for it in line " + std::to_string(first->second) + " already");
        continue;
      }
      if (!IsMapping(node.items[i + 1], here, "an override")) continue;
      const Fields fields = ReadFields(node.items[i + 1], here, kOverrideKeys);
      if (node.items[i + 1].items.empty()) Add(here, "an override gives at least one of limit, window and burst");
      limit.overrides.push_back({key.text, limit.spec, key.position});
      ReadNumbers(fields, here, limit.overrides.back().spec);
    }
  }

  const Node& root_;
  const std::string& file_;
  Draft& draft_;
  bool is_faulty_ = false;  ///< the rule that is being read
};

}  // namespace

void ReadText(std::string_view text, const std::string& file, Draft& draft) {
  const size_t first = draft.faults.size();
  Result<Node> root = ParseTree(text);
  if (!root) {
    draft.faults.push_back(root.error());
    draft.faults.back().file = file;
    return;
  }
  TextReader(*root, file, draft).Read();
  std::stable_sort(draft.faults.begin() + static_cast<std::ptrdiff_t>(first), draft.faults.end(),
                   [](const Error& a, const Error& b) {
                     return std::pair(a.position.line, a.position.column) <
                            std::pair(b.position.line, b.position.column);
                   });
}

}  // namespace ratel
