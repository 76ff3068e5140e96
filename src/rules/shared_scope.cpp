#include "rules/shared_scope.hpp"

#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "rules/pattern.hpp"

namespace ratel {
namespace {

/// A limit with its rule.
struct Place {
  const Rule* rule;
  const Limit* limit;
};

bool HasMethodInCommon(const Rule& a, const Rule& b) {
  if (a.methods.empty() || b.methods.empty()) return true;
  return std::ranges::any_of(
      a.methods, [&](const std::string& method) { return std::ranges::find(b.methods, method) != b.methods.end(); });
}

bool AgreeOnConditions(const Rule& a, const Rule& b) {
  for (const Condition& one : a.when) {
    for (const Condition& other : b.when) {
      if (one.attribute == other.attribute && one.value != other.value) return false;
    }
  }
  return true;
}

/// False only when no path can match both.
bool MayCoverOnePath(const Pattern& a, const Pattern& b) {
  if (a.match == PathMatch::kLiteral || b.match == PathMatch::kLiteral) return true;
  const size_t both = std::min(a.segments.size(), b.segments.size());
  for (size_t i = 0; i < both; ++i) {
    const Pattern::Segment& one = a.segments[i];
    const Pattern::Segment& other = b.segments[i];
    if (!one.parameter && !other.parameter && a.TextOf(one) != b.TextOf(other)) return false;
  }
  const bool a_ends = a.match == PathMatch::kExact && a.segments.size() == both && b.segments.size() > both;
  const bool b_ends = b.match == PathMatch::kExact && b.segments.size() == both && a.segments.size() > both;
  return !a_ends && !b_ends;
}

/// Rules in lots: those of one lot can meet in a request, directly or through others.
class Lots {
 public:
  explicit Lots(const RuleSet& set) : parents_(set.rules.size()) {
    std::iota(parents_.begin(), parents_.end(), size_t{0});
    if (!set.match_all) return;
    std::vector<Pattern> patterns;
    for (const Rule& rule : set.rules) patterns.push_back(MakePattern(rule, set.ignore_case));
    for (size_t i = 0; i < set.rules.size(); ++i) {
      for (size_t k = i + 1; k < set.rules.size(); ++k) {
        const Rule& a = set.rules[i];
        const Rule& b = set.rules[k];
        if (a.limits.empty() || b.limits.empty() || a.is_default || b.is_default) continue;
        if (Of(i) == Of(k)) continue;
        if (HasMethodInCommon(a, b) && AgreeOnConditions(a, b) && MayCoverOnePath(patterns[i], patterns[k]))
          parents_[Of(k)] = Of(i);
      }
    }
  }
  size_t Of(size_t rule) {
    while (parents_[rule] != rule) rule = parents_[rule] = parents_[parents_[rule]];
    return rule;
  }

 private:
  std::vector<size_t> parents_;
};

bool Before(const ScopeElement& a, const ScopeElement& b) {
  return std::tie(a.part, a.attribute) < std::tie(b.part, b.attribute);
}

/// In one order, without what says nothing about who asks.
Scope PartsOf(const Scope& scope) {
  Scope parts;
  std::ranges::copy_if(scope, std::back_inserter(parts),
                       [](const ScopeElement& element) { return element.part != ScopePart::kGlobal; });
  std::ranges::sort(parts, Before);
  return parts;
}

Scope Intersect(const Scope& a, const Scope& b) {
  Scope both;
  std::ranges::set_intersection(a, b, std::back_inserter(both), Before);
  return both;
}

Scope SharedBy(const std::vector<Place>& limits) {
  if (limits.empty()) return {};
  const Scope& first = limits.front().limit->scope;
  if (std::ranges::all_of(limits, [&](const Place& one) { return one.limit->scope == first; })) return first;
  Scope shared = PartsOf(first);
  for (const Place& one : limits) shared = Intersect(shared, PartsOf(one.limit->scope));
  return shared;
}

/// For each lot, by the number that Lots gives it: its limits.
std::vector<std::vector<Place>> LimitsByLot(const RuleSet& set, Lots& lots) {
  std::vector<std::vector<Place>> limits(set.rules.size());
  for (size_t i = 0; i < set.rules.size(); ++i) {
    for (const Limit& limit : set.rules[i].limits) limits[lots.Of(i)].push_back({&set.rules[i], &limit});
  }
  return limits;
}

/// Two that have nothing in common, else the first and the one by which nothing is left.
std::pair<Place, Place> Opponents(const std::vector<Place>& limits) {
  for (size_t i = 0; i < limits.size(); ++i) {
    for (size_t k = i + 1; k < limits.size(); ++k) {
      if (SharedBy({limits[i], limits[k]}).empty()) return {limits[i], limits[k]};
    }
  }
  for (size_t count = 2; count < limits.size(); ++count) {
    if (SharedBy({limits.begin(), limits.begin() + static_cast<std::ptrdiff_t>(count)}).empty())
      return {limits.front(), limits[count - 1]};
  }
  return {limits.front(), limits.back()};
}

std::string Named(const Place& place, bool with_rule) {
  std::string text = "limit \"" + place.limit->name + "\" (" + ToText(place.limit->scope) + ")";
  if (with_rule) text += " of rule \"" + place.rule->name + "\"";
  return text;
}

Error Unshared(const std::vector<Place>& limits) {
  const auto [one, other] = Opponents(limits);
  const bool apart = one.rule != other.rule;
  Error error;
  error.status = Status::kConfig;
  error.message =
      (apart ? "match: all: " : "rule \"" + one.rule->name + "\": ") + Named(one, apart) + " and " +
      Named(other, apart) + (SharedBy({one, other}).empty() ? "" : ", with those between them,") +
      " have no part of a scope in common, so a cluster cannot decide on them together: let all share one "
      "(such as tenant and tenant,user), or put slot=rule into the URL, which keeps all keys of the rule on "
      "one node";
  error.file = other.rule->file;
  error.position = other.limit->position;
  return error;
}

}  // namespace

std::vector<SharedScope> FindSharedScopes(const RuleSet& set) {
  Lots lots(set);
  const auto limits = LimitsByLot(set, lots);
  std::vector<SharedScope> by_lot(set.rules.size());
  std::vector<SharedScope> out;
  for (size_t i = 0; i < set.rules.size(); ++i) {
    by_lot[i].scope = SharedBy(limits[i]);
    for (const Place& one : limits[i]) {
      if (by_lot[i].name.empty() || one.rule->name < by_lot[i].name) by_lot[i].name = one.rule->name;
    }
  }
  out.reserve(set.rules.size());
  for (size_t i = 0; i < set.rules.size(); ++i) out.push_back(by_lot[lots.Of(i)]);
  return out;
}

std::vector<Error> FindUnshared(const RuleSet& set) {
  Lots lots(set);
  std::vector<Error> faults;
  for (const std::vector<Place>& limits : LimitsByLot(set, lots)) {
    if (!limits.empty() && SharedBy(limits).empty()) faults.push_back(Unshared(limits));
  }
  return faults;
}

}  // namespace ratel
