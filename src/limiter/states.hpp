// The states of a request as a whole, for what a process remembers about them.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "core/hash.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// One identity for the states of a request, under one rule set. Keys are keyed hashes, so nobody can look for two that meet.
class StatesHash {
 public:
  explicit StatesHash(uint64_t generation) noexcept { Mix({generation, ~generation}); }
  void Mix(Hash128 part) noexcept {
    hash_.low = (std::rotl(hash_.low, 23) ^ part.low) * 0x9e3779b97f4a7c15u;
    hash_.high = (std::rotl(hash_.high, 29) ^ part.high) * 0xd6e8feb86659fd93u;
  }
  Hash128 hash() const noexcept { return hash_; }

 private:
  Hash128 hash_;
};

inline Hash128 HashOfStates(std::span<const Charge> charges, uint64_t generation) noexcept {
  StatesHash states(generation);
  for (const Charge& charge : charges) states.Mix(charge.key);
  return states.hash();
}

/// The same for the states and what each is charged.
inline Hash128 HashOfCharges(std::span<const Charge> charges, uint64_t generation) noexcept {
  StatesHash states(generation);
  for (const Charge& charge : charges) {
    states.Mix(charge.key);
    states.Mix({charge.cost, ~charge.cost});
  }
  return states.hash();
}

/// How often this process has moved a state other than forward: by a settle, a reset, or units handed back. What is remembered holds as long as the sum stays the
/// same. Keys share counters; that forgets too much at times, and never too little. Any threads.
class Upsets {
 public:
  void Note(const Hash128& key) noexcept { Of(key).fetch_add(1, std::memory_order_acq_rel); }
  void Note(std::span<const Charge> charges) noexcept {
    for (const Charge& charge : charges) Note(charge.key);
  }
  uint64_t SumOf(std::span<const Charge> charges) const noexcept {
    uint64_t sum = 0;
    for (const Charge& charge : charges) sum += counts_[charge.key.low % kCount].load(std::memory_order_acquire);
    return sum;
  }

 private:
  static constexpr size_t kCount = 4096;
  std::atomic<uint32_t>& Of(const Hash128& key) noexcept { return counts_[key.low % kCount]; }
  std::array<std::atomic<uint32_t>, kCount> counts_{};
};

}  // namespace ratel
