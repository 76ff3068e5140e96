#include "limiter/errands.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <system_error>

namespace ratel {
namespace {

/// How often what fits is asked for again when others were faster.
constexpr int kMostTries = 4;

/// What a hand-back may take to arrive, which the bucket goes on refilling in.
constexpr std::chrono::milliseconds kRoundTrip{20};

/// Where a spend that has been answered lies in its state. That may be later than the instant it was asked at: time never runs backwards there.
Micros ChargedAt(const Charge& charge, Micros asked_at) noexcept {
  const Numbers& numbers = *charge.numbers;
  switch (numbers.spec.algorithm) {
    case Algorithm::kFixedWindow:
    case Algorithm::kSlidingLog:
      return (charge.outcome.reset_at - numbers.window) * numbers.tick;
    case Algorithm::kSlidingCounter:
      return (charge.outcome.reset_at - 2 * numbers.window) * numbers.tick;
    default:
      return asked_at;
  }
}

}  // namespace

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
    : storage_(storage), ledger_(ledger), totals_(totals), store_failing_(store_failing), process_(getpid()) {}

bool Errands::IsForked() const noexcept { return getpid() != process_; }

void Errands::Owes(Micros now) noexcept {
  latest_.Saw(now);
  if (idle_.load() && !storage_.runs_host_code()) Start();
}

void Errands::Leased() noexcept {
  if (idle_.load() && !storage_.runs_host_code()) Start();
}

void Errands::StoreIsBack() noexcept {
  if (ledger_.count() == 0 || IsForked()) return;
  {
    const std::lock_guard lock(mutex_);
    is_back_ = true;
  }
  wake_.notify_all();
}

void Errands::Start() noexcept {
  if (IsForked()) return;
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
  // The host's signals are for the host's threads.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, nullptr);
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

void Errands::Lend() noexcept {
  if (!HasWork() || !storage_.runs_host_code() || store_failing_.load(std::memory_order_relaxed)) return;
  if (!lent_.try_lock()) return;
  if (const auto now = std::chrono::steady_clock::now(); now >= not_before_) {
    const Done done = One();
    if (done == Done::kNothing) not_before_ = now + kLookEvery;
    if (done == Done::kFailed) not_before_ = now + kMostPause;
  }
  lent_.unlock();
}

void Errands::Stop() noexcept {
  if (IsForked()) {
    if (thread_.joinable()) thread_.detach();
    return;
  }
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return;
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (Tier* tier = tier_.load(std::memory_order_acquire)) tier->leases.EndOthers(0);
  const auto until = std::chrono::steady_clock::now() + kLastWords;
  while (!store_failing_ && std::chrono::steady_clock::now() < until && One() == Done::kOne) {
  }
}

Errands::Done Errands::One() noexcept {
  if (Tier* tier = tier_.load(std::memory_order_acquire); tier != nullptr && tier->leases.out() != 0) {
    tier->leases.EndExpired(std::chrono::steady_clock::now());
    if (const std::unique_ptr<Lease> lease = tier->leases.TakeEnded())
      return HandBack(*tier, *lease) ? Done::kOne : Done::kFailed;
  }
  if (ledger_.count() == 0) return Done::kNothing;
  const Micros now = latest_.Now();
  try {
    const std::optional<OwedState> state = ledger_.Next(now);
    if (!state) return Done::kNothing;
    return Report(*state, now) ? Done::kOne : Done::kFailed;
  } catch (const std::exception&) {
    return Done::kFailed;  // memory ran out: later
  }
}

bool Errands::HandBack(Tier& tier, Lease& lease) noexcept {
  if (lease.left == 0) return true;
  const auto passed = std::chrono::steady_clock::now() - lease.paid + kRoundTrip;
  const Micros held =
      std::max(lease.held, static_cast<Micros>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count()));
  bool answered = true;
  for (Charge& charge : lease.span()) {
    const Numbers& numbers = *charge.numbers;
    // Long after, the state has forgotten the payment; soon after, a bucket has made up for a part of it.
    uint64_t forgotten = held > numbers.spec.window / 2 ? lease.left : 0;
    if (IsBucket(numbers.spec.algorithm) && forgotten == 0)
      forgotten = CeilDiv((held / numbers.tick + 1) * numbers.refill, numbers.unit);
    if (forgotten >= lease.left) continue;
    charge.cost = lease.left;
    Operation operation{{&charge, 1}, lease.paid_at + held, Mode::kSettle, ChargedAt(charge, lease.paid_at), forgotten};
    answered = storage_.Apply(operation) == Status::kOk && answered;
  }
  tier.upsets.Note(lease.span());
  return answered;
}

bool Errands::Report(const OwedState& state, Micros now) noexcept {
  // A look first: it may fail without harm. What is spent is spent once, whether the reply arrives or not.
  Charge charge = state.ChargeOf(1);
  Operation look{{&charge, 1}, now, Mode::kPeek};
  if (storage_.Apply(look) != Status::kOk) return false;
  uint64_t units = ledger_.Take(state.key, now);
  Status status = Status::kOk;
  for (int tries = 0; tries < kMostTries && units != 0; ++tries) {
    const uint64_t fits = std::min(units, charge.outcome.remaining);
    if (fits == 0) break;
    charge = state.ChargeOf(fits);
    Operation spend{{&charge, 1}, now, Mode::kSpend};
    status = storage_.Apply(spend);
    if (status != Status::kOk) break;
    if (!charge.outcome.allowed) continue;
    totals_.Add(TotalCount::kReportedBack, fits);
    units -= fits;
    break;
  }
  if (units != 0) totals_.Add(TotalCount::kUnreported, units);
  return status == Status::kOk;
}

}  // namespace ratel
