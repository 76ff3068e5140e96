// Answers from what is remembered, and remembering.
#include "limiter/tier.hpp"

#include <algorithm>
#include <memory>
#include <new>
#include <utility>

#include "limiter/registry_impl.hpp"

namespace ratel {
namespace {

/// Of several rules the one that wants the least has the say; a rule of shadows has none.
LocalTier TierOf(const Snapshot& snapshot, const MatchedRules& rules) noexcept {
  LocalTier tier = LocalTier::kNone;
  bool first = true;
  for (const uint32_t index : rules.span()) {
    const CompiledRule& rule = snapshot.rules()[index];
    if (!rule.enforced) continue;
    tier = first ? rule.source->local_tier : std::min(tier, rule.source->local_tier);
    first = false;
  }
  return tier;
}

Micros InstantOf(const Charge& charge, Tick tick) noexcept { return tick * charge.numbers->tick; }

/// The store's instant at which a request arrives that came when the others say. Nothing when that is before the denial.
std::optional<Micros> InstantWithin(const Denial& denial, const TierPass& pass) noexcept {
  const auto [asked_at, local_at] = pass.instants;
  if (denial.own_clock == 0) return asked_at < denial.decided_at ? std::nullopt : std::optional(asked_at);
  if (local_at < denial.asked_at) return std::nullopt;
  return denial.decided_at + (local_at - denial.asked_at);
}

}  // namespace

void Registry::Impl::PrepareTier(const RuleSet& rules) {
  const auto wants = [](const Rule& rule) { return rule.local_tier != LocalTier::kNone; };
  if (own_tier != nullptr || local || std::ranges::none_of(rules.rules, wants)) return;
  own_tier = std::make_unique<Tier>();
  errands->Attend(*own_tier);
  published_tier.store(own_tier.get(), std::memory_order_release);
}

bool Registry::Impl::AnswerHere(const Snapshot& snapshot, const Request& request, const MatchedRules& rules,
                                std::span<Charge> charges, std::span<const LimitUse> uses, const Tally& tally,
                                TierPass& pass, Decision& out) noexcept {
  pass.tier = tier() == nullptr ? LocalTier::kNone : TierOf(snapshot, rules);
  if (pass.tier == LocalTier::kNone) return false;
  pass.instants.asked_at = FloorToMicros(out.now_ns);
  pass.instants.local_at = request.now_ns == 0 ? pass.instants.asked_at : FloorToMicros(clock->NowNs());
  // A clock that fails, or whose code has forked: there is no tier in a child.
  if (pass.instants.local_at > kMaxMicros || tier() == nullptr) {
    pass.tier = LocalTier::kNone;
    return false;
  }
  pass.upsets = tier()->upsets.SumOf(charges);
  pass.charges = HashOfCharges(charges, snapshot.generation());
  const bool answered = DenyHere(charges, uses, pass, out) ||
                        (pass.tier == LocalTier::kLeases && AdmitHere(snapshot, rules, charges, uses, pass, out));
  if (answered) Count(snapshot, rules, charges, uses, tally, out);
  return answered;
}

bool Registry::Impl::DenyHere(std::span<Charge> charges, std::span<const LimitUse> uses, const TierPass& pass,
                              Decision& out) noexcept {
  const std::optional<Denial> denial = tier()->denials.Find(pass.charges);
  if (!denial || denial->upsets != pass.upsets) return false;
  const std::optional<Micros> now = InstantWithin(*denial, pass);
  if (!now || *now >= denial->until) return false;
  for (size_t i = 0; i < charges.size(); ++i) {
    charges[i].outcome = {};
    charges[i].outcome.allowed = (denial->denied >> i & 1) == 0;
  }
  Outcome& binding = charges[denial->binding].outcome;
  binding.retry_at = denial->retry_at;
  binding.reset_at = denial->reset_at;
  binding.remaining = denial->remaining;
  if (denial->own_clock != 0) out.now_ns = *now * 1000;
  Conclude(charges, uses, *now, out);
  out.source = Source::kCachedDenial;
  return true;
}

bool Registry::Impl::AdmitHere(const Snapshot& snapshot, const MatchedRules& rules, std::span<Charge> charges,
                               std::span<const LimitUse> uses, TierPass& pass, Decision& out) noexcept {
  pass.terms = TermsOf(snapshot.set(), charges);
  if (pass.terms.units == 0) return false;
  pass.states = HashOfStates(charges, snapshot.generation());
  const Leases::Turn turn = tier()->leases.Take(pass.states, pass.terms, pass.instants, charges);
  if (turn.way == Leases::Turn::Way::kTaken) {
    // Told as of the payment: that is where a settle finds it.
    out.now_ns = turn.paid_at * 1000;
    Conclude(charges, uses, turn.paid_at, out);
    out.source = Source::kLeased;
    Warm(snapshot, rules, charges, uses, pass.instants.asked_at);
    return true;
  }
  if (turn.way == Leases::Turn::Way::kPay) {
    pass.block = turn.block;
    pass.cost = charges[0].cost;
    pass.asked = std::chrono::steady_clock::now();
    for (Charge& charge : charges) charge.cost = turn.block;
  }
  return false;
}

bool Registry::Impl::AfterPayment(const Snapshot& snapshot, TierPass& pass, Operation& operation,
                                  Status status) noexcept {
  const uint64_t block = pass.block;
  pass.block = 0;
  const bool paid = status == Status::kOk && Admits(operation.charges);
  // There is none in a child of fork, which the storage's code may have made just now.
  Tier* const tier = this->tier();
  if (tier != nullptr && !(paid && KeepLease(*tier, snapshot, pass, operation, block - pass.cost)))
    tier->leases.NotPaid(pass.states, pass.terms, pass.instants);
  for (Charge& charge : operation.charges) {
    charge.cost = pass.cost;
    if (paid)
      charge.outcome.remaining = std::min(charge.outcome.remaining + block - pass.cost, charge.numbers->capacity);
  }
  if (paid || status != Status::kOk) return false;
  operation.now = pass.instants.asked_at;
  return true;
}

bool Registry::Impl::KeepLease(Tier& tier, const Snapshot& snapshot, const TierPass& pass, const Operation& operation,
                               uint64_t units) noexcept {
  try {
    auto lease = std::make_unique<Lease>();
    lease->snapshot = snapshot.shared_from_this();
    lease->count = operation.charges.size();
    std::ranges::copy(operation.charges, lease->charges.begin());
    for (const Charge& charge : operation.charges) lease->names += charge.name;
    size_t begin = 0;
    for (Charge& charge : lease->span()) {
      const size_t size = charge.name.size();
      charge.name = std::string_view(lease->names).substr(begin, size);
      begin += size;
    }
    lease->left = units;
    lease->paid_at = operation.now;
    lease->until = operation.now + pass.terms.life;
    for (const Charge& charge : operation.charges) {
      // Not beyond the window it was paid in.
      if (charge.numbers->spec.algorithm == Algorithm::kFixedWindow)
        lease->until = std::min(lease->until, InstantOf(charge, charge.outcome.reset_at));
    }
    lease->local_at = pass.instants.local_at;
    lease->own_clock = operation.now != pass.instants.asked_at;
    lease->paid = pass.asked;
    lease->life = std::chrono::microseconds(lease->until - lease->paid_at);
    tier.leases.Paid(pass.states, std::move(lease));
  } catch (const std::bad_alloc&) {
    return false;
  }
  errands->Leased();
  return true;
}

void Registry::Impl::Remember(const Snapshot& snapshot, const TierPass& pass, const Operation& operation,
                              const Decision& decision) noexcept {
  if (pass.tier == LocalTier::kNone || decision.status != Status::kOk || decision.source != Source::kExact ||
      decision.reason != Reason::kLimited)
    return;
  Denial denial;
  denial.upsets = pass.upsets;
  denial.asked_at = pass.instants.local_at;
  denial.decided_at = operation.now;
  denial.own_clock = operation.now != pass.instants.asked_at;
  uint64_t longest = 0;
  Micros shadows_until = UINT64_MAX;
  for (size_t i = 0; i < operation.charges.size(); ++i) {
    const Charge& charge = operation.charges[i];
    if (charge.outcome.allowed) continue;
    denial.denied |= uint64_t{1} << i;
    // What a shadow says is repeated only as long as it would say so.
    if (charge.shadow && !charge.outcome.never_fits)
      shadows_until = std::min(shadows_until, InstantOf(charge, charge.outcome.retry_at));
    const uint64_t wait = RetryAfter(charge.outcome, *charge.numbers, operation.now);
    if (charge.shadow || wait <= longest) continue;
    longest = wait;
    denial.binding = static_cast<uint32_t>(i);
    denial.until = InstantOf(charge, charge.outcome.retry_at);
    denial.retry_at = charge.outcome.retry_at;
    denial.reset_at = charge.outcome.reset_at;
    denial.remaining = charge.outcome.remaining;
  }
  Tier* const tier = this->tier();
  if (longest == 0 || tier == nullptr) return;
  denial.until = std::min(denial.until, shadows_until);
  // Others hand back what they have leased.
  if (pass.tier == LocalTier::kLeases) denial.until = std::min(denial.until, operation.now + snapshot.set().lease_life);
  tier->denials.Put(pass.charges, denial);
}

}  // namespace ratel
