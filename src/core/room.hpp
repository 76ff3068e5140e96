// Room on the stack for values that are written before they are read: clearing it would cost more than a decision.
#pragma once

#include <cstddef>
#include <span>
#include <type_traits>

namespace ratel {

template <class T, size_t kCount = 1>
class Room {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  Room() noexcept {}
  T& operator*() noexcept { return values_[0]; }
  T& operator[](size_t i) noexcept { return values_[i]; }
  std::span<T> first(size_t count) noexcept { return {values_, count}; }
  std::span<T> from(size_t begin) noexcept { return {values_ + begin, kCount - begin}; }

 private:
  union {
    T values_[kCount];
  };
};

}  // namespace ratel
