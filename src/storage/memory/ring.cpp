#include "storage/memory/ring.hpp"

#include <bit>
#include <cstdlib>
#include <new>

namespace ratel::memory {

void Ring::Clear() noexcept {
  SetWord(0, 0);
  SetWord(1, 0);
  SetWord(2, 0);
}

void Ring::DropFront(size_t count) noexcept {
  if (count == 0) return;
  const size_t have = size();
  if (count >= have) {
    Clear();
    return;
  }
  const uint64_t dropped = Word(kHeaderWords + 2 * Place(count - 1) + 1);
  SetWord(1, (Word(1) + count) & (capacity() - 1));
  SetWord(2, dropped);
  SetWord(0, have - count);
}

void Ring::Append(Tick at, uint64_t cost) noexcept {
  const size_t have = size();
  const uint64_t through = have == 0 ? 0 : UnitsThrough(have - 1);
  SetAt(have, at);
  SetThrough(have, through + cost);
  SetWord(0, have + 1);
}

void Ring::AddToNewest(uint64_t cost) noexcept {
  const size_t newest = size() - 1;
  SetThrough(newest, UnitsThrough(newest) + cost);
}

void Ring::MergeFrom(size_t from, Tick at) noexcept {
  const size_t have = size();
  if (from >= have) return;
  const uint64_t through = UnitsThrough(have - 1);
  SetAt(from, at);
  SetThrough(from, through);
  SetWord(0, from + 1);
}

void Ring::Replace(size_t i, uint64_t cost) noexcept {
  const size_t have = size();
  if (i >= have) return;
  const uint64_t before = i == 0 ? 0 : UnitsThrough(i - 1);
  const uint64_t old = UnitsThrough(i) - before;
  if (cost != 0) {
    for (size_t k = i; k < have; ++k) SetThrough(k, UnitsThrough(k) - old + cost);
    return;
  }
  for (size_t k = i; k + 1 < have; ++k) {
    SetAt(k, At(k + 1));
    SetThrough(k, UnitsThrough(k + 1) - old);
  }
  SetWord(0, have - 1);
}

void Ring::CopyFrom(const Ring& from) noexcept {
  Clear();
  const size_t count = from.size();
  for (size_t i = 0; i < count; ++i) {
    SetAt(i, from.At(i));
    SetThrough(i, from.UnitsThrough(i));
  }
  SetWord(0, count);
}

RingPool::~RingPool() {
  while (slabs_ != nullptr) {
    Slab* next = slabs_->next;
    std::free(slabs_);
    slabs_ = next;
  }
}

bool RingPool::Refill(Class& cls, unsigned log2) noexcept {
  const size_t ring_bytes = (Ring::kHeaderWords + (size_t{2} << log2)) * sizeof(uint64_t);
  const size_t count = ring_bytes >= 16384 ? 1 : 16384 / ring_bytes;
  const size_t bytes = 64 + ring_bytes * count;
  void* memory = nullptr;
  if (posix_memalign(&memory, 64, bytes) != 0) return false;
  auto* slab = static_cast<Slab*>(memory);
  {
    const std::lock_guard lock(slabs_mutex_);
    slab->next = slabs_;
    slabs_ = slab;
  }
  char* place = static_cast<char*>(memory) + 64;
  for (size_t i = 0; i < count; ++i, place += ring_bytes) {
    const size_t words = ring_bytes / sizeof(uint64_t);
    for (size_t w = 0; w < words; ++w) new (place + w * sizeof(uint64_t)) std::atomic<uint64_t>(0);
    auto* first = reinterpret_cast<std::atomic<uint64_t>*>(place);
    first[Ring::kHeaderWords - 1].store(reinterpret_cast<uint64_t>(cls.free), std::memory_order_relaxed);
    cls.free = reinterpret_cast<uint64_t*>(place);
  }
  return true;
}

Ring RingPool::Get(size_t entries) noexcept {
  unsigned log2 = Ring::kSmallest;
  while ((size_t{1} << log2) < entries) ++log2;
  if (log2 >= kClasses) return Ring();
  Class& cls = classes_[log2];
  const std::lock_guard lock(cls.mutex);
  if (cls.free == nullptr && !Refill(cls, log2)) return Ring();
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(cls.free);
  cls.free = reinterpret_cast<uint64_t*>(words[Ring::kHeaderWords - 1].load(std::memory_order_relaxed));
  return Ring(reinterpret_cast<uint64_t>(words) | uint64_t{log2} << 48);
}

void RingPool::Put(Ring ring) noexcept {
  if (ring.none()) return;
  Class& cls = classes_[ring.handle() >> 48];
  auto* words = reinterpret_cast<std::atomic<uint64_t>*>(ring.handle() & ((uint64_t{1} << 48) - 1));
  const std::lock_guard lock(cls.mutex);
  words[Ring::kHeaderWords - 1].store(reinterpret_cast<uint64_t>(cls.free), std::memory_order_relaxed);
  cls.free = reinterpret_cast<uint64_t*>(words);
}

}  // namespace ratel::memory
