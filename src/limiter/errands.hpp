// What the registry has to tell the store besides the requests: on a thread of its own, which starts with the first errand, so that no request waits for
// one. A store that runs the host's code is asked only on threads that ask the registry: one errand after a decision.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "limiter/counters.hpp"
#include "limiter/ledger.hpp"
#include "limiter/spin_lock.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// The registry's instants as requests bring them, and how they go on between requests. Any threads.
class LatestInstant {
 public:
  void Saw(Micros now) noexcept;
  Micros Now() const noexcept;

 private:
  mutable SpinLock lock_;
  Micros instant_ = 0;
  std::chrono::steady_clock::time_point seen_;
};

class Errands {
 public:
  Errands(Storage& storage, Ledger& ledger, TotalCounters& totals, const std::atomic<bool>& store_failing);
  ~Errands() { Stop(); }
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // Any threads; none of these waits for the store, but Lend.

  /// The ledger holds something, as of a request's instant.
  void Owes(Micros now) noexcept;
  /// A request has been answered by the store.
  void Answered(Micros now) noexcept {
    if (ledger_.count() != 0) latest_.Saw(now);
  }
  /// The store had failed and answers again.
  void StoreIsBack() noexcept;
  /// One errand on this thread, when it is for callers to do them and there is one.
  void Lend() noexcept;

  /// Ends the thread. What is still owed is told now, as long as the store answers and for kLastWords at most.
  void Stop() noexcept;

 private:
  static constexpr std::chrono::milliseconds kLeastPause{50};
  static constexpr std::chrono::milliseconds kMostPause{2000};
  static constexpr std::chrono::milliseconds kLastWords{1000};

  void Start() noexcept;
  void Run() noexcept;
  /// False when the store does not answer.
  bool One() noexcept;
  /// Charges what is owed, or what fits of it.
  bool Report(const OwedState& state, Micros now) noexcept;

  Storage& storage_;
  Ledger& ledger_;
  TotalCounters& totals_;
  const std::atomic<bool>& store_failing_;
  LatestInstant latest_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
  int process_ = 0;  ///< that started the thread
  bool stopping_ = false;
  bool is_back_ = false;
  std::atomic<bool> idle_{true};  ///< the thread has nothing to do, or has not been started

  SpinLock lent_;  ///< held through an errand of Lend
  std::chrono::steady_clock::time_point not_before_;
};

}  // namespace ratel
