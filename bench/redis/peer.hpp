// What the C++ programs of this folder share: the command line, the order of keys, and what is told of a run. The programs in other languages do the same.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

using Clock = std::chrono::steady_clock;

struct Options {
  std::string mode;
  int port = 0;
  uint64_t keys = 1;
  uint64_t decisions = 1;
  uint64_t limit = 1;  ///< units a key has per day
  uint32_t in_flight = 1;
};

/// PROGRAM MODE PORT KEYS DECISIONS LIMIT IN_FLIGHT
inline Options OptionsOf(int argc, char** argv) {
  if (argc != 7) throw std::runtime_error("usage: PROGRAM MODE PORT KEYS DECISIONS LIMIT IN_FLIGHT");
  const auto number = [&](int n) { return std::strtoull(argv[n], nullptr, 10); };
  return {argv[1], static_cast<int>(number(2)), number(3), number(4), number(5), static_cast<uint32_t>(number(6))};
}

/// The n-th question's key: every key equally often, in an order that jumps about. `keys` must not be a multiple of 7919.
inline std::string KeyOf(const Options& options, uint64_t n) {
  char text[40];
  std::snprintf(text, sizeof text, "user:%026llu", static_cast<unsigned long long>(n * 7919 % options.keys));
  return text;
}

/// What one thread saw.
struct Seen {
  uint64_t allowed = 0;
  uint64_t failed = 0;
  std::vector<uint32_t> nanoseconds;

  void Add(bool is_allowed, Clock::time_point asked) {
    allowed += is_allowed;
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - asked).count();
    nanoseconds.push_back(static_cast<uint32_t>(std::min<int64_t>(took, UINT32_MAX)));
  }
  void Add(const Seen& other) {
    allowed += other.allowed;
    failed += other.failed;
    nanoseconds.insert(nanoseconds.end(), other.nanoseconds.begin(), other.nanoseconds.end());
  }
};

inline double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// Says that it is ready, waits for a line, runs, and prints what was seen.
template <typename Run>
void Measure(Run run) {
  std::puts("ready");
  std::fflush(stdout);
  std::getchar();
  const double cpu = CpuSeconds();
  const auto start = Clock::now();
  Seen seen = run();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const double cpu_seconds = CpuSeconds() - cpu;
  std::ranges::sort(seen.nanoseconds);
  const auto percentile = [&](size_t hundredths) {
    return seen.nanoseconds.empty() ? 0.0 : seen.nanoseconds[(seen.nanoseconds.size() - 1) * hundredths / 100] / 1e3;
  };
  std::printf(
      R"({"decisions": %zu, "allowed": %llu, "failed": %llu, "seconds": %.6f, "cpu_seconds": %.6f, "p50_us": %.1f, "p99_us": %.1f})"
      "\n",
      seen.nanoseconds.size(), static_cast<unsigned long long>(seen.allowed),
      static_cast<unsigned long long>(seen.failed), seconds, cpu_seconds, percentile(50), percentile(99));
}

/// main() of a program: a mode by its name; what goes wrong is told.
inline int Run(int argc, char** argv, const std::map<std::string, void (*)(const Options&)>& modes) {
  try {
    const Options options = OptionsOf(argc, argv);
    const auto mode = modes.find(options.mode);
    if (mode == modes.end()) throw std::runtime_error("no mode " + options.mode);
    mode->second(options);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}

}  // namespace bench
