#include "limiter/denials.hpp"

#include <bit>

namespace ratel {

bool DenialCache::Slot::Read(const Hash128& key, Record& out) const noexcept {
  if (this->key() != key) return false;
  const uint32_t before = version.load(std::memory_order_acquire);
  if (before % 2 != 0) return false;
  std::array<uint64_t, kWords> copy;
  for (size_t i = 0; i < kWords; ++i) copy[i] = words[i].load(std::memory_order_acquire);
  if (version.load(std::memory_order_relaxed) != before) return false;
  out = std::bit_cast<Record>(copy);
  return out.key == key;
}

Hash128 DenialCache::Slot::key() const noexcept {
  return {words[0].load(std::memory_order_relaxed), words[1].load(std::memory_order_relaxed)};
}

Micros DenialCache::Slot::until() const noexcept { return words[kUntil].load(std::memory_order_relaxed); }

bool DenialCache::Slot::Write(const Record& record) noexcept {
  uint32_t before = version.load(std::memory_order_relaxed);
  if (before % 2 != 0 || !version.compare_exchange_strong(before, before + 1, std::memory_order_acq_rel)) return false;
  const auto copy = std::bit_cast<std::array<uint64_t, kWords>>(record);
  for (size_t i = 0; i < kWords; ++i) words[i].store(copy[i], std::memory_order_release);
  version.store(before + 2, std::memory_order_release);
  return true;
}

std::optional<Denial> DenialCache::Find(const Hash128& key) const noexcept {
  const size_t set = SetOf(key);
  Record record;
  for (size_t way = 0; way < kWays; ++way) {
    if (slots_[set + way].Read(key, record)) return record.denial;
  }
  return std::nullopt;
}

void DenialCache::Put(const Hash128& key, const Denial& denial) noexcept {
  const size_t set = SetOf(key);
  size_t place = set;
  for (size_t way = 0; way < kWays; ++way) {
    const Slot& slot = slots_[set + way];
    if (slot.key() == key) {
      place = set + way;
      break;
    }
    if (slot.until() < slots_[place].until()) place = set + way;
  }
  slots_[place].Write({key, denial});
}

}  // namespace ratel
