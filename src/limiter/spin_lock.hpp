// A lock for a handful of instructions: what it guards is copied in or out and nothing else happens meanwhile.
#pragma once

#include <atomic>
#include <thread>

namespace ratel {

class SpinLock {
 public:
  void lock() noexcept {
    for (unsigned tries = 0; held_.test_and_set(std::memory_order_acquire); ++tries) {
      if (tries >= kBeforeYield) std::this_thread::yield();
    }
  }
  bool try_lock() noexcept { return !held_.test_and_set(std::memory_order_acquire); }
  void unlock() noexcept { held_.clear(std::memory_order_release); }

 private:
  static constexpr unsigned kBeforeYield = 64;
  std::atomic_flag held_;
};

}  // namespace ratel
