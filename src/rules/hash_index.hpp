// Numbers by hash, in one flat table: the caller keeps what they stand for and says whether a number is the one it looks for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ratel {

/// Open addressing, at most half full.
class HashIndex {
 public:
  static constexpr uint32_t kAbsent = UINT32_MAX;

  /// The number under `hash` for which `same(number)` holds, else kAbsent. `step()` is called for each slot looked at.
  template <class Same, class Step>
  uint32_t Find(uint32_t hash, Same same, Step step) const noexcept {
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      step();
      const Slot& slot = slots_[i];
      if (slot.number == kAbsent) return kAbsent;
      if (slot.hash == hash && same(slot.number)) return slot.number;
    }
  }
  template <class Same>
  uint32_t Find(uint32_t hash, Same same) const noexcept {
    return Find(hash, same, [] {});
  }

  void Insert(uint32_t hash, uint32_t number) {
    if (2 * (size_ + 1) > slots_.size()) Grow();
    Place({hash, number});
    ++size_;
  }

 private:
  struct Slot {
    uint32_t hash = 0;
    uint32_t number = kAbsent;
  };

  void Place(Slot slot) noexcept {
    size_t i = slot.hash & mask_;
    while (slots_[i].number != kAbsent) i = (i + 1) & mask_;
    slots_[i] = slot;
  }

  void Grow() {
    std::vector<Slot> old(2 * slots_.size());
    old.swap(slots_);
    mask_ = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.number != kAbsent) Place(slot);
    }
  }

  std::vector<Slot> slots_ = std::vector<Slot>(4);
  size_t mask_ = 3;
  size_t size_ = 0;
};

}  // namespace ratel
