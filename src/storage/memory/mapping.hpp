// Zeroed memory straight from the system: address space now, pages when first touched.
#pragma once

#include <cstddef>

namespace ratel::memory {

class Mapping {
 public:
  /// Throws std::bad_alloc.
  explicit Mapping(size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  template <class T>
  T* As() const noexcept {
    return static_cast<T*>(address_);
  }

 private:
  void* address_;
  size_t bytes_;
};

}  // namespace ratel::memory
