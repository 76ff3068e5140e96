// The short ways that almost every request takes: keys that are held, with states of two words, under the numbers in force. What is otherwise is left
// to the long way in memory_storage.cpp, with nothing done.
//
// Whoever calls them has everything inlined: a step's state and outcome then stay in registers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "algorithm/step.hpp"
#include "core/fixed_vector.hpp"
#include "storage/memory/table.hpp"
#include "storage/storage.hpp"

namespace ratel::memory {

enum class Way : uint8_t {
  kDone,
  kAgain,  ///< somebody wrote meanwhile
  kLong,   ///< the long way has to be taken
};

/// Where a charge's state was found, and what it was.
struct HeldState {
  Place place;
  Lead lead;
  State state;
};

/// Any algorithm but the sliding log.
template <class AnyCharge>
Way ReadHeld(const Table& table, const AnyCharge& charge, HeldState& held) noexcept {
  held.place = table.Find(Tag::Of(charge.key));
  const auto& [line, slot, header] = held.place;
  if (line == nullptr || Line::NumbersOf(header, slot) != charge.version) [[unlikely]]
    return Way::kLong;
  held.lead = line->ReadLead(slot);
  held.state = {held.lead.expiry(), line->ReadValue(slot)};
  if (!line->Unchanged(header)) [[unlikely]]
    return Way::kAgain;
  if (held.lead.blank()) [[unlikely]]
    return Way::kLong;
  return Way::kDone;
}

/// Writes a state over what was held; the line is locked.
inline void WriteHeld(Table& table, const HeldState& held, const Numbers& numbers, const State& state,
                      bool at_limit) noexcept {
  Line& line = *held.place.line;
  line.WriteState(held.place.slot, Lead::Of(state.expiry, numbers.tick_exponent, at_limit, false, false), state.value);
  if (held.lead.at_limit() && !at_limit) [[unlikely]]
    table.NoteBelowLimit(&line);
}

/// Field by field: a copy of the whole would make the compiler keep `decided` in memory, and wait for bytes that it has just written.
inline void Tell(const Outcome& decided, Outcome& outcome) noexcept {
  outcome.allowed = decided.allowed;
  outcome.never_fits = decided.never_fits;
  outcome.changed = decided.changed;
  outcome.remaining = decided.remaining;
  outcome.retry_at = decided.retry_at;
  outcome.reset_at = decided.reset_at;
  outcome.delay = decided.delay;
}

/// One limit, to spend; `kStep` is its algorithm's. False: the long way.
template <auto kStep>
bool SpendHeld(Table& table, const SingleCharge& charge, Micros now, Outcome& outcome) noexcept {
  const Numbers& numbers = *charge.numbers;
  const Tick tick = numbers.TickOf(now);
  for (;;) {
    HeldState held;
    const Way way = ReadHeld(table, charge, held);
    if (way == Way::kLong) [[unlikely]]
      return false;
    if (way == Way::kAgain) [[unlikely]]
      continue;
    State state = held.state;
    const Outcome decided = kStep(numbers, state, tick, charge.cost, Spend::kYes);
    Tell(decided, outcome);
    if (!decided.changed) return true;
    Line& line = *held.place.line;
    if (!line.TryLock(held.place.header)) [[unlikely]]
      continue;
    WriteHeld(table, held, numbers, state, decided.remaining == 0);
    line.Unlock(held.place.header);
    return true;
  }
}

/// Several limits of one request, to spend, all or nothing.
class HeldAll {
 public:
  static constexpr size_t kMost = 8;

  HeldAll(Table& table, Operation& operation) noexcept : table_(table), operation_(operation) {}

  [[gnu::flatten]] Way TryToSpend() noexcept {
    if (operation_.charges.size() > kMost) return Way::kLong;
    ones_.Shrink(0);
    locked_ = 0;
    for (Charge& charge : operation_.charges) {
      order_[ones_.size()] = static_cast<uint8_t>(ones_.size());
      One& one = ones_.Add();
      if (charge.numbers->spec.algorithm == Algorithm::kSlidingLog) return Way::kLong;
      if (const Way way = ReadHeld(table_, charge, one.held); way != Way::kDone) return way;
      one.next = one.held.state;
      charge.outcome = Step(*charge.numbers, one.next, TickOf(charge), charge.cost, Spend::kYes);
    }
    if (!Admits(operation_.charges)) return LeaveAll();
    const bool all = LockAll();
    if (all) {
      for (size_t i = 0; i < ones_.size(); ++i) {
        const Charge& charge = operation_.charges[i];
        if (charge.outcome.changed)
          WriteHeld(table_, ones_[i].held, *charge.numbers, ones_[i].next, charge.outcome.remaining == 0);
      }
    }
    for (size_t i = 0; i < locked_; ++i) {
      const Place& place = PlaceAt(i);
      if (i != 0 && PlaceAt(i - 1).line == place.line) continue;
      if (all) {
        place.line->Unlock(place.header);
      } else {
        place.line->UnlockUntouched(place.header);
      }
    }
    return all ? Way::kDone : Way::kAgain;
  }

 private:
  struct One {
    HeldState held;
    State next;
  };

  Tick TickOf(const Charge& charge) const noexcept { return charge.numbers->TickOf(operation_.now); }
  const Place& PlaceAt(size_t i) const noexcept { return ones_[order_[i]].held.place; }

  /// The request is denied: what would have been admitted is told as it is.
  Way LeaveAll() noexcept {
    for (size_t i = 0; i < ones_.size(); ++i) {
      Charge& charge = operation_.charges[i];
      if (charge.outcome.allowed) {
        State state = ones_[i].held.state;
        charge.outcome = Step(*charge.numbers, state, TickOf(charge), charge.numbers->capacity + 1, Spend::kYes);
        if (charge.outcome.changed) return Way::kLong;
        charge.outcome = Step(*charge.numbers, state, TickOf(charge), charge.cost, Spend::kNo);
      } else if (charge.outcome.changed) {
        return Way::kLong;
      }
    }
    for (size_t i = 0; i < ones_.size(); ++i) {
      const Place& place = ones_[i].held.place;
      if (!place.line->Unchanged(place.header)) return Way::kAgain;
    }
    return Way::kDone;
  }

  /// Every line, also of what is only read: in ascending order, as whoever takes several does, and of one line what was read first comes first: while
  /// its header stands, what was read later stands too. The first locked_ of order_ are held afterwards.
  bool LockAll() noexcept {
    for (size_t i = 1; i < ones_.size(); ++i) {
      const uint8_t moved = order_[i];
      size_t to = i;
      for (; to != 0 && PlaceAt(to - 1).line > ones_[moved].held.place.line; --to) order_[to] = order_[to - 1];
      order_[to] = moved;
    }
    for (; locked_ < ones_.size(); ++locked_) {
      const Place& place = PlaceAt(locked_);
      const bool held = locked_ != 0 && PlaceAt(locked_ - 1).line == place.line;
      if (!held && !place.line->TryLock(place.header)) return false;
    }
    return true;
  }

  Table& table_;
  Operation& operation_;
  size_t locked_ = 0;
  FixedVector<One, kMost> ones_;
  std::array<uint8_t, kMost> order_;
};

}  // namespace ratel::memory
