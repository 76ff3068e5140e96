// A list of at most N elements in place. What is not in use is not even initialised, so a large N costs nothing.
#pragma once

#include <cassert>
#include <cstddef>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

namespace ratel {

template <class T, size_t N>
class FixedVector {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  FixedVector() noexcept {}
  FixedVector(const FixedVector&) = delete;
  FixedVector& operator=(const FixedVector&) = delete;

  size_t size() const noexcept { return size_; }
  bool full() const noexcept { return size_ == N; }
  /// The caller has seen to room.
  template <class... Args>
  T& Add(Args&&... args) noexcept {
    assert(!full());
    return *new (data() + size_++) T{std::forward<Args>(args)...};
  }
  /// Drops all but the first `size`.
  void Shrink(size_t size) noexcept { size_ = size; }

  T* data() noexcept { return reinterpret_cast<T*>(bytes_); }
  const T* data() const noexcept { return reinterpret_cast<const T*>(bytes_); }
  T& operator[](size_t i) noexcept { return data()[i]; }
  const T& operator[](size_t i) const noexcept { return data()[i]; }
  T* begin() noexcept { return data(); }
  T* end() noexcept { return data() + size_; }
  const T* begin() const noexcept { return data(); }
  const T* end() const noexcept { return data() + size_; }
  std::span<T> From(size_t first) noexcept { return {data() + first, size_ - first}; }

 private:
  size_t size_ = 0;
  alignas(T) unsigned char bytes_[N * sizeof(T)];
};

}  // namespace ratel
