#include "limiter/snapshot.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "rules/key.hpp"

namespace ratel {
namespace {

/// This process's share of a limit: limit / instances * factor, at least 1. Where that number cannot be exact, the next smaller one that can.
Numbers LocalShare(const Numbers& numbers, uint32_t instances, double factor) {
  const auto share = [&](uint64_t units) {
    const double part = static_cast<double>(units) / instances * factor;
    return part < 1.0 ? uint64_t{1} : static_cast<uint64_t>(std::min(part, 9007199254740991.0));
  };
  LimitSpec spec = numbers.spec;
  spec.limit = share(spec.limit);
  if (spec.burst != 0) spec.burst = share(spec.burst);
  for (int attempts = 0; attempts < 1000 && spec.limit > 1; ++attempts, --spec.limit) {
    if (const Result<Numbers> local = Resolve(spec)) return *local;
  }
  spec.limit = 1;
  const Result<Numbers> least = Resolve(spec);
  return least ? *least : numbers;
}

}  // namespace

std::shared_ptr<const Snapshot> Snapshot::Compile(RuleSet set, Book& book, uint64_t generation, Grouping grouping) {
  const auto snapshot = std::make_shared<Snapshot>();
  snapshot->set_ = std::move(set);
  snapshot->generation_ = generation;
  snapshot->matcher_ = Matcher::Compile(snapshot->set_);
  snapshot->rules_.reserve(snapshot->set_.rules.size());
  for (const Rule& rule : snapshot->set_.rules) snapshot->CompileRule(rule, book);
  snapshot->grouping_ = grouping;
  if (grouping == Grouping::kByLimit) return snapshot;
  std::vector<SharedScope> shared = FindSharedScopes(snapshot->set_);
  for (size_t i = 0; i < shared.size(); ++i) snapshot->rules_[i].shared = std::move(shared[i]);
  return snapshot;
}

void Snapshot::CompileRule(const Rule& rule, Book& book) {
  CompiledRule compiled;
  compiled.source = &rule;
  compiled.id = book.RuleId(rule.name);
  compiled.counters = book.rule(compiled.id)->counters;
  for (const Limit& limit : rule.limits) {
    CompiledLimit out;
    out.source = &limit;
    out.record = book.LimitOf(rule, limit);
    out.shadow = limit.shadow || rule.shadow;
    if (limit.scope.size() == 1 && limit.overrides.empty())
      out.plain_kind = KeyBuilder::PlainKind(limit.scope.front().part);
    std::map<std::tuple<uint64_t, Micros, uint64_t>, VersionedNumbers> made;  // many overrides, few numbers
    const auto versioned = [&](const LimitSpec& spec) -> const VersionedNumbers* {
      const auto [entry, is_new] = made.try_emplace({spec.limit, spec.window, spec.burst});
      VersionedNumbers& numbers = entry->second;
      if (!is_new) return &numbers;
      numbers.numbers = *Resolve(spec);  // the loader has refused what does not resolve
      numbers.local = LocalShare(numbers.numbers, set_.instances, set_.local_factor);
      const auto version = out.record->numbers.VersionOf(numbers.numbers);
      const auto local_version = out.record->local.VersionOf(numbers.local);
      if (!version || !local_version) return nullptr;
      numbers.version = *version;
      numbers.local_version = *local_version;
      return &numbers;
    };
    const auto fill = [&] {
      made.clear();
      const VersionedNumbers* base = versioned(limit.spec);
      if (base == nullptr) return false;
      out.base = *base;
      out.overrides.clear();
      for (const Override& override : limit.overrides) {
        const VersionedNumbers* numbers = versioned(override.spec);
        if (numbers == nullptr) return false;
        out.overrides.emplace(override.value, *numbers);
      }
      return true;
    };
    if (!fill()) {
      out.record = book.Renew(rule, limit);
      fill();
    }
    out.salt = out.record->salt;
    out.plain_salt = out.salt ^ book.hasher().Kind(out.plain_kind);
    out.since = out.record->InForce(generation_);
    out.id = out.record->id;
    compiled.limits.push_back(std::move(out));
  }
  compiled.enforced = std::ranges::any_of(compiled.limits, [](const CompiledLimit& limit) { return !limit.shadow; });
  compiled.single = compiled.limits.size() == 1 && !compiled.limits[0].shadow;
  if (compiled.single) {
    compiled.answer.rule = compiled.id;
    compiled.answer.generation = generation_;
    compiled.answer.limit_count = 1;
    compiled.answer.limit_id = compiled.limits[0].id;
    TellNumbers(compiled.limits[0].base.numbers, compiled.answer);
  }
  ids_.emplace(rule.name, compiled.id);
  rules_.push_back(std::move(compiled));
  if (by_id_.size() <= rules_.back().id) by_id_.resize(rules_.back().id + 1);
  by_id_[rules_.back().id] = &rules_.back();  // rules_ has room for all
}

std::vector<std::string> RulesThatMove(const Snapshot& before, const Snapshot& after) {
  std::vector<std::string> moved;
  if (after.grouping() == Grouping::kByLimit) return moved;
  for (const CompiledRule& rule : after.rules()) {
    const CompiledRule* old = before.ById(rule.id);
    if (old == nullptr || old->limits.empty() || rule.limits.empty()) continue;
    const bool by_rule = rule.shared.scope.empty();
    if (old->shared.scope != rule.shared.scope || (by_rule && old->shared.name != rule.shared.name))
      moved.push_back(rule.source->name);
  }
  return moved;
}

}  // namespace ratel
