// Zeroed memory straight from the system: address space now, pages when first touched.
#pragma once

#include <cstddef>

namespace ratel::memory {

class Mapping {
 public:
  /// What one entry of the page table can stand for at most, and where a mapping of that size or more begins.
  static constexpr size_t kHugePage = size_t{2} << 20;

  /// In small pages. Throws std::bad_alloc.
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  template <class T>
  T* As() const noexcept {
    return static_cast<T*>(address_);
  }

  /// The kHugePage bytes at `offset`, a multiple of it, may become one page when the system gets to it (khugepaged does). All of them should be resident:
  /// others would be, then. Best effort.
  void OfferHuge(size_t offset) const noexcept;
  /// The same at once, in the calling thread; until it is done, who touches these bytes waits. False when the system will not.
  bool MakeHuge(size_t offset) const noexcept;

 private:
  void* reserved_;
  size_t reserved_bytes_;
  void* address_;
};

/// Whether the administrator lets processes ask for huge pages.
bool HugePagesAllowed() noexcept;

}  // namespace ratel::memory
