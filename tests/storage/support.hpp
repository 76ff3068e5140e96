// A store that is obviously right (one mutex, one map) and the small things that tests of stores need.
#pragma once

#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "algorithm/convert.hpp"
#include "algorithm/log_vector.hpp"
#include "algorithm/step.hpp"
#include "storage/storage.hpp"

namespace ratel::test {

inline Numbers Make(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  return *Resolve({algorithm, limit, window, burst});
}

inline constexpr Algorithm kAlgorithms[] = {Algorithm::kTokenBucket, Algorithm::kLeakyBucket, Algorithm::kFixedWindow,
                                            Algorithm::kSlidingLog, Algorithm::kSlidingCounter};

/// Versions of numbers in a vector.
class Versions final : public NumbersHistory {
 public:
  explicit Versions(std::vector<Numbers> list) : list_(std::move(list)) {}
  const Numbers* At(uint16_t version) const noexcept override {
    return version < list_.size() ? &list_[version] : nullptr;
  }
  const Numbers& operator[](size_t i) const { return list_[i]; }

 private:
  std::vector<Numbers> list_;
};

/// A key for a number, spread over all bits.
inline Hash128 Key(uint64_t n) {
  const auto mix = [](uint64_t x) {
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  };
  return {mix(n), mix(n ^ 0x123456789)};
}

/// A key whose home is that line of a page.
inline Hash128 KeyInLine(uint64_t line, uint64_t n) {
  Hash128 key = Key(n);
  key.low = (key.low & ~uint64_t{63}) | line;
  return key;
}

inline Charge ChargeFor(const Versions& versions, uint16_t version, uint64_t key, uint64_t cost = 1,
                        bool shadow = false) {
  Charge charge;
  charge.numbers = &versions[version];
  charge.history = &versions;
  charge.version = version;
  charge.key = Key(key);
  charge.cost = cost;
  charge.shadow = shadow;
  return charge;
}

/// The reference: never forgets anything, and does one thing at a time.
class ReferenceStorage final : public Storage {
 public:
  Status Apply(Operation& operation) noexcept override {
    const std::lock_guard lock(mutex_);
    if (operation.mode == Mode::kForget) {
      for (const Charge& charge : operation.charges) held_.erase({charge.key.low, charge.key.high});
      return Status::kOk;
    }
    for (Charge& charge : operation.charges) BringUpToDate(charge, operation);
    if (operation.mode == Mode::kSettle) {
      for (Charge& charge : operation.charges) Correct(charge, operation);
    } else if (operation.mode == Mode::kPeek) {
      for (Charge& charge : operation.charges) charge.outcome = Evaluate(charge, operation, charge.cost, Spend::kNo);
    } else {
      for (Charge& charge : operation.charges) charge.outcome = Evaluate(charge, operation, charge.cost, Spend::kNo);
      const bool admitted = Admits(operation.charges);
      for (Charge& charge : operation.charges) {
        if (admitted) {
          charge.outcome = Evaluate(charge, operation, charge.cost, Spend::kYes);
        } else {
          // What can never fit spends nothing, but lets the clock firewall's repair be stored.
          Evaluate(charge, operation, charge.numbers->capacity + 1, Spend::kYes);
        }
      }
    }
    return Status::kOk;
  }
  Status EvictIdle(Micros, uint64_t&) noexcept override { return Status::kUnsupported; }
  Status KeyCount(uint64_t&) noexcept override { return Status::kUnsupported; }

 private:
  struct Held {
    State state;
    LogVector log;
    uint16_t version = 0;
  };
  Held& At(const Charge& charge) {
    const auto [entry, is_new] = held_.try_emplace({charge.key.low, charge.key.high});
    if (is_new) entry->second.version = charge.version;
    return entry->second;
  }
  void BringUpToDate(const Charge& charge, const Operation& operation) {
    Held& held = At(charge);
    if (held.version == charge.version || operation.mode == Mode::kPeek) return;
    const Numbers& from = *charge.history->At(held.version);
    if (charge.numbers->spec.algorithm == Algorithm::kSlidingLog) {
      held.log = LogVector(ConvertEntries(from, *charge.numbers, held.log.entries(), operation.now));
    } else {
      held.state = Convert(from, *charge.numbers, held.state, operation.now);
    }
    held.version = charge.version;
  }
  Outcome Evaluate(const Charge& charge, const Operation& operation, uint64_t cost, Spend spend) {
    Held& held = At(charge);
    const Tick now = charge.numbers->TickOf(operation.now);
    if (charge.numbers->spec.algorithm != Algorithm::kSlidingLog)
      return Step(*charge.numbers, held.state, now, cost, spend);
    LogChange change;
    const Outcome outcome = EvaluateLog(*charge.numbers, held.log, now, cost, spend, change);
    if (outcome.changed) held.log.Apply(change);
    return outcome;
  }
  void Correct(Charge& charge, const Operation& operation) {
    Held& held = At(charge);
    const Tick now = charge.numbers->TickOf(operation.now);
    const Tick charged_at = charge.numbers->TickOf(operation.charged_at);
    if (charge.numbers->spec.algorithm != Algorithm::kSlidingLog) {
      charge.outcome = Settle(*charge.numbers, held.state, now, charged_at, charge.cost, operation.actual);
      return;
    }
    LogCorrection correction;
    charge.outcome = SettleLog(*charge.numbers, held.log, now, charged_at, charge.cost, operation.actual, correction);
    held.log.Apply(correction);
  }

  std::mutex mutex_;
  std::map<std::pair<uint64_t, uint64_t>, Held> held_;
};

inline bool SameAnswer(const Outcome& a, const Outcome& b) {
  return a.allowed == b.allowed && a.never_fits == b.never_fits && a.remaining == b.remaining && a.delay == b.delay &&
         a.reset_at == b.reset_at && (a.allowed || a.never_fits || a.retry_at == b.retry_at);
}

}  // namespace ratel::test
