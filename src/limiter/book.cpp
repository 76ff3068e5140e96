#include "limiter/book.hpp"

#include <utility>

#include "rules/key.hpp"

namespace ratel {

std::optional<uint16_t> NumbersList::VersionOf(const Numbers& numbers) {
  for (uint32_t i = list_.size(); i-- > 0;) {
    if (list_.At(i)->spec == numbers.spec) return static_cast<uint16_t>(i);
  }
  if (list_.size() > UINT16_MAX) return std::nullopt;
  list_.Add(numbers);
  return static_cast<uint16_t>(list_.size() - 1);
}

uint32_t Book::RuleId(const std::string& name) {
  const auto [entry, is_new] = rule_ids_.try_emplace(name, 0);
  if (entry->second != 0) return entry->second;
  const uint32_t index = rules_.size();
  if (index / kRulesInBlock == counters_.size()) counters_.push_back(std::make_unique<RuleCounterBlock>());
  rules_.Add({name, counters_[index / kRulesInBlock]->At(index % kRulesInBlock)});
  return entry->second = rules_.size();
}

uint32_t Book::LimitId(const std::string& name) {
  const auto [entry, is_new] = limit_ids_.try_emplace(name, 0);
  if (entry->second != 0) return entry->second;
  limit_names_.Add(name);
  return entry->second = limit_names_.size();
}

std::string Book::IdentityOf(const Rule& rule, const Limit& limit) {
  // Names hold no control characters, so these separate without doubt.
  return rule.name + '\n' + limit.name + '\n' + ToText(limit.scope) + '\n' + ToText(limit.spec.algorithm);
}

std::shared_ptr<LimitRecord> Book::Make(const Rule& rule, const Limit& limit, uint32_t renewal) {
  auto record = std::make_shared<LimitRecord>();
  record->id = LimitId(limit.name);
  record->salt = LimitSalt(hasher_, rule.name, limit.name, limit.scope, limit.spec.algorithm);
  if (renewal != 0) record->salt.low ^= hasher_(&renewal, sizeof renewal).low;
  return record;
}

std::shared_ptr<LimitRecord> Book::LimitOf(const Rule& rule, const Limit& limit) {
  Known& known = limits_[IdentityOf(rule, limit)];
  if (known.record == nullptr) known.record = Make(rule, limit, known.renewals);
  return known.record;
}

std::shared_ptr<LimitRecord> Book::Renew(const Rule& rule, const Limit& limit) {
  Known& known = limits_[IdentityOf(rule, limit)];
  known.record = Make(rule, limit, known.renewals + 1);
  ++known.renewals;
  return known.record;
}

std::string_view Book::LimitName(uint32_t id) const noexcept {
  const std::string* name = id == 0 ? nullptr : limit_names_.At(id - 1);
  return name == nullptr ? std::string_view() : std::string_view(*name);
}

}  // namespace ratel
