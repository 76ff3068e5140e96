#include "limiter/errands.hpp"

#include <algorithm>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "core/signals.hpp"

namespace ratel {

void LatestInstant::Saw(Micros now) noexcept {
  const auto seen = std::chrono::steady_clock::now();
  const std::lock_guard lock(lock_);
  if (now < instant_) return;
  instant_ = now;
  seen_ = seen;
}

Micros LatestInstant::Now() const noexcept {
  const auto now = std::chrono::steady_clock::now();
  const std::lock_guard lock(lock_);
  const auto since = std::chrono::duration_cast<std::chrono::microseconds>(now - seen_).count();
  return std::min(instant_ + static_cast<Micros>(std::max<int64_t>(since, 0)), kMaxMicros);
}

Errands::Errands(Storage& storage, Ledger& ledger, TotalCounters& totals, const std::atomic<bool>& store_failing)
    : storage_(storage), ledger_(ledger), totals_(totals), store_failing_(store_failing) {}

void Errands::Owes(Micros now) noexcept {
  if (birthplace_.IsForked()) return;
  latest_.Saw(now);
  if (idle_.load() && !storage_.runs_host_code()) Start();
}

void Errands::Leased() noexcept {
  if (idle_.load() && !storage_.runs_host_code()) Start();
}

void Errands::StoreIsBack() noexcept {
  if (ledger_.count() == 0 || birthplace_.IsForked()) return;
  {
    const std::lock_guard lock(mutex_);
    is_back_ = true;
  }
  wake_.notify_all();
}

void Errands::Start() noexcept {
  if (birthplace_.IsForked()) return;
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  if (thread_.joinable()) {
    wake_.notify_all();
    return;
  }
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    // The next one tries again.
  }
}

void Errands::Run() noexcept {
  LeaveSignalsToTheHost();
  auto pause = kLeastPause;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    idle_ = !HasWork();
    if (idle_) {
      wake_.wait_for(lock, kMostPause, [this] { return stopping_ || HasWork(); });
      continue;
    }
    lock.unlock();
    const Done done = One();
    lock.lock();
    if (done == Done::kOne) {
      pause = kLeastPause;
    } else if (done == Done::kNothing) {
      wake_.wait_for(lock, kLookEvery, [this] { return stopping_; });
    } else {
      wake_.wait_for(lock, pause, [this] { return stopping_ || is_back_; });
      is_back_ = false;
      pause = std::min(2 * pause, kMostPause);
    }
  }
}

bool Errands::TakeLent() noexcept {
  if (!HasWork() || !storage_.runs_host_code() || store_failing_.load(std::memory_order_relaxed)) return false;
  if (lent_.exchange(true, std::memory_order_acquire)) return false;
  if (std::chrono::steady_clock::now() >= not_before_ && !birthplace_.IsForked()) return true;
  lent_.store(false, std::memory_order_release);
  return false;
}

void Errands::EndLent(Done done) noexcept {
  const auto pause = done == Done::kNothing ? kLookEvery : kMostPause;
  if (done != Done::kOne) not_before_ = std::chrono::steady_clock::now() + pause;
  // Told under the lock: whoever waits destroys this.
  const std::lock_guard lock(mutex_);
  lent_.store(false, std::memory_order_release);
  wake_.notify_all();
}

void Errands::Lend() noexcept {
  if (TakeLent()) EndLent(One());
}

/// One errand in the host's hands. Deletes itself when it ends.
class Errands::Lent final : public Completion {
 public:
  Lent(Errands& errands, std::unique_ptr<Errand> errand) noexcept : errands_(errands), errand_(std::move(errand)) {}

  void Ask() noexcept {
    while (Operation* question = errand_->Next()) {
      const Status status = errands_.storage_.ApplyAsync(*question, *this);
      // It goes on, or has gone on, in Finish.
      if (status == Status::kOk) return;
      Hear(status);
    }
    Errands& errands = errands_;
    const Done done = done_;
    delete this;
    errands.EndLent(done);
  }

  void Finish(Status status) noexcept override {
    Hear(status);
    Ask();
  }

 private:
  void Hear(Status status) noexcept {
    if (status != Status::kOk) done_ = Done::kFailed;
    errand_->Answered(status);
  }

  Errands& errands_;
  const std::unique_ptr<Errand> errand_;
  Done done_ = Done::kOne;
};

void Errands::LendAsync() noexcept {
  if (!TakeLent()) return;
  try {
    if (std::unique_ptr<Errand> errand = Take()) {
      // It deletes itself.
      (new Lent(*this, std::move(errand)))->Ask();
      return;
    }
    EndLent(Done::kNothing);
  } catch (const std::bad_alloc&) {
    EndLent(Done::kFailed);
  }
}

void Errands::Stop() noexcept {
  {
    std::unique_lock lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
    wake_.notify_all();
    wake_.wait(lock, [this] { return !lent_.load(std::memory_order_acquire); });
  }
  if (thread_.joinable()) thread_.join();
  const auto until = std::chrono::steady_clock::now() + kLastWords;
  if (Tier* tier = tier_.load(std::memory_order_acquire)) {
    if (!store_failing_) tier->leases.AwaitPayments(until);
    tier->leases.EndOthers(0);
  }
  while (!store_failing_ && std::chrono::steady_clock::now() < until && One() == Done::kOne) {
  }
}

std::unique_ptr<Errand> Errands::Take() {
  if (Tier* tier = tier_.load(std::memory_order_acquire); tier != nullptr && tier->leases.out() != 0) {
    tier->leases.EndExpired(std::chrono::steady_clock::now());
    if (std::unique_ptr<Lease> lease = tier->leases.TakeEnded())
      return std::make_unique<LeaseReturn>(*tier, std::move(lease));
  }
  if (ledger_.count() == 0) return nullptr;
  const Micros now = latest_.Now();
  std::optional<OwedState> state = ledger_.Next(now);
  return state ? std::make_unique<DebtReport>(ledger_, totals_, *std::move(state), now) : nullptr;
}

Errands::Done Errands::One() noexcept {
  try {
    const std::unique_ptr<Errand> errand = Take();
    if (errand == nullptr) return Done::kNothing;
    Done done = Done::kOne;
    while (Operation* question = errand->Next()) {
      const Status status = storage_.Apply(*question);
      if (status != Status::kOk) done = Done::kFailed;
      errand->Answered(status);
    }
    return done;
  } catch (const std::bad_alloc&) {
    return Done::kFailed;  // memory ran out: later
  }
}

}  // namespace ratel
