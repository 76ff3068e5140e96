// Counters and reader marks that threads write without meeting: one cache line (pair) for each of a few groups of threads.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <thread>

namespace ratel {

inline constexpr size_t kMaxStripes = 16;

/// How many stripes this machine wants: a power of two, at most kMaxStripes.
inline size_t StripeCount() noexcept {
  return std::min(kMaxStripes, std::bit_ceil(static_cast<size_t>(std::max(1u, std::thread::hardware_concurrency()))));
}

/// The calling thread's stripe among `count` (a power of two). The thread's address decides: no thread-local storage is needed.
inline size_t StripeOf(size_t count) noexcept {
  const auto self = static_cast<uint64_t>(pthread_self());
  return static_cast<size_t>((self >> 12) * 0x9e3779b97f4a7c15u >> 32) & (count - 1);
}

}  // namespace ratel
