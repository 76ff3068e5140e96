// Times of cases that take turns: in each round every case runs once, so that what else the machine does meets all of them alike.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

struct Options {
  int rounds = 9;
  double milliseconds = 40;  ///< of each case in each round
  uint32_t divide = 1;       ///< of the numbers of `scale`
  bool quick = false;        ///< small tables, to try the programs out
};

struct Case {
  std::string name;
  std::string mode;  ///< "back to back", "isolated", "batch of 32"
  int threads = 1;
  /// Asks `count` times on behalf of a thread and says how many were allowed.
  std::function<uint64_t(int thread, uint64_t count)> run;
};

/// Warms up, measures, and prints a row for each case: nanoseconds a decision of each round, threads together, and the share that was allowed.
void TakeTurns(std::string_view section, std::string_view shape, const std::vector<Case>& cases,
               const Options& options);

/// Ties the calling thread to one of the process's processors, and gives its place among them.
void Pin(int thread);

uint64_t ResidentBytes();

/// Nanoseconds of a clock that only goes forward.
uint64_t Clock() noexcept;

/// Nanoseconds that the calling thread has had a processor: other programs' turns are not in it.
uint64_t ThreadClock() noexcept;

/// Nothing after it begins before all before it has ended: so does a request that comes alone meet the table.
inline void Fence() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_lfence();
#elif defined(__aarch64__)
  asm volatile("dsb sy\nisb" ::: "memory");
#else
  __sync_synchronize();
#endif
}

}  // namespace bench
