// Traffic for tests of what goes on under it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "redis/support.hpp"

namespace ratel::test {

/// A million an hour: for tests that count what was spent.
inline const Versions& Hourly() {
  static const Versions versions({Make(Algorithm::kFixedWindow, 1'000'000, 3'600'000'000)});
  return versions;
}

inline Status Spend(Storage& storage, uint64_t key = 1) {
  Charge charge = ChargeFor(Hourly(), 0, key);
  return ApplyOne(storage, charge);
}

/// Units of that million spent, by a peek that gets through.
inline uint64_t Spent(Storage& storage, Charge charge) {
  EXPECT_TRUE(Eventually([&] { return ApplyOne(storage, charge, kStart, Mode::kPeek) == Status::kOk; }));
  return 1'000'000 - charge.outcome.remaining;
}
inline uint64_t Spent(Storage& storage, uint64_t key = 1) { return Spent(storage, ChargeFor(Hourly(), 0, key)); }

/// How many of `tries` requests on one key are admitted.
inline int Admitted(Storage& storage, const Versions& versions, int tries) {
  int admitted = 0;
  for (int i = 0; i < tries; ++i) {
    Charge charge = ChargeFor(versions, 0, 1);
    if (ApplyOne(storage, charge) == Status::kOk) admitted += charge.outcome.allowed;
  }
  return admitted;
}

/// The same of several processes together, each with a storage of its own and as many tries; -1 when one of them could not tell.
inline int AdmittedByProcesses(int processes, const std::string& url, const Versions& versions, int tries) {
  std::array<int, 2> counts;
  if (pipe(counts.data()) != 0) return -1;
  for (int i = 0; i < processes; ++i) {
    if (fork() != 0) continue;
    const auto storage = Open(url);
    const int admitted = Admitted(*storage, versions, tries);
    static_cast<void>(!write(counts[1], &admitted, sizeof admitted));
    _exit(0);
  }
  int total = 0;
  for (int i = 0; i < processes; ++i) {
    int admitted = 0;
    const bool told = read(counts[0], &admitted, sizeof admitted) == static_cast<ssize_t>(sizeof admitted);
    total = told && total >= 0 ? total + admitted : -1;
    wait(nullptr);
  }
  close(counts[0]);
  close(counts[1]);
  return total;
}

/// Spends on one key from several threads until told to stop.
class Load {
 public:
  Load(Storage& storage, std::vector<Charge> charges, int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, &storage, charges] {
        while (!over_) {
          std::vector<Charge> mine = charges;
          Operation operation{mine, kStart};
          const Status status = storage.Apply(operation);
          if (status != Status::kOk) {
            ++failed_;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          } else if (Admits(mine)) {
            ++admitted_;
          } else {
            ++denied_;
          }
        }
      });
    }
  }
  ~Load() { Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void Stop() {
    over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  uint64_t admitted() const { return admitted_; }
  uint64_t denied() const { return denied_; }
  uint64_t failed() const { return failed_; }
  uint64_t done() const { return admitted_ + denied_ + failed_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<uint64_t> admitted_{0};
  std::atomic<uint64_t> denied_{0};
  std::atomic<uint64_t> failed_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ratel::test
