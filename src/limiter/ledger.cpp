#include "limiter/ledger.hpp"

#include <algorithm>
#include <mutex>
#include <new>

namespace ratel {

Charge OwedState::ChargeOf(uint64_t cost) const noexcept {
  Charge charge;
  charge.numbers = numbers;
  charge.history = &record->numbers;
  charge.version = version;
  charge.cost = cost;
  charge.key = key;
  charge.group = group;
  charge.name = name;
  return charge;
}

Ledger::Entry* Ledger::Set::Find(const Hash128& key) noexcept {
  for (Entry& entry : entries) {
    if (entry.used && entry.state.key == key) return &entry;
  }
  return nullptr;
}

void Ledger::Clear(Entry& entry) noexcept {
  entry = Entry();
  count_.fetch_sub(1, std::memory_order_relaxed);
}

Ledger::Entry& Ledger::Room(Set& set, Micros now, uint64_t& dropped) noexcept {
  Entry* smallest = nullptr;
  uint64_t least = 0;
  for (Entry& entry : set.entries) {
    if (!entry.used) return entry;
    const uint64_t units = entry.owed.UnitsAt(*entry.share, now);
    if (smallest != nullptr && units >= least) continue;
    smallest = &entry;
    least = units;
  }
  dropped += least;
  Clear(*smallest);
  return *smallest;
}

uint64_t Ledger::Add(const Charge& charge, const LimitUse& use, Micros now, uint64_t units) noexcept {
  const Numbers& share = use.numbers->local;
  uint64_t dropped = 0;
  Set& set = SetOf(charge.key);
  const std::lock_guard lock(set.lock);
  if (Entry* entry = set.Find(charge.key)) {
    if (entry->share->spec != share.spec) {
      // The numbers were changed meanwhile: what is owed goes on under the new ones.
      Owed owed;
      owed.Add(share, now, entry->owed.UnitsAt(*entry->share, now));
      entry->owed = owed;
    }
    entry->share = use.limit->record->local.At(use.numbers->local_version);
    entry->state.numbers = use.limit->record->numbers.At(use.numbers->version);
    entry->state.version = use.numbers->version;
    entry->owed.Add(share, now, units);
    return dropped;
  }
  Entry& entry = Room(set, now, dropped);
  try {
    entry.state.name = charge.name;
  } catch (const std::bad_alloc&) {
    return dropped + units;
  }
  entry.used = true;
  entry.state.key = charge.key;
  entry.state.group = charge.group;
  entry.state.record = use.limit->record;
  entry.state.version = use.numbers->version;
  // The record's own numbers: those of the rule set go with it.
  entry.state.numbers = use.limit->record->numbers.At(use.numbers->version);
  entry.share = use.limit->record->local.At(use.numbers->local_version);
  entry.owed.Add(share, now, units);
  count_.fetch_add(1, std::memory_order_relaxed);
  return dropped;
}

void Ledger::TakeBack(const Hash128& key, Micros now, Micros charged_at, uint64_t units) noexcept {
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  if (Entry* entry = set.Find(key)) entry->owed.TakeBack(*entry->share, now, charged_at, units);
}

void Ledger::Forget(const Hash128& key) noexcept {
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  if (Entry* entry = set.Find(key)) Clear(*entry);
}

std::optional<OwedState> Ledger::Next(Micros now) {
  for (size_t tried = 0; tried < kCapacity && count() != 0; ++tried) {
    const size_t place = cursor_++ % kCapacity;
    Set& set = sets_[place / kWays];
    const std::lock_guard lock(set.lock);
    Entry& entry = set.entries[place % kWays];
    if (!entry.used) continue;
    if (entry.owed.UnitsAt(*entry.share, now) != 0) return entry.state;
    Clear(entry);
  }
  return std::nullopt;
}

uint64_t Ledger::Take(const Hash128& key, Micros& now) noexcept {
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  Entry* entry = set.Find(key);
  if (entry == nullptr) return 0;
  now = std::max(now, entry->owed.KnownAt(*entry->share));
  const uint64_t units = entry->owed.UnitsAt(*entry->share, now);
  Clear(*entry);
  return units;
}

}  // namespace ratel
