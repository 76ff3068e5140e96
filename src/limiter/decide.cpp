// Deciding: rules -> keys -> store -> answer -> counters.
#include <algorithm>
#include <array>
#include <new>
#include <optional>

#include "limiter/single.hpp"

namespace ratel {
namespace {

/// A store with a clock of its own has decided at its instant, and a settle is to find that again.
void TellInstant(const Operation& operation, Decision& out) noexcept {
  if (operation.now != FloorToMicros(out.now_ns)) out.now_ns = operation.now * 1000;
}

}  // namespace

bool Registry::Impl::DecideWithoutLimits(const Snapshot& snapshot, const MatchedRules& rules, Mode mode,
                                         Decision& out) noexcept {
  out.peeked = mode == Mode::kPeek;
  switch (VerdictOf(snapshot, rules)) {
    case Verdict::kAskLimits:
      return false;
    case Verdict::kNoRule:
      out.allowed = true;
      out.source = Source::kNoRule;
      return true;
    case Verdict::kUnlimited:
      out.allowed = true;
      out.source = Source::kAction;
      return true;
    case Verdict::kBlocked:
      for (const uint32_t index : rules.span()) {
        const CompiledRule& rule = snapshot.rules()[index];
        if (rule.source->action != Action::kBlock) continue;
        out.rule = rule.id;
        break;
      }
      out.source = Source::kAction;
      out.reason = Reason::kBlocked;
      out.retry_after_ns = kNever;
      return true;
  }
  return false;
}

Status Registry::Impl::SetNames(const Snapshot& snapshot, const Request& request, std::span<Charge> charges,
                                std::span<const LimitUse> uses, std::string& names) noexcept {
  if (!storage->wants_names()) return Status::kOk;
  try {
    NameCharges(hasher, snapshot, request, readable_keys, charges, uses, names);
    return Status::kOk;
  } catch (const std::bad_alloc&) {
    return Status::kNoMemory;
  }
}

Status Registry::Impl::ApplyNamed(const Snapshot& snapshot, const Request& request, ChargeBuffer& buffer, size_t first,
                                  Operation& operation, std::string& names) noexcept {
  const Status status = SetNames(snapshot, request, buffer.charges.From(first), buffer.uses.From(first), names);
  return status == Status::kOk ? storage->Apply(operation) : status;
}

Status Registry::Impl::Decide(const Snapshot& snapshot, const Request& request, uint64_t now_ns, Mode mode,
                              Decision& out) noexcept {
  MatchedRules rules;
  if (const Status status = FindRules(snapshot, request, rules); status != Status::kOk) return Refuse(status, out);
  return DecideFound(snapshot, rules, request, now_ns, mode, out);
}

Status Registry::Impl::DecideFound(const Snapshot& snapshot, const MatchedRules& rules, const Request& request,
                                   uint64_t now_ns, Mode mode, Decision& out) noexcept {
  out = Blank(snapshot, now_ns, rules, request);
  Tally tally;
  if (DecideWithoutLimits(snapshot, rules, mode, out)) {
    if (mode == Mode::kSpend) Count(snapshot, rules, {}, {}, tally, out);
    return Status::kOk;
  }
  ChargeBuffer buffer;
  if (const Status status = BuildCharges(snapshot, hasher, request, rules, buffer, tally); status != Status::kOk)
    return Refuse(status, out);
  Operation operation{buffer.charges.From(0), FloorToMicros(now_ns), mode};
  if (local) return Finish(snapshot, rules, buffer, 0, operation, storage->Apply(operation), tally, out);
  if (mode == Mode::kSpend) operation.id = IdOf(hasher, request, operation.charges);
  TierPass pass;
  if (mode == Mode::kSpend && !operation.id &&
      AnswerHere(snapshot, request, rules, operation.charges, buffer.uses.From(0), tally, pass, out))
    return Status::kOk;
  std::string names;
  Status applied = ApplyNamed(snapshot, request, buffer, 0, operation, names);
  if (pass.block != 0 && AfterPayment(snapshot, pass, operation, applied)) applied = storage->Apply(operation);
  const Status status = Finish(snapshot, rules, buffer, 0, operation, applied, tally, out);
  Remember(snapshot, pass, operation, out);
  return status;
}

Status Registry::Impl::Finish(const Snapshot& snapshot, const MatchedRules& rules, ChargeBuffer& buffer, size_t first,
                              Operation& operation, Status status, const Tally& tally, Decision& out) noexcept {
  if (!local) NoteStore(status);
  if (status == Status::kNoMemory || (status != Status::kOk && local)) return Refuse(status, out);
  const auto uses = buffer.uses.From(first).first(operation.charges.size());
  if (status == Status::kOk) {
    const Micros asked_at = FloorToMicros(out.now_ns);
    TellInstant(operation, out);
    Conclude(operation.charges, uses, operation.now, out);
    if (!local && operation.mode == Mode::kSpend) {
      errands->Answered(asked_at);
      if (out.allowed) Warm(snapshot, rules, operation.charges, uses, asked_at);
    }
  } else {
    if (operation.mode == Mode::kSpend) totals.Add(TotalCount::kStoreErrors);
    status = FallBack(snapshot, rules, buffer, first, operation, out);
    if (status != Status::kOk) return Refuse(status, out);
  }
  if (operation.mode == Mode::kSpend) Count(snapshot, rules, operation.charges, uses, tally, out);
  return Status::kOk;
}

void Registry::Impl::Count(const Snapshot& snapshot, const MatchedRules& rules, std::span<const Charge> charges,
                           std::span<const LimitUse> uses, const Tally& tally, const Decision& decision) noexcept {
  if (tally.unknown_client) totals.Add(TotalCount::kUnknownClient);
  if (decision.shadow_denied) totals.Add(TotalCount::kShadowRequests);
  switch (decision.source) {
    case Source::kNoRule:
      totals.Add(TotalCount::kNoRule);
      return;
    case Source::kLeased:
      totals.Add(TotalCount::kLeased);
      break;
    case Source::kCachedDenial:
      totals.Add(TotalCount::kCachedDenial);
      break;
    case Source::kLocalFallback:
      totals.Add(TotalCount::kLocalFallback);
      break;
    case Source::kFailOpen:
      totals.Add(TotalCount::kFailOpen);
      break;
    case Source::kFailClosed:
      totals.Add(TotalCount::kFailClosed);
      break;
    default:
      break;
  }
  if (decision.reason == Reason::kNeverFits) totals.Add(TotalCount::kNeverFits);
  if (decision.reason == Reason::kBlocked) totals.Add(TotalCount::kBlocked);
  if (rules.count > 1)
    totals.Add(decision.allowed ? TotalCount::kMoreAllowed : TotalCount::kMoreDenied, rules.count - 1);
  const bool asked = decision.source == Source::kExact || decision.source == Source::kLeased ||
                     decision.source == Source::kCachedDenial || decision.source == Source::kLocalFallback;
  for (const uint32_t index : rules.span()) {
    const CompiledRule& rule = snapshot.rules()[index];
    const RuleCounters& counters = rule.counters;
    counters.Add(decision.allowed ? RuleCount::kAllowed : RuleCount::kDenied);
    uint64_t cost = 1;
    bool never_fits = false;
    bool shadow_denied = false;
    for (size_t i = 0; i < charges.size(); ++i) {
      if (uses[i].rule != &rule) continue;
      cost = charges[i].cost;
      if (!asked) continue;
      never_fits |= !charges[i].shadow && charges[i].outcome.never_fits;
      shadow_denied |= charges[i].shadow && !charges[i].outcome.allowed;
    }
    if (decision.allowed && cost != 1) counters.Add(RuleCount::kExtraCost, cost - 1);
    if (!decision.allowed && never_fits) counters.Add(RuleCount::kNeverFits);
    if (shadow_denied) counters.Add(RuleCount::kShadowDenied);
  }
}

void Registry::Impl::NoteStore(Status status) noexcept {
  const bool failing = status != Status::kOk && status != Status::kNoMemory;
  if (store_failing.load(std::memory_order_relaxed) == failing) return;
  if (store_failing.exchange(failing, std::memory_order_relaxed) == failing) return;
  if (failing) {
    Say(Log::Level::kWarning, "the storage does not answer; each rule's on_store_error decides");
  } else {
    Say(Log::Level::kInfo, "the storage answers again");
    errands->StoreIsBack();
  }
}

Status Registry::Allow(const Request& request, Decision& out) noexcept {
  if (const Status status = CheckRequest(request); status != Status::kOk) return Refuse(status, out);
  Impl& impl = *impl_;
  const uint64_t now_ns = impl.NowNs(request.now_ns);
  if (!IsValidInstant(now_ns)) return Refuse(Status::kInvalidArgument, out);
  if (impl.local) {
    const CurrentSnapshot::Reader snapshot(impl.current);
    MatchedRules rules;
    if (const Status status = FindRules(*snapshot, request, rules); status != Status::kOk) return Refuse(status, out);
    if (const CompiledRule* rule = SingleOf(*snapshot, rules)) {
      const SingleKey key = SingleKeyOf(rule->limits[0], *snapshot, impl.hasher, request.identity);
      return impl.DecideSingle(snapshot, *rule, key, request.cost, now_ns, out);
    }
    return impl.DecideFound(*snapshot, rules, request, now_ns, Mode::kSpend, out);
  }
  const Status status = impl.Decide(*impl.current.Keep(), request, now_ns, Mode::kSpend, out);
  impl.errands->Lend();
  return status;
}

Status Registry::AllowRule(uint32_t rule, std::string_view key, int64_t cost, uint64_t now_ns, Decision& out) noexcept {
  if (rule == 0) return Refuse(Status::kNotFound, out);
  Impl& impl = *impl_;
  if (impl.local && IsValidCost(cost)) {
    const uint64_t instant = impl.NowNs(now_ns);
    if (!IsValidInstant(instant)) return Refuse(Status::kInvalidArgument, out);
    const CurrentSnapshot::Reader snapshot(impl.current);
    const CompiledRule* compiled = snapshot->ById(rule);
    if (compiled == nullptr) return Refuse(Status::kNotFound, out);
    if (compiled->single) [[likely]] {
      const CompiledLimit& limit = compiled->limits[0];
      const SingleKey single = limit.plain_kind != 0 && !key.empty()
                                   ? PlainSingleKey(limit, impl.hasher, key)
                                   : AnySingleKey(limit, *snapshot, impl.hasher, Identity::OfKey(key));
      return impl.DecideSingle(snapshot, *compiled, single, cost, instant, out);
    }
    now_ns = instant;
  }
  Request request;
  request.rule = rule;
  request.cost = cost;
  request.now_ns = now_ns;
  request.identity = Identity::OfKey(key);
  return Allow(request, out);
}

Status Registry::Peek(const Request& request, Decision& out) noexcept {
  if (const Status status = CheckRequest(request); status != Status::kOk) return Refuse(status, out);
  const uint64_t now_ns = impl_->NowNs(request.now_ns);
  if (!IsValidInstant(now_ns)) return Refuse(Status::kInvalidArgument, out);
  return impl_->Decide(*impl_->current.Keep(), request, now_ns, Mode::kPeek, out);
}

namespace {

/// Drops the charges that `decision` cannot have made: of limits that a later rule set brought, and of shadows when one of them did not admit
/// (which of several it was is not known; correcting too little is the harmless side).
void KeepCharged(const Decision& decision, ChargeBuffer& buffer) noexcept {
  size_t kept = 0;
  for (size_t i = 0; i < buffer.size(); ++i) {
    const bool was_there = buffer.uses[i].limit->since <= decision.generation;
    if (!was_there || (buffer.charges[i].shadow && decision.shadow_denied)) continue;
    buffer.charges[kept] = buffer.charges[i];
    buffer.uses[kept++] = buffer.uses[i];
  }
  buffer.Shrink(kept);
}

}  // namespace

Status Registry::Impl::Settle(const Snapshot& snapshot, const Request& request, const Decision& decision,
                              uint64_t actual, uint64_t now_ns, Decision& out) noexcept {
  Request charged = request;
  if (!snapshot.set().match_all) charged.rule = decision.rule;
  // What a request that stated no cost was charged is its rules' business; else the decision tells.
  if (request.cost != kCostOfRule || !snapshot.set().match_all) charged.cost = decision.cost;
  MatchedRules rules;
  if (const Status status = FindRules(snapshot, charged, rules); status != Status::kOk) return Refuse(status, out);
  out = Blank(snapshot, now_ns, rules, charged);
  ChargeBuffer buffer;
  Tally tally;
  if (const Status status = BuildCharges(snapshot, hasher, charged, rules, buffer, tally); status != Status::kOk)
    return Refuse(status, out);
  if (buffer.size() == 0) return Refuse(Status::kNotFound, out);
  KeepCharged(decision, buffer);
  Operation operation{buffer.charges.From(0), FloorToMicros(now_ns), Mode::kSettle, FloorToMicros(decision.now_ns),
                      actual};
  Status status;
  std::string names;
  if (decision.source == Source::kLocalFallback) {
    status = SettleFallback(snapshot, charged, buffer, operation);
  } else {
    status = ApplyNamed(snapshot, charged, buffer, 0, operation, names);
  }
  if (tier() != nullptr) tier()->upsets.Note(operation.charges);
  if (status != Status::kOk) return Refuse(status, out);
  out.allowed = true;
  TellInstant(operation, out);
  for (Charge& charge : operation.charges) charge.outcome.allowed = true;
  Conclude(operation.charges, buffer.uses.From(0), operation.now, out);
  out.source = decision.source;
  out.cost = static_cast<int64_t>(actual);
  return Status::kOk;
}

Status Registry::Settle(const Request& request, const Decision& decision, int64_t actual, Decision& out) noexcept {
  const bool spent = decision.allowed && !decision.peeked && decision.cost >= 1 && decision.rule != 0 &&
                     decision.limit_count != 0 &&
                     (decision.source == Source::kExact || decision.source == Source::kLocalFallback ||
                      decision.source == Source::kLeased);
  const bool local_answer = decision.source != Source::kLocalFallback || !impl_->local;
  if (!spent || !local_answer || actual < 0 || CheckRequest(request) != Status::kOk ||
      !IsValidInstant(decision.now_ns)) {
    return Refuse(Status::kInvalidArgument, out);
  }
  const uint64_t now_ns = impl_->NowNs(request.now_ns);
  if (!IsValidInstant(now_ns)) return Refuse(Status::kInvalidArgument, out);
  return impl_->Settle(*impl_->current.Keep(), request, decision, static_cast<uint64_t>(actual), now_ns, out);
}

Status Registry::Impl::Reset(const Snapshot& snapshot, const Request& request) noexcept {
  MatchedRules rules;
  if (const Status status = FindRules(snapshot, request, rules); status != Status::kOk) return status;
  ChargeBuffer buffer;
  Tally tally;
  if (const Status status = BuildCharges(snapshot, hasher, request, rules, buffer, tally); status != Status::kOk)
    return status;
  if (buffer.size() == 0) return Status::kOk;
  Operation operation{buffer.charges.From(0), 0, Mode::kForget};
  if (fallback != nullptr) fallback->Apply(operation);
  if (ledger != nullptr && !birthplace.IsForked()) {
    for (const Charge& charge : operation.charges) ledger->Forget(charge.key);
  }
  std::string names;
  const Status status = ApplyNamed(snapshot, request, buffer, 0, operation, names);
  if (tier() != nullptr) {
    tier()->upsets.Note(operation.charges);
    tier()->leases.Drop(operation.charges);
  }
  return status;
}

Status Registry::Reset(const Request& request) noexcept {
  if (const Status status = CheckRequest(request); status != Status::kOk) return status;
  return impl_->Reset(*impl_->current.Keep(), request);
}

}  // namespace ratel
