// What the registry has to tell the store besides the requests: on a thread of its own, which starts with the first errand, so that no request waits for
// one. A store that runs the host's code is asked only on threads that ask the registry: one errand after a decision, and without waiting for it after one
// that was not waited for either.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>

#include "core/birthplace.hpp"
#include "limiter/counters.hpp"
#include "limiter/errand.hpp"
#include "limiter/ledger.hpp"
#include "limiter/spin_lock.hpp"
#include "limiter/tier.hpp"
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

  // Any threads; none of these waits for the store, but Lend. In a child of fork they do nothing.

  /// From now on its leases are handed back. Once.
  void Attend(Tier& tier) noexcept { tier_.store(&tier, std::memory_order_release); }
  /// A block has been paid for.
  void Leased() noexcept;
  /// The ledger holds something, as of a request's instant.
  void Owes(Micros now) noexcept;
  /// A request has been answered by the store.
  void Answered(Micros now) noexcept {
    if (ledger_.count() != 0 && !birthplace_.IsForked()) latest_.Saw(now);
  }
  /// The store had failed and answers again.
  void StoreIsBack() noexcept;
  /// One errand on this thread, when it is for callers to do them and there is one.
  void Lend() noexcept;
  /// Begins one likewise; it ends when the store has answered.
  void LendAsync() noexcept;

  /// Ends the thread, and waits for what a host's store has in its hands. Leases are handed back, those that are being paid for once that is answered, and
  /// what is still owed is told now, as long as the store answers and for kLastWords at most. Nothing else may be asked of the registry meanwhile.
  void Stop() noexcept;

 private:
  static constexpr std::chrono::milliseconds kLeastPause{50};
  static constexpr std::chrono::milliseconds kMostPause{2000};
  static constexpr std::chrono::milliseconds kLookEvery{20};  ///< for leases that have ended
  static constexpr std::chrono::milliseconds kLastWords{1000};

  void Start() noexcept;
  size_t LeasesOut() const noexcept {
    const Tier* tier = tier_.load(std::memory_order_acquire);
    return tier == nullptr ? 0 : tier->leases.out();
  }
  bool HasWork() const noexcept { return ledger_.count() != 0 || LeasesOut() != 0; }
  void Run() noexcept;
  enum class Done : uint8_t { kOne, kNothing, kFailed };
  /// The return of a block that has ended, or one state to tell of; null when there is neither. Throws std::bad_alloc.
  std::unique_ptr<Errand> Take();
  /// Does one, waiting for the store.
  Done One() noexcept;
  /// False when there is nothing for callers to do now. Otherwise one errand is this thread's until EndLent.
  bool TakeLent() noexcept;
  void EndLent(Done done) noexcept;

  class Lent;

  Storage& storage_;
  Ledger& ledger_;
  TotalCounters& totals_;
  const std::atomic<bool>& store_failing_;
  LatestInstant latest_;
  std::atomic<Tier*> tier_{nullptr};

  const Birthplace birthplace_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
  bool stopping_ = false;
  bool is_back_ = false;
  std::atomic<bool> idle_{true};  ///< the thread has nothing to do, or has not been started

  std::atomic<bool> lent_{false};  ///< through an errand of Lend or LendAsync; released with the mutex held
  std::chrono::steady_clock::time_point not_before_;  ///< of whoever has set it
};

}  // namespace ratel
