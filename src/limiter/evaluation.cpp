#include "limiter/evaluation.hpp"

#include <algorithm>
#include <memory>
#include <new>

#include "rules/path.hpp"

namespace ratel {
namespace {

/// Paths up to this length are normalised on the stack.
constexpr size_t kPathOnStack = 2048;

Status Match(const Snapshot& snapshot, const MatchQuery& query, MatchedRules& out) noexcept {
  if (snapshot.set().match_all) {
    out.count = snapshot.matcher().MatchAll(query, out.index);
    return out.count > Matcher::kMaxMatches ? Status::kUnsupported : Status::kOk;
  }
  out.index[0] = snapshot.matcher().Match(query);
  out.count = out.index[0] == Matcher::kNone ? 0 : 1;
  return Status::kOk;
}

/// Whether a has a smaller fraction left than b.
bool IsTighter(const Charge& a, const Charge& b) noexcept {
  return static_cast<Wide>(a.outcome.remaining) * b.numbers->capacity <
         static_cast<Wide>(b.outcome.remaining) * a.numbers->capacity;
}

/// What the charges of a rule that lie together have in common.
uint32_t GroupOf(const SharedScope& shared, const KeyBuilder& builder, const KeyedHasher& hasher) noexcept {
  const Hash128 hash = shared.scope.empty() ? hasher(shared.name) : builder.Build(shared.scope, false).hash;
  return static_cast<uint32_t>(hash.low);
}

}  // namespace

Status FindRules(const Snapshot& snapshot, const Request& request, MatchedRules& out) noexcept {
  out.count = 0;
  if (request.rule != 0) {
    const CompiledRule* rule = snapshot.ById(request.rule);
    if (rule == nullptr) return Status::kNotFound;
    out.index[0] = static_cast<uint32_t>(rule - snapshot.rules().data());
    out.count = 1;
    return Status::kOk;
  }
  MatchQuery query{{request.method.data(), request.method.size()}, {}, request.identity.attributes};
  const size_t needed = request.path.size() + 1;
  if (needed <= kPathOnStack) {
    std::array<char, kPathOnStack> buffer;
    query.path = NormalizePath(request.path, buffer);
    return Match(snapshot, query, out);
  }
  const std::unique_ptr<char[]> buffer(new (std::nothrow) char[needed]);
  if (buffer == nullptr) return Status::kNoMemory;
  query.path = NormalizePath(request.path, {buffer.get(), needed});
  return Match(snapshot, query, out);
}

Verdict VerdictOf(const Snapshot& snapshot, const MatchedRules& rules) noexcept {
  if (rules.count == 0) return Verdict::kNoRule;
  bool limits = false;
  for (const uint32_t index : rules.span()) {
    const Rule& rule = *snapshot.rules()[index].source;
    if (rule.action == Action::kBlock) return Verdict::kBlocked;
    limits |= rule.action == Action::kLimit;
  }
  return limits ? Verdict::kAskLimits : Verdict::kUnlimited;
}

const VersionedNumbers* HashValue(const CompiledLimit& limit, const KeyBuilder& builder, Hash128& value,
                                  bool& unknown_client) noexcept {
  const BuiltKey key = builder.Build(limit.source->scope, !limit.overrides.empty());
  value.low = key.hash.low;  // word by word, as they have just been written
  value.high = key.hash.high;
  unknown_client |= key.unknown_client;
  return &limit.NumbersFor(key.override_value);
}

SingleKey AnySingleKey(const CompiledLimit& limit, const Snapshot& snapshot, const KeyedHasher& hasher,
                       const Identity& identity) noexcept {
  const KeyBuilder builder(hasher, identity, snapshot.set().ipv6_prefix);
  SingleKey out;
  out.numbers = HashValue(limit, builder, out.key, out.unknown_client);
  out.key = out.key ^ limit.salt;
  return out;
}

const VersionedNumbers* FillCharge(const CompiledLimit& limit, const KeyBuilder& builder, uint64_t cost, Charge& charge,
                                   bool& unknown_client) noexcept {
  const VersionedNumbers* numbers = HashValue(limit, builder, charge.key, unknown_client);
  charge.group = static_cast<uint32_t>(charge.key.low);
  charge.key = charge.key ^ limit.salt;
  charge.numbers = &numbers->numbers;
  charge.history = &limit.record->numbers;
  charge.version = numbers->version;
  charge.shadow = limit.shadow;
  charge.cost = cost;
  return numbers;
}

Status BuildCharges(const Snapshot& snapshot, const KeyedHasher& hasher, const Request& request,
                    const MatchedRules& rules, ChargeBuffer& buffer, Tally& tally) noexcept {
  const KeyBuilder builder(hasher, request.identity, snapshot.set().ipv6_prefix);
  const size_t first = buffer.size();
  for (const uint32_t index : rules.span()) {
    const CompiledRule& rule = snapshot.rules()[index];
    const uint64_t cost = CostOf(rule, request.cost);
    const size_t first_of_rule = buffer.size();
    for (const CompiledLimit& limit : rule.limits) {
      if (buffer.charges.full()) {
        buffer.Shrink(first);
        return Status::kUnsupported;
      }
      const VersionedNumbers* numbers = FillCharge(limit, builder, cost, buffer.charges.Add(), tally.unknown_client);
      buffer.uses.Add(&rule, &limit, numbers);
    }
    if (snapshot.grouping() == Grouping::kByLimit) continue;
    const uint32_t group = GroupOf(rule.shared, builder, hasher);
    for (Charge& charge : buffer.charges.From(first_of_rule)) charge.group = group;
  }
  return Status::kOk;
}

void NameCharges(const KeyedHasher& hasher, const Snapshot& snapshot, const Request& request, bool readable,
                 std::span<Charge> charges, std::span<const LimitUse> uses, std::string& names) {
  const KeyBuilder builder(hasher, request.identity, snapshot.set().ipv6_prefix);
  std::array<size_t, kMaxChargesPerOperation> ends;
  names.clear();
  for (size_t i = 0; i < charges.size(); ++i) {
    names += "rl:";
    names += uses[i].rule->source->name;
    names += '/';
    names += uses[i].limit->source->name;
    names += ':';
    if (readable) {
      names += builder.Readable(uses[i].limit->source->scope);
    } else {
      names += ToHex(charges[i].key);
    }
    ends[i] = names.size();
  }
  for (size_t i = 0, begin = 0; i < charges.size(); begin = ends[i++])
    charges[i].name = std::string_view(names).substr(begin, ends[i] - begin);
}

void Conclude(std::span<const Charge> charges, std::span<const LimitUse> uses, Micros now, Decision& out) noexcept {
  out.allowed = Admits(charges);
  out.reason = Reason::kNone;
  out.limit_count = static_cast<uint32_t>(charges.size());
  out.retry_after_ns = 0;
  out.delay_ns = 0;
  size_t binding = charges.size();
  for (size_t i = 0; i < charges.size(); ++i) {
    const Charge& charge = charges[i];
    if (charge.shadow) {
      out.shadow_denied |= !charge.outcome.allowed;
      continue;
    }
    if (out.allowed) {
      if (binding == charges.size() || IsTighter(charge, charges[binding])) binding = i;
      out.delay_ns = std::max(out.delay_ns, charge.outcome.delay * charge.numbers->tick * 1000);
    } else if (!charge.outcome.allowed) {
      const uint64_t wait = RetryAfter(charge.outcome, *charge.numbers, now);
      if (binding == charges.size() || wait > out.retry_after_ns) {
        binding = i;
        out.retry_after_ns = wait;
      }
    }
  }
  if (binding == charges.size()) return;
  const Charge& charge = charges[binding];
  if (!out.allowed) out.reason = charge.outcome.never_fits ? Reason::kNeverFits : Reason::kLimited;
  out.rule = uses[binding].rule->id;
  out.cost = static_cast<int64_t>(charge.cost);
  TellLimit(charge.outcome, *charge.numbers, *uses[binding].limit, now, out);
}

std::optional<Hash128> IdOf(const KeyedHasher& hasher, const Request& request,
                            std::span<const Charge> charges) noexcept {
  if (request.idempotency_id.empty()) return std::nullopt;
  static constexpr size_t kWords = 7;
  std::array<uint64_t, 2 + kWords * kMaxChargesPerOperation> words;
  const Hash128 own = hasher(request.idempotency_id);
  words[0] = own.low;
  words[1] = own.high;
  size_t size = 2;
  for (const Charge& charge : charges) {
    const LimitSpec& spec = charge.numbers->spec;
    for (const uint64_t word : {charge.key.low, charge.key.high, charge.cost, static_cast<uint64_t>(spec.algorithm),
                                spec.limit, spec.window, spec.burst})
      words[size++] = word;
  }
  return hasher(words.data(), size * sizeof words[0]);
}

}  // namespace ratel
