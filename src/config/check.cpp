#include "config/check.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <unordered_set>

#include "config/keys.hpp"
#include "config/reader.hpp"
#include "rules/path.hpp"

namespace ratel {
namespace {

constexpr size_t kMaxMethod = 64;
constexpr size_t kMaxOverrideNumbers = 1000;

bool IsPrintable(char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; }

bool IsName(std::string_view text) {
  return !text.empty() && text.size() <= kMaxName && std::all_of(text.begin(), text.end(), IsPrintable);
}

/// An attribute's name: as above, without what separates parts in texts.
bool IsAttributeName(std::string_view text) {
  return IsName(text) && text.find_first_of(" ,=") == std::string_view::npos;
}

bool IsAlphanumeric(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool IsTokenCharacter(char c) {
  return IsAlphanumeric(c) || std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

std::string ToCapitals(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

constexpr char kNameForm[] = "1 to 128 printable ASCII characters without quotes and backslashes";
constexpr char kAttributeForm[] =
    "1 to 128 printable ASCII characters without blanks, commas, '=', quotes and backslashes";

class Checker {
 public:
  Checker(Rule& rule, const FaultSink& fault) : rule_(rule), fault_(fault) {}

  void Check(const Where& where, bool inline_limit) {
    if (!CheckWords(where)) return;
    if (!CheckCounts(where)) return;
    CheckName(where);
    CheckMethods(where.Key("method"));
    if (!rule_.path.empty()) CheckPath(where.Key("path"));
    CheckConditions(where.Key("when"));
    CheckDefault(where);
    if (rule_.cost < 1 || rule_.cost > kMaxUnits) fault_(where.Key("cost"), "a cost is 1 to 9007199254740991 units");
    CheckAction(where);
    const Where limits = where.Key("limits");
    for (size_t i = 0; i < rule_.limits.size(); ++i) {
      CheckLimit(rule_.limits[i], inline_limit ? where : limits.At(i), where);
    }
    CheckLimitNames(limits);
    std::sort(rule_.methods.begin(), rule_.methods.end());
    std::sort(rule_.when.begin(), rule_.when.end());
  }

 private:
  /// Code can make enums of any number.
  bool CheckWords(const Where& where) {
    const bool path_match = CheckWord(rule_.path_match, kPathMatchWords, where.Key("path_match"));
    const bool on_store_error = CheckWord(rule_.on_store_error, kOnStoreErrorWords, where.Key("on_store_error"));
    const bool local_tier = CheckWord(rule_.local_tier, kLocalTierWords, where.Key("local_tier"));
    const bool action = CheckWord(rule_.action, kActionWords, where.Key("action"));
    return path_match && on_store_error && local_tier && action;
  }

  bool CheckCounts(const Where& where) {
    const bool methods = CheckCount(rule_.methods.size(), kMaxMethods, "methods", where.Key("method"));
    const bool conditions = CheckCount(rule_.when.size(), kMaxConditions, "conditions", where.Key("when"));
    const bool limits = CheckCount(rule_.limits.size(), kMaxLimits, "limits", where.Key("limits"));
    return methods && conditions && limits;
  }

  bool CheckCount(size_t count, size_t most, const char* what, const Where& where) {
    if (count <= most) return true;
    fault_(where, "a rule has at most " + std::to_string(most) + " " + what);
    return false;
  }

  template <class Enum>
  bool CheckWord(Enum value, std::span<const std::string_view> words, const Where& where) {
    if (static_cast<size_t>(value) < words.size()) return true;
    fault_(where, OneOf(words) + " is due");
    return false;
  }

  void CheckName(const Where& where) {
    if (!IsName(rule_.name)) fault_(where.Key("name"), std::string("a rule's name has ") + kNameForm);
  }

  void CheckMethods(const Where& where) {
    if (rule_.methods.size() == 1 && rule_.methods[0] == "*") rule_.methods.clear();
    std::set<std::string_view> seen;
    for (size_t i = 0; i < rule_.methods.size(); ++i) {
      const std::string& method = rule_.methods[i];
      const Where here = rule_.methods.size() == 1 ? where : where.At(i);
      if (method == "*") {
        fault_(here, "\"*\" means any method and stands alone");
      } else if (method.empty() || method.size() > kMaxMethod ||
                 !std::all_of(method.begin(), method.end(), IsTokenCharacter)) {
        fault_(here, Quote(method) + " is not an HTTP method");
      } else if (const std::string capitals = ToCapitals(method); capitals != method) {
        fault_(here, "methods are written in capitals: " + capitals);
      } else if (!seen.insert(method).second) {
        fault_(here, "the method " + method + " is given twice");
      }
    }
  }

  void CheckPath(const Where& where) {
    const std::string& path = rule_.path;
    if (path[0] != '/') return fault_(where, "a path starts with '/', not like " + Quote(path));
    if (path.size() > kMaxPath) return fault_(where, "a path has at most 4096 bytes");
    if (std::any_of(path.begin(), path.end(), [](char c) { return (c >= 0 && c <= 0x20) || c == 0x7F; })) {
      return fault_(where, "a path has no blanks and no control characters; write %20 for a blank");
    }
    if (std::string normal = NormalizePath(path); normal != path) {
      return fault_(where, "a path is written in normal form: " + normal);
    }
    CheckSegments(where);
  }

  void CheckSegments(const Where& where) {
    std::set<std::string_view> names;
    std::string_view rest = rule_.path;
    while (!rest.empty()) {
      rest.remove_prefix(1);
      const std::string_view segment = rest.substr(0, rest.find('/'));
      rest.remove_prefix(segment.size());
      if (segment == "*" || segment == "**") {
        return fault_(where,
                      "'*' is not a wildcard: {name} stands for one segment, and a prefix covers all that is below it");
      }
      if (!segment.empty() && segment[0] == ':') {
        return fault_(where, "write {" + std::string(segment.substr(1)) + "}, not " + std::string(segment));
      }
      if (segment.find_first_of("{}") == std::string_view::npos) continue;
      if (!CheckParameter(segment, names, where)) return;
    }
  }

  bool CheckParameter(std::string_view segment, std::set<std::string_view>& names, const Where& where) {
    const auto is_word = [](char c) { return IsAlphanumeric(c) || c == '_'; };
    const bool braced = segment.size() > 2 && segment.front() == '{' && segment.back() == '}';
    const std::string_view name = braced ? segment.substr(1, segment.size() - 2) : std::string_view();
    if (name.empty() || !std::all_of(name.begin(), name.end(), is_word)) {
      fault_(where,
             "{name} stands for a whole segment, its name made of letters, digits and '_'; not like " + Quote(segment));
    } else if (rule_.path_match == PathMatch::kLiteral) {
      fault_(where, "path_match: literal compares bytes; it has no {name} segments");
    } else if (!names.insert(name).second) {
      fault_(where, "{" + std::string(name) + "} is given twice");
    } else {
      return true;
    }
    return false;
  }

  void CheckConditions(const Where& where) {
    std::set<std::string_view> seen;
    for (const Condition& condition : rule_.when) {
      const Where here = where.Entry(condition.attribute);
      if (!IsAttributeName(condition.attribute)) {
        fault_(here, std::string("an attribute's name has ") + kAttributeForm);
      } else if (!seen.insert(condition.attribute).second) {
        fault_(here, "the attribute is given twice");
      }
      if (condition.value.empty())
        fault_(here, "the value is empty: no request could be told from one without the attribute");
    }
  }

  void CheckDefault(const Where& where) {
    if (!rule_.is_default) return;
    if (!rule_.methods.empty()) fault_(where.Key("method"), "the default covers what no rule covers: it has no method");
    if (!rule_.path.empty()) fault_(where.Key("path"), "the default covers what no rule covers: it has no path");
    if (!rule_.when.empty()) fault_(where.Key("when"), "the default covers what no rule covers: it has no conditions");
  }

  void CheckAction(const Where& where) {
    if (rule_.action == Action::kLimit) {
      if (rule_.limits.empty())
        fault_(where.Key("limits"), "the rule has no limit: give scope, limit and window, or `limits`");
      return;
    }
    const std::string action =
        std::string("`action: ") + std::string(kActionWords[static_cast<size_t>(rule_.action)]) + "`";
    if (!rule_.limits.empty())
      fault_(where.Key("action"), action + " has no limits: leave them out, or write `action: limit`");
    if (rule_.shadow)
      fault_(where.Key("shadow"), action + " counts nothing that a shadow could watch: leave `shadow` out");
  }

  void CheckLimit(Limit& limit, const Where& here, const Where& rule) {
    CheckScope(limit.scope, here.Key("scope"));
    if (CheckSpec(limit.spec, here)) CheckCost(limit, rule);
    CheckOverrides(limit, here.Key("overrides"));
  }

  void CheckScope(const Scope& scope, const Where& where) {
    if (scope.empty()) return fault_(where, "a limit needs a scope: " + OneOf(kScopeWords) + ", or a list of these");
    if (scope.size() > kMaxScopeParts) return fault_(where, "a scope has at most 8 parts");
    for (size_t i = 0; i < scope.size(); ++i) {
      const Where here = scope.size() == 1 ? where : where.At(i);
      const bool is_attribute = scope[i].part == ScopePart::kAttribute;
      if (is_attribute && !IsAttributeName(scope[i].attribute)) {
        fault_(here, std::string("an attribute's name has ") + kAttributeForm);
      }
      if (scope[i].part == ScopePart::kGlobal && scope.size() > 1)
        fault_(here, "global is one budget for all: it stands alone");
      if (std::find(scope.begin(), scope.begin() + static_cast<std::ptrdiff_t>(i), scope[i]) !=
          scope.begin() + static_cast<std::ptrdiff_t>(i)) {
        fault_(here, "the part " + Quote(ToText(Scope{scope[i]})) + " is given twice");
      }
    }
  }

  /// Whether the numbers are good.
  bool CheckSpec(const LimitSpec& spec, const Where& where) {
    const bool limit_ok = CheckUnits(spec.limit, 1, "limit", where);
    const bool window_ok = CheckWindow(spec.window, where.Key("window"));
    if (!CheckUnits(spec.burst, 0, "burst", where) || !limit_ok || !window_ok) return false;
    const Result<Numbers> numbers = Resolve(spec);
    if (!numbers)
      fault_(numbers.error().path.empty() ? where.Key("limit") : where.Key(numbers.error().path),
             numbers.error().message);
    return numbers.ok();
  }

  bool CheckUnits(uint64_t value, uint64_t least, const char* key, const Where& where) {
    if (value >= least && value <= kMaxUnits) return true;
    fault_(where.Key(key), std::string(key) + " is 1 to 9007199254740991");
    return false;
  }

  bool CheckWindow(Micros window, const Where& where) {
    if (window >= 1 && window <= kMaxWindow) return true;
    fault_(where, "a window is longer than zero and at most ten years (3653d)");
    return false;
  }

  void CheckCost(const Limit& limit, const Where& rule) {
    const auto capacity = [](const LimitSpec& spec) { return spec.burst != 0 ? spec.burst : spec.limit; };
    uint64_t largest = capacity(limit.spec);
    for (const Override& entry : limit.overrides) largest = std::max(largest, capacity(entry.spec));
    if (rule_.cost <= largest || limit.shadow || rule_.shadow || rule_.cost > kMaxUnits) return;
    fault_(rule.Key("cost"), "a cost of " + std::to_string(rule_.cost) + " never fits: the limit's capacity is " +
                                 std::to_string(largest));
  }

  void CheckOverrides(Limit& limit, const Where& where) {
    if (limit.overrides.empty()) return;
    if (limit.scope.size() > 1)
      return fault_(where, "overrides need a scope of one part: a composite key has no single value");
    if (limit.scope.size() == 1 && limit.scope[0].part == ScopePart::kGlobal) {
      return fault_(where, "a global limit has one key: there is nothing to override");
    }
    const bool by_address = limit.scope.size() == 1 && limit.scope[0].part == ScopePart::kIp;
    std::unordered_set<std::string> seen;
    std::set<std::tuple<uint64_t, Micros, uint64_t>> numbers;
    for (Override& entry : limit.overrides) {
      numbers.emplace(entry.spec.limit, entry.spec.window, entry.spec.burst);
      const std::string written = entry.value;
      const Where here = where.Entry(written);
      if (entry.value.empty()) fault_(here, "an override needs the value that it is for");
      if (by_address && !MakeCanonical(entry.value))
        fault_(here, "the scope is ip, and " + Quote(written) + " is not an address");
      if (!seen.insert(entry.value).second) fault_(here, "there is an override for " + Quote(entry.value) + " already");
      if (entry.spec.algorithm != limit.spec.algorithm) fault_(here, "an override keeps the limit's algorithm");
      // What it took over from a faulty limit has been reported there.
      if (entry.spec != limit.spec) CheckSpec(entry.spec, here);
    }
    if (numbers.size() > kMaxOverrideNumbers) {
      fault_(where, "any number of values may be overridden, but with at most " + std::to_string(kMaxOverrideNumbers) +
                        " different sets of numbers; these are " + std::to_string(numbers.size()));
    }
  }

  static bool MakeCanonical(std::string& value) {
    const std::optional<Address> address = Address::Parse(value);
    if (address) value = address->ToText();
    return address.has_value();
  }

  /// Given names are checked; the others are made from the rule's name or the scope, never from the numbers.
  void CheckLimitNames(const Where& limits) {
    std::set<std::string> taken;
    for (size_t i = 0; i < rule_.limits.size(); ++i) {
      const std::string& name = rule_.limits[i].name;
      if (name.empty()) continue;
      const Where here = limits.At(i);
      if (!IsName(name)) fault_(here.Key("name"), std::string("a limit's name has ") + kNameForm);
      if (!taken.insert(name).second) fault_(here.Key("name"), "the rule has a limit " + Quote(name) + " already");
    }
    for (Limit& limit : rule_.limits) {
      if (!limit.name.empty()) continue;
      const std::string base = rule_.limits.size() == 1 ? rule_.name : ToText(limit.scope);
      limit.name = base;
      for (size_t n = 2; !taken.insert(limit.name).second; ++n) limit.name = base + "-" + std::to_string(n);
    }
  }

  Rule& rule_;
  const FaultSink& fault_;
};

Result<ScopeElement> ParsePart(std::string_view text) {
  static constexpr std::string_view kAttribute = "attribute:";
  if (text == "user") return ScopeElement{ScopePart::kUser, {}};
  if (text == "api_key") return ScopeElement{ScopePart::kApiKey, {}};
  if (text == "ip") return ScopeElement{ScopePart::kIp, {}};
  if (text == "global") return ScopeElement{ScopePart::kGlobal, {}};
  if (text.substr(0, kAttribute.size()) == kAttribute) {
    return ScopeElement{ScopePart::kAttribute, std::string(text.substr(kAttribute.size()))};
  }
  std::string message =
      "there is no scope " + Quote(text) + "; it is " + OneOf(kScopeWords) + DidYouMean(text, kScopeWords);
  return Error{Status::kInvalidArgument, std::move(message), {}, {}, {}};
}

}  // namespace

void CheckRule(Rule& rule, const Where& where, bool inline_limit, const FaultSink& fault) {
  Checker(rule, fault).Check(where, inline_limit);
}

void ValidateRule(Rule& rule, std::string_view where, std::vector<Error>& faults) {
  CheckRule(rule, Where::Root(where), false, [&](const Where& at, std::string message) {
    faults.push_back({Status::kConfig, std::move(message), rule.file, at.Text(), rule.position});
  });
}

Result<Scope> ParseScope(std::string_view text) {
  Scope scope;
  while (true) {
    const size_t comma = text.find(',');
    Result<ScopeElement> part = ParsePart(text.substr(0, comma));
    if (!part) return part.error();
    scope.push_back(std::move(*part));
    if (comma == std::string_view::npos) return scope;
    text.remove_prefix(comma + 1);
  }
}

}  // namespace ratel
