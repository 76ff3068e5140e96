#include "virtual_clock.hpp"

#include <time.h>

namespace simulation {
namespace {

// Modes run beside each other, each at its own time.
thread_local uint64_t time_ns = 0;

}  // namespace

void SetTime(uint64_t nanoseconds) { time_ns = nanoseconds; }

}  // namespace simulation

// In place of the C library's, for libratel as well: what is done between decisions has a pace of its own, and would tell real time.
extern "C" int clock_gettime(clockid_t, struct timespec* out) noexcept {
  const uint64_t now = simulation::time_ns;
  out->tv_sec = static_cast<time_t>(now / 1'000'000'000);
  out->tv_nsec = static_cast<long>(now % 1'000'000'000);
  return 0;
}
