// The registry's parts and the steps that its files share.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "config/watch.hpp"
#include "core/birthplace.hpp"
#include "limiter/book.hpp"
#include "limiter/counters.hpp"
#include "limiter/current.hpp"
#include "limiter/errands.hpp"
#include "limiter/evaluation.hpp"
#include "limiter/ledger.hpp"
#include "limiter/registry.hpp"
#include "limiter/tier.hpp"

namespace ratel {

struct Registry::Impl {
  explicit Impl(const KeyedHasher& key_hasher) : hasher(key_hasher), book(hasher) {}

  const Birthplace birthplace;
  const KeyedHasher hasher;
  Book book;
  CurrentSnapshot current;
  TotalCounters totals;
  std::unique_ptr<Storage> storage;
  std::unique_ptr<Storage> fallback;
  std::unique_ptr<Clock> clock;
  std::unique_ptr<Log> log;
  bool readable_keys = false;
  std::string region;  ///< of Options
  bool local = true;   ///< storage->is_local()
  std::atomic<bool> store_failing{false};
  std::unique_ptr<Ledger> ledger;  ///< this and the errands: unless the store is local
  std::unique_ptr<Tier> own_tier;
  std::atomic<Tier*> published_tier{nullptr};
  std::unique_ptr<Errands> errands;  // after the ledger and the storage, which it uses

  std::mutex reload_mutex;  ///< one reload at a time
  std::atomic<uint64_t> generation{0};
  std::mutex watch_mutex;
  std::unique_ptr<FileWatch> watch;

  std::mutex in_flight_mutex;
  std::condition_variable in_flight_ended;
  uint64_t in_flight = 0;  ///< asynchronous decisions that have not ended; a child of fork does not count

  /// Null until a rule wants it, with a local store, and in a child of fork: what was paid for is the parent's.
  Tier* tier() const noexcept {
    Tier* const tier = published_tier.load(std::memory_order_acquire);
    return tier == nullptr || birthplace.IsForked() ? nullptr : tier;
  }
  /// An asynchronous decision begins, and has ended.
  void Begins() noexcept;
  void Ends() noexcept;
  /// Until no asynchronous decision is under way any more.
  void AwaitInFlight() noexcept;
  uint64_t NowNs(uint64_t given) noexcept { return given != 0 ? given : clock->NowNs(); }

  /// Allow for many on a store in this process, and on one that is elsewhere. `now_ns` is for those that state no instant.
  void AllowManyHere(std::span<const Request> requests, uint64_t now_ns, std::span<Decision> out) noexcept;
  void AllowManyThere(std::span<const Request> requests, uint64_t now_ns, std::span<Decision> out) noexcept;
  /// A decision from start to end on a snapshot that stays alive.
  Status Decide(const Snapshot& snapshot, const Request& request, uint64_t now_ns, Mode mode, Decision& out) noexcept;
  /// Its rules have been found.
  Status DecideFound(const Snapshot& snapshot, const MatchedRules& rules, const Request& request, uint64_t now_ns,
                     Mode mode, Decision& out) noexcept;
  /// The short way for a rule with a single limit on a local store; the same as DecideFound. In single.hpp.
  inline Status DecideSingle(const CurrentSnapshot::Reader& snapshot, const CompiledRule& rule, const SingleKey& key,
                             int64_t stated_cost, uint64_t now_ns, Decision& out) noexcept;
  /// Its second half: the store has answered.
  inline void AnswerSingle(const CurrentSnapshot::Reader& snapshot, const CompiledRule& rule, const Numbers& numbers,
                           uint64_t cost, const Outcome& outcome, uint64_t now_ns, Micros now, Decision& out) noexcept;
  /// The part that needs no limit: true when `out` is complete.
  bool DecideWithoutLimits(const Snapshot& snapshot, const MatchedRules& rules, Mode mode, Decision& out) noexcept;
  /// The part after the store has answered.
  Status Finish(const Snapshot& snapshot, const MatchedRules& rules, ChargeBuffer& buffer, size_t first,
                Operation& operation, Status status, const Tally& tally, Decision& out) noexcept;
  Status FallBack(const Snapshot& snapshot, const MatchedRules& rules, ChargeBuffer& buffer, size_t first,
                  Operation& operation, Decision& out) noexcept;
  /// The store has admitted: the local share is charged as well, so that it is not full when the store fails.
  void Warm(const Snapshot& snapshot, const MatchedRules& rules, std::span<const Charge> charges,
            std::span<const LimitUse> uses, Micros now) noexcept;
  /// What the fallback has admitted is owed to the store, or told as unreported.
  void Owe(const Charge& charge, const LimitUse& use, Micros now, uint64_t units) noexcept;
  /// `operation` settles `request`, which the fallback had admitted: corrects the share and what the store is owed.
  Status SettleFallback(const Snapshot& snapshot, const Request& request, ChargeBuffer& buffer,
                        Operation& operation) noexcept;
  Status Settle(const Snapshot& snapshot, const Request& request, const Decision& decision, uint64_t actual,
                uint64_t now_ns, Decision& out) noexcept;
  Status Reset(const Snapshot& snapshot, const Request& request) noexcept;
  /// Sets Charge::name where the store wants it; the views point into `names`.
  Status SetNames(const Snapshot& snapshot, const Request& request, std::span<Charge> charges,
                  std::span<const LimitUse> uses, std::string& names) noexcept;
  Status ApplyNamed(const Snapshot& snapshot, const Request& request, ChargeBuffer& buffer, size_t first,
                    Operation& operation, std::string& names) noexcept;

  /// Makes the tier when these rules want it; before they come into force.
  void PrepareTier(const RuleSet& rules);
  /// True when `out` is complete, and counted, without the store.
  bool AnswerHere(const Snapshot& snapshot, const Request& request, const MatchedRules& rules,
                  std::span<Charge> charges, std::span<const LimitUse> uses, const Tally& tally, TierPass& pass,
                  Decision& out) noexcept;
  bool DenyHere(std::span<Charge> charges, std::span<const LimitUse> uses, const TierPass& pass,
                Decision& out) noexcept;
  /// False may also mean that the charges ask for a block now; AfterPayment has to follow then.
  bool AdmitHere(const Snapshot& snapshot, const MatchedRules& rules, std::span<Charge> charges,
                 std::span<const LimitUse> uses, TierPass& pass, Decision& out) noexcept;
  /// The store has answered about a block. Turns the charges back into those of the request; true when that one has to be asked about by itself.
  bool AfterPayment(const Snapshot& snapshot, TierPass& pass, Operation& operation, Status status) noexcept;
  bool KeepLease(Tier& tier, const Snapshot& snapshot, const TierPass& pass, const Operation& operation,
                 uint64_t units) noexcept;
  /// Keeps the store's answer when it is a denial that may be repeated.
  void Remember(const Snapshot& snapshot, const TierPass& pass, const Operation& operation,
                const Decision& decision) noexcept;

  void Count(const Snapshot& snapshot, const MatchedRules& rules, std::span<const Charge> charges,
             std::span<const LimitUse> uses, const Tally& tally, const Decision& decision) noexcept;
  void NoteStore(Status status) noexcept;
  void Say(Log::Level level, std::string_view text) noexcept {
    if (log != nullptr) log->Write(level, text);
  }
};

/// The answer of a question that could not be asked.
inline Status Refuse(Status status, Decision& out) noexcept {
  out = Decision();
  out.status = status;
  return status;
}

/// A decision of a rule set before anything is known.
inline Decision Blank(const Snapshot& snapshot, uint64_t now_ns, const MatchedRules& rules,
                      const Request& request) noexcept {
  Decision out;
  out.generation = snapshot.generation();
  out.now_ns = now_ns;
  if (rules.count != 0) {
    const CompiledRule& rule = snapshot.rules()[rules.index[0]];
    out.rule = rule.id;
    out.cost = static_cast<int64_t>(CostOf(rule, request.cost));
  } else {
    out.cost = request.cost == kCostOfRule ? 1 : request.cost;
  }
  return out;
}

}  // namespace ratel
