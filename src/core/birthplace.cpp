#include "core/birthplace.hpp"

#include <pthread.h>

#include <new>

namespace ratel {

std::atomic<uint32_t> Birthplace::forks{0};

Birthplace::Birthplace() noexcept {
  // It fails for lack of memory alone. Then nothing is known of forks, as if this library did not look.
  static const int registered = pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  static_cast<void>(registered);
  forks_ = forks.load(std::memory_order_relaxed);
}

namespace {

struct Left {
  const void* what;
  const Left* before;
};
std::atomic<const Left*> last_left{nullptr};

}  // namespace

void LeaveToTheProcess(const void* what) noexcept {
  auto* const left = new (std::nothrow) Left{what, last_left.load(std::memory_order_relaxed)};
  if (left == nullptr) return;
  while (!last_left.compare_exchange_weak(left->before, left, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace ratel
