// The one duty of a store: to make read - step - write indivisible for the keys of one request.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "algorithm/numbers.hpp"
#include "algorithm/outcome.hpp"
#include "algorithm/state.hpp"
#include "core/hash.hpp"
#include "core/result.hpp"
#include "core/time.hpp"

namespace ratel {

/// Every set of numbers that the in-process states of one limit may have been written under. Immutable once published.
class NumbersHistory {
 public:
  virtual ~NumbersHistory() = default;
  /// The numbers of a version; nullptr when that version was never given out.
  virtual const Numbers* At(uint16_t version) const noexcept = 0;
};

/// One limit of one request: what to decide on, and the answer.
struct Charge {
  const Numbers* numbers = nullptr;         ///< to decide under
  const NumbersHistory* history = nullptr;  ///< what older states may have been written under
  uint16_t version = 0;                     ///< of `numbers`, within `history`
  bool shadow = false;                      ///< never denies the request; spends on its own state when it admits
  uint64_t cost = 1;                        ///< units
  Hash128 key;                              ///< the state's identity: rule, limit and key value, hashed
  uint32_t group = 0;                       ///< of the key value alone (see Grouping)
  std::string_view name;                    ///< the same as printable text; empty unless the store wants_names()
  Outcome outcome;                          ///< out
  State before;                             ///< out, for explain: at the instant asked about
  State after;                              ///< out, for explain
};

/// One limit of one request, as far as a store in this process has to know it.
struct SingleCharge {
  const Numbers* numbers;
  const NumbersHistory* history;
  uint16_t version;
  uint64_t cost;
  Hash128 key;

  static SingleCharge Of(const Charge& charge) noexcept {
    return {charge.numbers, charge.history, charge.version, charge.cost, charge.key};
  }
  Charge Whole() const noexcept {
    Charge charge;
    charge.numbers = numbers;
    charge.history = history;
    charge.version = version;
    charge.cost = cost;
    charge.key = key;
    return charge;
  }
};

/// More limits than this on one request are refused.
inline constexpr size_t kMaxChargesPerOperation = 64;

enum class Mode : uint8_t {
  kSpend,   ///< decide and spend, all or nothing
  kPeek,    ///< decide, spend nothing, write nothing
  kSettle,  ///< correct what was spent at `charged_at`; `cost` is what was spent, `actual` what it should have been
  kForget,  ///< drop the states
};

/// One request's worth of charges, decided as one act.
struct Operation {
  std::span<Charge> charges;  ///< distinct keys
  Micros now = 0;             ///< a store that decides by a clock of its own puts its instant here
  Mode mode = Mode::kSpend;
  Micros charged_at = 0;        ///< kSettle
  uint64_t actual = 0;          ///< kSettle: units
  std::optional<Hash128> id{};  ///< kSpend, for stores behind a network: repeats under one id are one request
};

/// Ends an Operation that a store took on asynchronously. Called exactly once, on any thread.
class Completion {
 public:
  virtual ~Completion() = default;
  virtual void Finish(Status status) noexcept = 0;
};

/// Something that a store has to tell, without secrets, on one line. Any thread, no lock held.
enum class Report : uint8_t { kError, kWarning, kInfo };
using Reporter = std::function<void(Report, std::string_view)>;

struct StorageCounters {
  uint64_t evicted_live = 0;  ///< keys dropped whose state was not as new
};

/// What Charge::group is made from.
enum class Grouping : uint8_t {
  kByLimit,  ///< each limit's own scope: equal for limits of one request with one scope
  kShared,  ///< what the scopes of all limits of a request share, so that all its charges have one; limits that share nothing are refused
  kSharedOrByRule,  ///< likewise; limits that share nothing have one for their rule
};

class Storage {
 public:
  virtual ~Storage() = default;

  /// Decides on all charges as one indivisible act and fills their outcomes. A status other than kOk means that the store could
  /// not tell: outcomes mean nothing and, as far as the store knows, nothing was spent.
  virtual Status Apply(Operation& operation) noexcept = 0;

  /// Apply for one charge, to spend, of which nothing but the outcome is wanted: almost every request on a store that is_local().
  [[gnu::noinline]] virtual Status SpendSingle(const SingleCharge& single, Micros now, Outcome& outcome) noexcept {
    Charge charge = single.Whole();
    Operation operation{{&charge, 1}, now, Mode::kSpend};
    const Status status = Apply(operation);
    outcome = charge.outcome;
    return status;
  }

  /// A hint: charges with these keys follow soon.
  virtual void Prefetch(std::span<const Hash128>) const noexcept {}

  /// Several requests, decided in order; each is atomic on its own. `statuses` has one entry for each.
  virtual void ApplyMany(std::span<Operation> operations, std::span<Status> statuses) noexcept {
    for (size_t i = 0; i < operations.size(); ++i) statuses[i] = Apply(operations[i]);
  }

  /// kOk: `done` will be (or has been) finished. Otherwise it never is. The operation stays valid until then.
  virtual Status ApplyAsync(Operation& operation, Completion& done) noexcept {
    done.Finish(Apply(operation));
    return Status::kOk;
  }

  /// Drops every key whose state has equalled "new" since `cutoff`.
  virtual Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept = 0;
  virtual Status KeyCount(uint64_t& keys) noexcept = 0;
  virtual StorageCounters Counters() const noexcept { return {}; }

  /// Who hears what it has to tell. At most once; what there was to tell before is told then.
  virtual void TellTo(const Reporter&) noexcept {}
  /// Nothing more will be asked: ends what is under way, with kCancelled where there is no answer yet, and falls silent. What a host's code holds is
  /// the host's to end.
  virtual void Stop() noexcept {}

  virtual Grouping grouping() const noexcept { return Grouping::kByLimit; }
  /// Whether Charge::name has to be set.
  virtual bool wants_names() const noexcept { return false; }
  /// Whether what is asked runs the host's code: then it is asked on threads that are inside a call of the host's, and on no others.
  virtual bool runs_host_code() const noexcept { return false; }
  /// Whether Apply answers at once on the calling thread without I/O.
  virtual bool is_local() const noexcept { return false; }
};

/// All or nothing: whether the request goes through, given each charge's outcome.
inline bool Admits(std::span<const Charge> charges) noexcept {
  for (const Charge& charge : charges) {
    if (!charge.outcome.allowed && !charge.shadow) return false;
  }
  return true;
}

}  // namespace ratel
