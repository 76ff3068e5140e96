#include "core/birthplace.hpp"

#include <pthread.h>

namespace ratel {

std::atomic<uint32_t> Birthplace::forks{0};

Birthplace::Birthplace() noexcept {
  // It fails for lack of memory alone. Then nothing is known of forks, as if this library did not look.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  forks_ = forks.load(std::memory_order_relaxed);
}

}  // namespace ratel
