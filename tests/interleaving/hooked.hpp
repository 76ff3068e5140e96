// Included before all else where src/storage/memory is compiled for these tests: its atomics and mutexes then tell of each access, and its waiting hands over.
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/interleaving/turns.hpp"

namespace std {

template <class T>
class hooked_atomic {
 public:
  static constexpr bool is_always_lock_free = atomic<T>::is_always_lock_free;
  constexpr hooked_atomic() noexcept = default;
  constexpr hooked_atomic(T value) noexcept : value_(value) {}
  hooked_atomic(const hooked_atomic&) = delete;
  hooked_atomic& operator=(const hooked_atomic&) = delete;

  T load(memory_order order) const noexcept { return Hooked().load(order); }
  void store(T value, memory_order order) noexcept { Hooked().store(value, order); }
  T fetch_add(T value, memory_order order) noexcept { return Hooked().fetch_add(value, order); }
  T fetch_sub(T value, memory_order order) noexcept { return Hooked().fetch_sub(value, order); }
  T fetch_and(T value, memory_order order) noexcept { return Hooked().fetch_and(value, order); }
  T fetch_or(T value, memory_order order) noexcept { return Hooked().fetch_or(value, order); }
  bool compare_exchange_strong(T& expected, T value, memory_order success, memory_order failure) noexcept {
    return Hooked().compare_exchange_strong(expected, value, success, failure);
  }
  bool compare_exchange_strong(T& expected, T value, memory_order order) noexcept {
    return Hooked().compare_exchange_strong(expected, value, order);
  }
  bool compare_exchange_weak(T& expected, T value, memory_order success, memory_order failure) noexcept {
    return Hooked().compare_exchange_strong(expected, value, success, failure);
  }

 private:
  const atomic<T>& Hooked() const noexcept { return ratel::test::BeforeAccess(), value_; }
  atomic<T>& Hooked() noexcept { return ratel::test::BeforeAccess(), value_; }
  atomic<T> value_{};
};

class hooked_mutex {
 public:
  void lock() noexcept {
    ratel::test::BeforeAccess();
    while (held_) ratel::test::Wait();
    held_ = true;
  }
  void unlock() noexcept { held_ = false; }

 private:
  bool held_ = false;
};

}  // namespace std

// From here on the names below mean these.
#define atomic hooked_atomic
#define mutex hooked_mutex
#define sched_yield ratel::test::Wait
