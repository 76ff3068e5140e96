// One key's state under one limit, driven as a store would drive it: two words, or a log in a vector.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "algorithm/codec.hpp"
#include "algorithm/log_vector.hpp"
#include "algorithm/step.hpp"

namespace ratel {

struct Engine {
  explicit Engine(Numbers n) : numbers(std::move(n)) {}

  Outcome Ask(Tick now, uint64_t cost, Spend spend = Spend::kYes) {
    if (numbers.spec.algorithm != Algorithm::kSlidingLog) return Step(numbers, state, now, cost, spend);
    LogChange change;
    const Outcome outcome = EvaluateLog(numbers, log, now, cost, spend, change);
    if (outcome.changed) log.Apply(change);
    state = log.StateOf(numbers);
    return outcome;
  }

  Outcome Peek(Tick now, uint64_t cost) const { return Engine(*this).Ask(now, cost, Spend::kNo); }

  Outcome Correct(Tick now, Tick charged_at, uint64_t spent, uint64_t actual) {
    if (numbers.spec.algorithm != Algorithm::kSlidingLog) return Settle(numbers, state, now, charged_at, spent, actual);
    LogCorrection correction;
    const Outcome outcome = SettleLog(numbers, log, now, charged_at, spent, actual, correction);
    log.Apply(correction);
    state = log.StateOf(numbers);
    return outcome;
  }

  bool SameState(const Engine& other) const {
    return state == other.state && std::vector<LogEntry>(log.entries().begin(), log.entries().end()) ==
                                       std::vector<LogEntry>(other.log.entries().begin(), other.log.entries().end());
  }

  /// Whether the state is one that a step may leave: within its bounds, entries in order and merged, words that agree with them.
  bool IsSound() const {
    const std::vector<uint8_t> bytes = Encode(numbers, state, log.entries());
    return Decode({reinterpret_cast<const char*>(bytes.data()), bytes.size()}).has_value();
  }

  Numbers numbers;
  State state;
  LogVector log;
};

}  // namespace ratel
