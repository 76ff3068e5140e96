// The clock when the host supplies none: Unix time as it was at the start, advanced by the boot-time clock. A stepped wall clock does not reach it; time
// spent suspended counts, so budgets refill while a machine sleeps.
#pragma once

#include <ctime>

#include "limiter/host.hpp"

namespace ratel {

class BuiltinClock final : public Clock {
 public:
  BuiltinClock() noexcept : offset_(Read(CLOCK_REALTIME) - Read(CLOCK_BOOTTIME)) {}
  uint64_t NowNs() noexcept override { return Read(CLOCK_BOOTTIME) + offset_; }

 private:
  static uint64_t Read(clockid_t id) noexcept {
    timespec time{};
    clock_gettime(id, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(time.tv_nsec);
  }
  const uint64_t offset_;
};

}  // namespace ratel
