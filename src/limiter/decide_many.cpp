// Deciding about many requests in one call: first all keys, so that their cache lines come meanwhile or their questions go out together, then the
// answers, in order.
#include <algorithm>
#include <array>

#include "limiter/single.hpp"

namespace ratel {
namespace {

constexpr size_t kChunk = 32;

uint64_t InstantOf(const Request& request, uint64_t clock_ns) noexcept {
  return request.now_ns != 0 ? request.now_ns : clock_ns;
}

Status Validate(const Request& request, uint64_t clock_ns) noexcept {
  return IsValidInstant(InstantOf(request, clock_ns)) ? CheckRequest(request) : Status::kInvalidArgument;
}

/// A request with its charges.
struct Whole {
  MatchedRules rules;
  size_t first = 0;  ///< of its charges
  size_t count = 0;
  Tally tally;
};

/// A request of the short way, or another. The key is kept once, in a row with all others: what is written word by word is not read back at once as a whole.
struct PendingHere {
  size_t index;
  const Whole* whole;  ///< unless it is of the short way; what follows is for that one
  const CompiledRule* rule = nullptr;
  const VersionedNumbers* numbers = nullptr;
  size_t key = 0;
  bool unknown_client = false;
};

struct PendingThere {
  size_t index = 0;
  Whole whole;
  TierPass pass;
};

}  // namespace

void Registry::AllowMany(std::span<const Request> requests, std::span<Decision> out, uint64_t& clock_ns) noexcept {
  // Read before anything is held: a clock of the host's may do as it likes.
  if (clock_ns == 0 && std::ranges::any_of(requests, [](const Request& request) { return request.now_ns == 0; }))
    clock_ns = impl_->clock->NowNs();
  if (impl_->local) return impl_->AllowManyHere(requests, clock_ns, out);
  if (impl_->storage->wants_names()) {
    const auto snapshot = impl_->current.Keep();
    for (size_t i = 0; i < requests.size(); ++i) {
      if (const Status status = Validate(requests[i], clock_ns); status != Status::kOk) {
        Refuse(status, out[i]);
      } else {
        impl_->Decide(*snapshot, requests[i], InstantOf(requests[i], clock_ns), Mode::kSpend, out[i]);
      }
    }
  } else {
    impl_->AllowManyThere(requests, clock_ns, out);
  }
  impl_->errands->Lend();
}

void Registry::Impl::AllowManyHere(std::span<const Request> requests, uint64_t clock_ns,
                                   std::span<Decision> out) noexcept {
  size_t next = 0;
  while (next < requests.size()) {
    const CurrentSnapshot::Reader snapshot(current);
    ChargeBuffer buffer;
    FixedVector<PendingHere, kChunk> pending;
    FixedVector<Whole, kChunk> wholes;
    FixedVector<Hash128, kChunk + kMaxChargesPerOperation> keys;
    // Those that have too many limits take a place in `wholes` and none in `pending`.
    for (; next < requests.size() && !pending.full() && !wholes.full(); ++next) {
      const Request& request = requests[next];
      Decision& answer = out[next];
      MatchedRules rules;
      Status status = Validate(request, clock_ns);
      const CompiledRule* rule = status == Status::kOk ? SingleById(*snapshot, request.rule) : nullptr;
      if (status == Status::kOk && rule == nullptr) {
        status = FindRules(*snapshot, request, rules);
        rule = SingleOf(*snapshot, rules);
      }
      if (status != Status::kOk) {
        Refuse(status, answer);
        continue;
      }
      if (rule != nullptr) {
        const SingleKey key = SingleKeyOf(rule->limits[0], *snapshot, hasher, request.identity);
        pending.Add(next, nullptr, rule, key.numbers, keys.size(), key.unknown_client);
        keys.Add(key.key.low, key.key.high);  // word by word, as they have just been written
        continue;
      }
      answer = Blank(*snapshot, InstantOf(request, clock_ns), rules, request);
      if (DecideWithoutLimits(*snapshot, rules, Mode::kSpend, answer)) {
        Count(*snapshot, rules, {}, {}, {}, answer);
        continue;
      }
      Whole& whole = wholes.Add();
      whole.rules = rules;
      whole.first = buffer.size();
      status = BuildCharges(*snapshot, hasher, request, rules, buffer, whole.tally);
      if (status != Status::kOk) {
        if (whole.first != 0) break;  // it fits the next, empty buffer
        Refuse(status, answer);
        continue;
      }
      whole.count = buffer.size() - whole.first;
      for (const Charge& charge : buffer.charges.From(whole.first)) keys.Add(charge.key);
      pending.Add(next, &whole);
    }
    storage->Prefetch(keys.From(0));
    for (const PendingHere& item : pending) {
      Decision& answer = out[item.index];
      const uint64_t now_ns = InstantOf(requests[item.index], clock_ns);
      if (item.whole != nullptr) {
        const Whole& whole = *item.whole;
        Operation operation{buffer.charges.From(whole.first).first(whole.count), FloorToMicros(now_ns), Mode::kSpend};
        Finish(*snapshot, whole.rules, buffer, whole.first, operation, storage->Apply(operation), whole.tally, answer);
        continue;
      }
      const SingleKey key{item.numbers, keys[item.key], item.unknown_client};
      DecideSingle(snapshot, *item.rule, key, requests[item.index].cost, now_ns, answer);
    }
  }
}

void Registry::Impl::AllowManyThere(std::span<const Request> requests, uint64_t clock_ns,
                                    std::span<Decision> out) noexcept {
  // What waits for a server must not hold up a reload.
  const auto snapshot = current.Keep();
  size_t next = 0;
  while (next < requests.size()) {
    ChargeBuffer buffer;
    FixedVector<PendingThere, kChunk> pending;
    FixedVector<Operation, kChunk> operations;  // beside `pending`
    for (; next < requests.size() && !pending.full(); ++next) {
      const Request& request = requests[next];
      Decision& answer = out[next];
      PendingThere& item = pending.Add();
      item.index = next;
      Whole& whole = item.whole;
      whole.first = buffer.size();
      Status status = Validate(request, clock_ns);
      if (status == Status::kOk) status = FindRules(*snapshot, request, whole.rules);
      if (status != Status::kOk) {
        Refuse(status, answer);
        pending.Shrink(pending.size() - 1);
        continue;
      }
      const uint64_t now_ns = InstantOf(request, clock_ns);
      answer = Blank(*snapshot, now_ns, whole.rules, request);
      if (DecideWithoutLimits(*snapshot, whole.rules, Mode::kSpend, answer)) {
        Count(*snapshot, whole.rules, {}, {}, {}, answer);
        pending.Shrink(pending.size() - 1);
        continue;
      }
      status = BuildCharges(*snapshot, hasher, request, whole.rules, buffer, whole.tally);
      if (status != Status::kOk) {
        pending.Shrink(pending.size() - 1);
        if (whole.first != 0) break;  // it fits the next, empty buffer
        Refuse(status, answer);
        continue;
      }
      const auto charges = buffer.charges.From(whole.first);
      if (request.idempotency_id.empty() && AnswerHere(*snapshot, request, whole.rules, charges,
                                                       buffer.uses.From(whole.first), whole.tally, item.pass, answer)) {
        buffer.Shrink(whole.first);
        pending.Shrink(pending.size() - 1);
        continue;
      }
      operations.Add(charges, FloorToMicros(now_ns), Mode::kSpend).id = IdOf(hasher, request, charges);
    }
    std::array<Status, kChunk> statuses;
    storage->ApplyMany(operations.From(0), std::span(statuses).first(operations.size()));
    for (size_t i = 0; i < pending.size(); ++i) {
      const auto& [index, whole, pass] = pending[i];
      if (pass.block != 0 && AfterPayment(*snapshot, pending[i].pass, operations[i], statuses[i]))
        statuses[i] = storage->Apply(operations[i]);
      Finish(*snapshot, whole.rules, buffer, whole.first, operations[i], statuses[i], whole.tally, out[index]);
      Remember(*snapshot, pass, operations[i], out[index]);
    }
  }
}

}  // namespace ratel
