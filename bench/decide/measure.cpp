#include "measure.hpp"

#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "row.hpp"

namespace bench {
namespace {

struct Timed {
  double nanoseconds = 0;  ///< of one decision, threads together
  double allowed = 0;
};

/// All threads begin together; the time ends with the last. A thread that is alone never waits, so its own time on the processor is what counts, and
/// other programs' turns are not in it.
Timed Run(const Case& one, uint64_t count) {
  std::atomic<int> ready{0};
  std::atomic<uint64_t> allowed{0};
  std::vector<uint64_t> ended(static_cast<size_t>(one.threads));
  std::atomic<uint64_t> begun{0};
  const auto now = [&] { return one.threads == 1 ? ThreadClock() : Clock(); };
  const auto work = [&](int thread) {
    Pin(thread);
    if (ready.fetch_add(1) + 1 == one.threads) begun = now();
    while (begun.load(std::memory_order_acquire) == 0) {
    }
    allowed += one.run(thread, count);
    ended[static_cast<size_t>(thread)] = now();
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < one.threads; ++thread) threads.emplace_back(work, thread);
  for (std::thread& thread : threads) thread.join();
  const double total = static_cast<double>(count) * one.threads;
  return {static_cast<double>(*std::max_element(ended.begin(), ended.end()) - begun) / total,
          static_cast<double>(allowed.load()) / total};
}

/// How many questions fill the time; asking them is the warm-up.
uint64_t CountFor(const Case& one, double milliseconds) {
  uint64_t count = 1024;
  while (true) {
    const double took = Run(one, count).nanoseconds * static_cast<double>(count) * one.threads / 1e6;
    if (took > milliseconds / 2)
      return std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(count) * milliseconds / took) / 32 * 32, 32);
    count *= took > milliseconds / 16 ? 2 : 8;
  }
}

}  // namespace

void Pin(int thread) {
  cpu_set_t allowed;
  static const cpu_set_t of_process = [] {
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    return set;
  }();
  allowed = of_process;
  const int wanted = thread % CPU_COUNT(&of_process);
  int seen = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &of_process) && seen++ != wanted) CPU_CLR(cpu, &allowed);
  }
  sched_setaffinity(0, sizeof allowed, &allowed);
}

uint64_t ResidentBytes() {
  unsigned long long total = 0;
  unsigned long long resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  if (std::fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
  std::fclose(file);
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

uint64_t Clock() noexcept {
  return static_cast<uint64_t>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
          .count());
}

uint64_t ThreadClock() noexcept {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

void TakeTurns(std::string_view section, std::string_view shape, const std::vector<Case>& cases,
               const Options& options) {
  std::vector<uint64_t> counts;
  for (const Case& one : cases) counts.push_back(CountFor(one, options.milliseconds));
  std::vector<std::vector<double>> nanoseconds(cases.size());
  std::vector<double> allowed(cases.size());
  for (int round = 0; round < options.rounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      const Timed timed = Run(cases[i], counts[i]);
      nanoseconds[i].push_back(timed.nanoseconds);
      allowed[i] = timed.allowed;
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    Row(section, cases[i].name)
        .Add("shape", shape)
        .Add("mode", cases[i].mode)
        .Add("threads", cases[i].threads)
        .Add("ns", nanoseconds[i])
        .Add("allowed", allowed[i]);
  }
}

}  // namespace bench
