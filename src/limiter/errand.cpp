#include "limiter/errand.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace ratel {
namespace {

/// How often what fits is asked for again when others were faster.
constexpr int kMostTries = 4;

/// What a hand-back may take to arrive, which the bucket goes on refilling in.
constexpr std::chrono::milliseconds kRoundTrip{20};

Micros HeldFor(const Lease& lease) noexcept {
  const auto passed = std::chrono::steady_clock::now() - lease.paid + kRoundTrip;
  return std::max(lease.held,
                  static_cast<Micros>(std::chrono::duration_cast<std::chrono::microseconds>(passed).count()));
}

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

/// Units of a block of `left` that the state does not count any more after such a time: long after, it has forgotten the payment; soon after, a bucket has made
/// up for a part of it.
uint64_t Forgotten(const Numbers& numbers, uint64_t left, Micros held) noexcept {
  if (held > numbers.spec.window / 2) return left;
  return IsBucket(numbers.spec.algorithm) ? CeilDiv((held / numbers.tick + 1) * numbers.refill, numbers.unit) : 0;
}

}  // namespace

LeaseReturn::LeaseReturn(Tier& tier, std::unique_ptr<Lease> lease) noexcept
    : tier_(tier), lease_(std::move(lease)), held_(HeldFor(*lease_)) {}

Operation* LeaseReturn::Next() noexcept {
  while (next_ < lease_->count) {
    Charge& charge = lease_->charges[next_++];
    const uint64_t forgotten = Forgotten(*charge.numbers, lease_->left, held_);
    if (forgotten >= lease_->left) continue;
    const Micros charged_at = ChargedAt(charge, lease_->paid_at);
    charge.cost = lease_->left;
    settle_ = {{&charge, 1}, lease_->paid_at + held_, Mode::kSettle, charged_at, forgotten};
    return &settle_;
  }
  return nullptr;
}

void LeaseReturn::Answered(Status status) noexcept {
  tier_.upsets.Note(settle_.charges);
  if (status != Status::kOk) next_ = lease_->count;
}

DebtReport::DebtReport(Ledger& ledger, TotalCounters& totals, OwedState state, Micros now)
    : ledger_(ledger), totals_(totals), state_(std::move(state)), now_(now), charge_(state_.ChargeOf(1)) {
  operation_ = {{&charge_, 1}, now_, Mode::kPeek};
}

Operation* DebtReport::Next() noexcept { return has_question_ ? &operation_ : nullptr; }

void DebtReport::Answered(Status status) noexcept {
  if (status != Status::kOk) return End();
  if (operation_.mode == Mode::kPeek) {
    owed_ = ledger_.Take(state_.key, now_);
    return Spend();
  }
  if (!charge_.outcome.allowed) return Spend();
  totals_.Add(TotalCount::kReportedBack, charge_.cost);
  owed_ -= charge_.cost;
  End();
}

void DebtReport::Spend() noexcept {
  const uint64_t fits = std::min(owed_, charge_.outcome.remaining);
  if (fits == 0 || tries_++ == kMostTries) return End();
  charge_ = state_.ChargeOf(fits);
  operation_ = {{&charge_, 1}, now_, Mode::kSpend};
}

void DebtReport::End() noexcept {
  has_question_ = false;
  if (owed_ != 0) totals_.Add(TotalCount::kUnreported, owed_);
}

}  // namespace ratel
