// What a rule's on_store_error answers while the store cannot tell, and the local share that `local` limits by.
#include <algorithm>
#include <array>
#include <new>

#include "limiter/registry_impl.hpp"

namespace ratel {
namespace {

/// Of several rules the strictest policy rules: closed, then local, then open. A rule of shadows has no say.
OnStoreError PolicyOf(const Snapshot& snapshot, const MatchedRules& rules) noexcept {
  OnStoreError policy = OnStoreError::kOpen;
  for (const uint32_t index : rules.span()) {
    const CompiledRule& rule = snapshot.rules()[index];
    if (!rule.enforced || rule.source->on_store_error == OnStoreError::kOpen) continue;
    policy = rule.source->on_store_error;
    if (policy == OnStoreError::kClosed) break;
  }
  return policy;
}

/// Turns a charge into one of the local share. A cost that the whole limit could admit but the share could not takes all of the share: a store that is down
/// must not become a denial for ever.
void UseShare(Charge& charge, const LimitUse& use) noexcept {
  if (charge.cost <= charge.numbers->capacity) charge.cost = std::min(charge.cost, use.numbers->local.capacity);
  charge.numbers = &use.numbers->local;
  charge.version = use.numbers->local_version;
  charge.history = &use.limit->record->local;
}

}  // namespace

Status Registry::Impl::FallBack(const Snapshot& snapshot, const MatchedRules& rules, ChargeBuffer& buffer, size_t first,
                                Operation& operation, Decision& out) noexcept {
  for (Charge& charge : operation.charges) charge.outcome = {};
  switch (PolicyOf(snapshot, rules)) {
    case OnStoreError::kClosed:
      out.source = Source::kFailClosed;
      out.reason = Reason::kStore;
      out.retry_after_ns = kNever;
      return Status::kOk;
    case OnStoreError::kOpen:
      out.allowed = true;
      out.source = Source::kFailOpen;
      return Status::kOk;
    case OnStoreError::kLocal:
      break;
  }
  const auto uses = buffer.uses.From(first).first(operation.charges.size());
  const int64_t cost = out.cost;
  std::array<uint64_t, kMaxChargesPerOperation> costs;
  for (size_t i = 0; i < uses.size(); ++i) {
    costs[i] = operation.charges[i].cost;
    UseShare(operation.charges[i], uses[i]);
  }
  if (const Status status = fallback->Apply(operation); status != Status::kOk) return status;
  Conclude(operation.charges, uses, operation.now, out);
  out.source = Source::kLocalFallback;
  out.cost = cost;
  if (!out.allowed || operation.mode != Mode::kSpend) return Status::kOk;
  for (size_t i = 0; i < uses.size(); ++i) {
    const Charge& charge = operation.charges[i];
    if (!charge.outcome.allowed) continue;
    Owe(charge, uses[i], operation.now, costs[i]);
  }
  errands->Owes(operation.now);
  return Status::kOk;
}

void Registry::Impl::Owe(const Charge& charge, const LimitUse& use, Micros now, uint64_t units) noexcept {
  // A child of fork has nobody who would tell the store.
  const uint64_t dropped = birthplace.IsForked() ? units : ledger->Add(charge, use, now, units);
  if (dropped != 0) totals.Add(TotalCount::kUnreported, dropped);
}

void Registry::Impl::Warm(const Snapshot& snapshot, const MatchedRules& rules, std::span<const Charge> charges,
                          std::span<const LimitUse> uses, Micros now) noexcept {
  if (PolicyOf(snapshot, rules) != OnStoreError::kLocal) return;
  for (size_t i = 0; i < charges.size(); ++i) {
    if (!charges[i].outcome.allowed) continue;
    Charge charge = charges[i];
    UseShare(charge, uses[i]);
    Operation operation{{&charge, 1}, now, Mode::kSpend};
    fallback->Apply(operation);
    if (charge.outcome.allowed || charge.outcome.remaining == 0) continue;
    charge.cost = charge.outcome.remaining;
    fallback->Apply(operation);
  }
}

Status Registry::Impl::SettleFallback(const Snapshot& snapshot, const Request& request, ChargeBuffer& buffer,
                                      Operation& operation) noexcept {
  const auto uses = buffer.uses.From(0);
  std::string names;
  if (const Status status = SetNames(snapshot, request, operation.charges, uses, names); status != Status::kOk)
    return status;
  for (size_t i = 0; i < uses.size(); ++i) {
    Charge& charge = operation.charges[i];
    if (operation.actual < charge.cost && !birthplace.IsForked())
      ledger->TakeBack(charge.key, operation.now, operation.charged_at, charge.cost - operation.actual);
    if (operation.actual > charge.cost) Owe(charge, uses[i], operation.now, operation.actual - charge.cost);
    UseShare(charge, uses[i]);
    charge.name = {};
  }
  errands->Owes(operation.now);
  return fallback->Apply(operation);
}

}  // namespace ratel
