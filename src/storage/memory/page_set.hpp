// A set of pages, as a bitmap that any thread may change.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "storage/memory/mapping.hpp"

namespace ratel::memory {

class PageSet {
 public:
  /// For pages 0 to pages - 1, none of them in it. Throws std::bad_alloc.
  explicit PageSet(uint64_t pages)
      : memory_((pages + 63) / 64 * sizeof(std::atomic<uint64_t>)), words_(memory_.As<std::atomic<uint64_t>>()) {}

  /// Who sees a page in it sees what was written before it was added.
  bool Has(uint64_t page) const noexcept {
    return (words_[page / 64].load(std::memory_order_acquire) >> page % 64 & 1) != 0;
  }
  /// Whether all of a row are in it; `first` and `count` are multiples of 64.
  bool HasAll(uint64_t first, uint64_t count) const noexcept {
    for (uint64_t word = first / 64; word < (first + count) / 64; ++word) {
      if (words_[word].load(std::memory_order_relaxed) != ~uint64_t{0}) return false;
    }
    return true;
  }
  /// Writes only when it is not in it.
  void Add(uint64_t page) noexcept {
    if (!Has(page)) words_[page / 64].fetch_or(uint64_t{1} << page % 64, std::memory_order_release);
  }
  void Remove(uint64_t page) noexcept {
    words_[page / 64].fetch_and(~(uint64_t{1} << page % 64), std::memory_order_relaxed);
  }

  /// The first page of the set in [from, to), or `to`.
  uint64_t Next(uint64_t from, uint64_t to) const noexcept {
    while (from < to) {
      const uint64_t rest = words_[from / 64].load(std::memory_order_relaxed) >> from % 64;
      if (rest != 0) {
        const uint64_t page = from + static_cast<uint64_t>(std::countr_zero(rest));
        return page < to ? page : to;
      }
      from = (from / 64 + 1) * 64;
    }
    return to;
  }

 private:
  Mapping memory_;
  std::atomic<uint64_t>* const words_;
};

}  // namespace ratel::memory
