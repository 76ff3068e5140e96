// The short way: one rule with one limit, on a store in this process. Almost every request takes it.
#pragma once

#include "core/room.hpp"
#include "limiter/registry_impl.hpp"

namespace ratel {

/// The rule when it is the only one and has a single limit; else nullptr.
inline const CompiledRule* SingleOf(const Snapshot& snapshot, const MatchedRules& rules) noexcept {
  if (rules.count != 1) return nullptr;
  const CompiledRule& rule = snapshot.rules()[rules.index[0]];
  return rule.single ? &rule : nullptr;
}

/// The rule when it has that id and a single limit; else nullptr.
inline const CompiledRule* SingleById(const Snapshot& snapshot, uint32_t id) noexcept {
  if (id == 0) return nullptr;
  const CompiledRule* rule = snapshot.ById(id);
  return rule != nullptr && rule->single ? rule : nullptr;
}

// Both inlined by force: they hand each other more values than there are registers for arguments.
[[gnu::always_inline]] inline Status Registry::Impl::DecideSingle(const CurrentSnapshot::Reader& snapshot,
                                                                  const CompiledRule& rule, const SingleKey& key,
                                                                  int64_t stated_cost, uint64_t now_ns,
                                                                  Decision& out) noexcept {
  const Numbers& numbers = key.numbers->numbers;
  const Micros now = FloorToMicros(now_ns);
  // The key word by word, as it has just been written: a copy of the whole would wait for that.
  const SingleCharge single{&numbers,
                            &rule.limits[0].record->numbers,
                            key.numbers->version,
                            CostOf(rule, stated_cost),
                            {key.key.low, key.key.high}};
  Room<Outcome> outcome;
  if (const Status status = storage->SpendSingle(single, now, *outcome); status != Status::kOk) [[unlikely]]
    return Refuse(status, out);
  AnswerSingle(snapshot, rule, numbers, single.cost, *outcome, now_ns, now, out);
  if (key.unknown_client) [[unlikely]]
    totals.Add(snapshot.slot(), TotalCount::kUnknownClient);
  return Status::kOk;
}

[[gnu::always_inline]] inline void Registry::Impl::AnswerSingle(const CurrentSnapshot::Reader& snapshot,
                                                                const CompiledRule& rule, const Numbers& numbers,
                                                                uint64_t cost, const Outcome& outcome, uint64_t now_ns,
                                                                Micros now, Decision& out) noexcept {
  out = rule.answer;
  if (&numbers != &rule.limits[0].base.numbers) [[unlikely]]
    TellNumbers(numbers, out);
  out.allowed = outcome.allowed;
  out.now_ns = now_ns;
  out.cost = static_cast<int64_t>(cost);
  out.remaining = outcome.remaining;
  out.reset_after_ns = NanosUntil(outcome.reset_at, numbers, now);
  if (outcome.delay != 0) [[unlikely]]
    out.delay_ns = outcome.delay * numbers.tick * 1000;
  const RuleCounters& counters = rule.counters;
  if (outcome.allowed) [[likely]] {
    counters.Add(snapshot.slot(), RuleCount::kAllowed);
    if (cost != 1) counters.Add(snapshot.slot(), RuleCount::kExtraCost, cost - 1);
    return;
  }
  out.reason = outcome.never_fits ? Reason::kNeverFits : Reason::kLimited;
  out.retry_after_ns = RetryAfter(outcome, numbers, now);
  counters.Add(snapshot.slot(), RuleCount::kDenied);
  if (outcome.never_fits) {
    counters.Add(snapshot.slot(), RuleCount::kNeverFits);
    totals.Add(snapshot.slot(), TotalCount::kNeverFits);
  }
}

}  // namespace ratel
