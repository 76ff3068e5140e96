// One request on its way: which limits apply, with which keys, and what their outcomes make of it. Fixed size, no allocation unless the
// store wants names.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/fixed_vector.hpp"
#include "core/hash.hpp"
#include "core/wide.hpp"
#include "limiter/request.hpp"
#include "limiter/snapshot.hpp"
#include "report/decision.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// The rules that apply to a request.
struct MatchedRules {
  std::array<uint32_t, Matcher::kMaxMatches + 1> index;  ///< into snapshot.rules(); one more than may apply, to tell
  size_t count = 0;
  std::span<const uint32_t> span() const noexcept { return {index.data(), count}; }
};

/// A limit of a request, beside its charge.
struct LimitUse {
  const CompiledRule* rule = nullptr;
  const CompiledLimit* limit = nullptr;
  const VersionedNumbers* numbers = nullptr;
};

/// Charges of one request or, one after the other, of several.
struct ChargeBuffer {
  FixedVector<Charge, kMaxChargesPerOperation> charges;
  FixedVector<LimitUse, kMaxChargesPerOperation> uses;

  size_t size() const noexcept { return charges.size(); }
  void Shrink(size_t size) noexcept {
    charges.Shrink(size);
    uses.Shrink(size);
  }
};

/// What happened, for the counters.
struct Tally {
  bool unknown_client = false;
};

/// The units that a rule's limits are charged for a request.
inline uint64_t CostOf(const CompiledRule& rule, int64_t stated) noexcept {
  return stated == kCostOfRule ? rule.source->cost : static_cast<uint64_t>(stated);
}

/// Finds the rules of a request: by id, or by method and path. kNotFound for an id that is not in force;
/// kUnsupported when more than Matcher::kMaxMatches rules apply; kNoMemory.
Status FindRules(const Snapshot& snapshot, const Request& request, MatchedRules& out) noexcept;

/// What the rules decide before any limit is asked.
enum class Verdict : uint8_t { kAskLimits, kNoRule, kBlocked, kUnlimited };
Verdict VerdictOf(const Snapshot& snapshot, const MatchedRules& rules) noexcept;

/// Appends the charges of the rules' limits to `buffer`. kUnsupported when there are more than fit; then nothing was appended.
Status BuildCharges(const Snapshot& snapshot, const KeyedHasher& hasher, const Request& request,
                    const MatchedRules& rules, ChargeBuffer& buffer, Tally& tally) noexcept;

/// The printable name of each charge's state, for stores that want them; the views in the charges point into `names`. Throws std::bad_alloc.
void NameCharges(const KeyedHasher& hasher, const Snapshot& snapshot, const Request& request, bool readable,
                 std::span<Charge> charges, std::span<const LimitUse> uses, std::string& names);

/// The hash of the value that a limit counts, without the limit's salt; the rest as FillCharge.
const VersionedNumbers* HashValue(const CompiledLimit& limit, const KeyBuilder& builder, Hash128& value,
                                  bool& unknown_client) noexcept;

/// What a request's only limit is charged under.
struct SingleKey {
  const VersionedNumbers* numbers = nullptr;
  Hash128 key;
  bool unknown_client = false;  ///< as in FillCharge
};
SingleKey AnySingleKey(const CompiledLimit& limit, const Snapshot& snapshot, const KeyedHasher& hasher,
                       const Identity& identity) noexcept;
/// The same for a limit with a plain_kind; `bytes` is the value of its part and not empty.
inline SingleKey PlainSingleKey(const CompiledLimit& limit, const KeyedHasher& hasher,
                                std::string_view bytes) noexcept {
  return {&limit.base, hasher(bytes) ^ limit.plain_salt, false};
}
inline SingleKey SingleKeyOf(const CompiledLimit& limit, const Snapshot& snapshot, const KeyedHasher& hasher,
                             const Identity& identity) noexcept {
  if (limit.plain_kind != 0) [[likely]] {
    const std::string_view bytes = KeyBuilder::PlainBytes(identity, limit.plain_kind);
    if (!bytes.empty()) [[likely]]
      return PlainSingleKey(limit, hasher, bytes);
  }
  return AnySingleKey(limit, snapshot, hasher, identity);
}

/// What tells a request with an idempotency id from every other: the id, and what it charges where and under which numbers. Nothing without one.
std::optional<Hash128> IdOf(const KeyedHasher& hasher, const Request& request,
                            std::span<const Charge> charges) noexcept;

/// The charge of one limit; returns the numbers that it is decided under. `unknown_client` is set when the key fell back to an address and there was none.
const VersionedNumbers* FillCharge(const CompiledLimit& limit, const KeyBuilder& builder, uint64_t cost, Charge& charge,
                                   bool& unknown_client) noexcept;

/// How long from `now` to a tick of the limit, in nanoseconds; 0 when it has passed.
inline uint64_t NanosUntil(Tick tick, const Numbers& numbers, Micros now) noexcept {
  static constexpr Tick kShort = UINT64_MAX / 2000;
  if (numbers.tick == 1 && tick < kShort) return SubtractFloor(tick, now) * 1000;
  const Wide at = static_cast<Wide>(tick) * numbers.tick;
  if (at <= now) return 0;
  const Wide span = (at - now) * 1000;
  return span >= kNever ? kNever - 1 : static_cast<uint64_t>(span);
}

/// What the binding limit says in the answer: its numbers, what remains, when it is as new.
inline void TellLimit(const Outcome& outcome, const Numbers& numbers, const CompiledLimit& limit, Micros now,
                      Decision& out) noexcept {
  out.limit_id = limit.id;
  TellNumbers(numbers, out);
  out.remaining = outcome.remaining;
  out.reset_after_ns = NanosUntil(outcome.reset_at, numbers, now);
}

/// Nanoseconds from `now` until a denied charge would be admitted; kNever when its cost never fits.
inline uint64_t RetryAfter(const Outcome& outcome, const Numbers& numbers, Micros now) noexcept {
  return outcome.never_fits ? kNever : NanosUntil(outcome.retry_at, numbers, now);
}

/// Turns outcomes into the answer: whether it is allowed, which limit binds, the waits.
void Conclude(std::span<const Charge> charges, std::span<const LimitUse> uses, Micros now, Decision& out) noexcept;

}  // namespace ratel
