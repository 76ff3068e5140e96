#include "limiter/leases.hpp"

#include <algorithm>
#include <utility>

#include "core/wide.hpp"

namespace ratel {
namespace {

/// A block takes no more than this part of a capacity, over all instances.
constexpr uint64_t kPartOfCapacity = 10;
/// A lease ends within this part of a window.
constexpr Micros kPartOfWindow = 10;
/// A key that uses less than so many times a request's cost within a life is not worth a block.
constexpr uint64_t kHot = 4;
/// Windows so short that a lease would not last are not leased.
constexpr Micros kLeastLife = 10'000;

}  // namespace

Micros Lease::InstantOf(const Instants& instants) const noexcept {
  if (!own_clock) return instants.asked_at < paid_at ? 0 : instants.asked_at;
  return instants.local_at < local_at ? 0 : paid_at + (instants.local_at - local_at);
}

LeaseTerms TermsOf(const RuleSet& set, std::span<const Charge> charges) noexcept {
  LeaseTerms terms{set.lease_units, set.lease_life};
  if (charges.empty() || charges.size() > kMaxLeasedLimits) return {};
  for (const Charge& charge : charges) {
    // A shadow has to be evaluated request by request, and so has a delay in a queue.
    if (charge.shadow || charge.numbers->spec.algorithm == Algorithm::kLeakyBucket) return {};
    if (charge.cost != charges[0].cost) return {};
    terms.units = std::min(terms.units, charge.numbers->capacity / (kPartOfCapacity * set.instances));
    terms.life = std::min(terms.life, charge.numbers->spec.window / kPartOfWindow);
  }
  if (terms.life < kLeastLife || terms.units / kHot < charges[0].cost) return {};
  return terms;
}

Leases::~Leases() {
  // One after the other: a long list would end itself recursively.
  while (ended_ != nullptr) ended_ = std::move(ended_->next);
}

Leases::Entry* Leases::Set::Find(const Hash128& key) noexcept {
  for (Entry& entry : entries) {
    if (entry.used && entry.key == key) return &entry;
  }
  return nullptr;
}

Leases::Entry* Leases::Set::Room() noexcept {
  Entry* oldest = nullptr;
  for (Entry& entry : entries) {
    if (!entry.used) return &entry;
    if (entry.lease != nullptr || entry.paying) continue;
    if (oldest == nullptr || entry.since < oldest->since) oldest = &entry;
  }
  return oldest;
}

uint64_t Leases::NextBlock(Entry& entry, const LeaseTerms& terms, Micros now, uint64_t cost) noexcept {
  const Micros elapsed = SubtractFloor(now, entry.since);
  uint64_t wanted = 2 * std::max(entry.block, entry.units);
  if (elapsed != 0 && elapsed >= terms.life) {
    // What it has used in a life, lately.
    wanted = static_cast<uint64_t>(static_cast<Wide>(entry.units) * terms.life / elapsed);
    entry.since = now;
    entry.units = 0;
  }
  return wanted < kHot * cost ? 0 : std::min(wanted, terms.units);
}

Leases::Turn Leases::Take(const Hash128& key, const LeaseTerms& terms, const Instants& instants,
                          std::span<Charge> charges) noexcept {
  const uint64_t cost = charges[0].cost;
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  Entry* entry = set.Find(key);
  if (entry == nullptr) {
    entry = set.Room();
    if (entry == nullptr) return {};
    *entry = Entry();
    entry->used = true;
    entry->key = key;
    entry->since = instants.local_at;
  }
  entry->units += cost;
  if (Lease* lease = entry->lease.get()) {
    const Micros now = lease->InstantOf(instants);
    if (now == 0) return {};
    if (now < lease->until && lease->left >= cost) {
      lease->left -= cost;
      for (size_t i = 0; i < charges.size(); ++i) {
        charges[i].outcome = lease->charges[i].outcome;
        charges[i].outcome.remaining =
            std::min(charges[i].outcome.remaining + lease->left, charges[i].numbers->capacity);
      }
      return {Turn::Way::kTaken, 0, lease->paid_at};
    }
    lease->held = now - lease->paid_at;
    End(*entry);
  }
  if (entry->paying || instants.local_at < entry->not_before) return {};
  const uint64_t block = NextBlock(*entry, terms, instants.local_at, cost);
  if (block == 0) return {};
  entry->paying = true;
  PaymentBegins();
  return {Turn::Way::kPay, block, 0};
}

void Leases::Paid(const Hash128& key, std::unique_ptr<Lease> lease) noexcept {
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  Entry* entry = set.Find(key);
  entry->paying = false;
  entry->block = lease->left;
  EndsNotBefore(EndOf(*lease));
  entry->lease = std::move(lease);
  out_.fetch_add(1, std::memory_order_relaxed);
  PaymentEnds();
}

void Leases::NotPaid(const Hash128& key, const LeaseTerms& terms, const Instants& instants) noexcept {
  Set& set = SetOf(key);
  const std::lock_guard lock(set.lock);
  Entry* entry = set.Find(key);
  entry->paying = false;
  entry->block = 0;
  entry->not_before = instants.local_at + terms.life;
  PaymentEnds();
}

void Leases::PaymentBegins() noexcept {
  const std::lock_guard lock(payments_mutex_);
  ++payments_;
}

void Leases::PaymentEnds() noexcept {
  const std::lock_guard lock(payments_mutex_);
  if (--payments_ == 0) no_payments_.notify_all();
}

void Leases::AwaitPayments(std::chrono::steady_clock::time_point until) noexcept {
  std::unique_lock lock(payments_mutex_);
  no_payments_.wait_until(lock, until, [this] { return payments_ == 0; });
}

void Leases::End(Entry& entry) noexcept {
  std::unique_ptr<Lease> lease = std::move(entry.lease);
  const std::lock_guard lock(ended_mutex_);
  lease->next = std::move(ended_);
  ended_ = std::move(lease);
}

template <class Ends>
void Leases::EndWhere(Ends ends) noexcept {
  for (size_t i = 0; i < kSets; ++i) {
    const std::lock_guard lock(sets_[i].lock);
    for (Entry& entry : sets_[i].entries) {
      if (entry.lease != nullptr && ends(*entry.lease)) End(entry);
    }
  }
}

int64_t Leases::EndOf(const Lease& lease) noexcept { return (lease.paid + lease.life).time_since_epoch().count(); }

void Leases::EndsNotBefore(int64_t end) noexcept {
  int64_t first = first_end_.load(std::memory_order_relaxed);
  while (end < first && !first_end_.compare_exchange_weak(first, end, std::memory_order_relaxed)) {
  }
}

void Leases::EndExpired(std::chrono::steady_clock::time_point now) noexcept {
  const int64_t instant = now.time_since_epoch().count();
  if (instant < first_end_.load(std::memory_order_relaxed)) return;
  // Forgotten first: a block that comes to a place after it was looked at brings its own end.
  first_end_.store(INT64_MAX, std::memory_order_relaxed);
  EndWhere([&](const Lease& lease) {
    if (EndOf(lease) <= instant) return true;
    EndsNotBefore(EndOf(lease));
    return false;
  });
}

void Leases::EndOthers(uint64_t generation) noexcept {
  EndWhere([generation](const Lease& lease) { return lease.snapshot->generation() != generation; });
}

void Leases::Drop(std::span<const Charge> charges) noexcept {
  EndWhere([charges](Lease& lease) {
    const bool holds = std::ranges::any_of(lease.span(), [charges](const Charge& held) {
      return std::ranges::any_of(charges, [&held](const Charge& charge) { return charge.key == held.key; });
    });
    if (holds) lease.left = 0;
    return holds;
  });
}

std::unique_ptr<Lease> Leases::TakeEnded() noexcept {
  const std::lock_guard lock(ended_mutex_);
  std::unique_ptr<Lease> lease = std::move(ended_);
  if (lease == nullptr) return lease;
  ended_ = std::move(lease->next);
  out_.fetch_sub(1, std::memory_order_relaxed);
  return lease;
}

}  // namespace ratel
