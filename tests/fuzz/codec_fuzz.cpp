// Any bytes as a state: decoded or refused; what is decoded encodes to the same bytes and can be stepped, settled and converted.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "algorithm/codec.hpp"
#include "algorithm/convert.hpp"
#include "algorithm/describe.hpp"
#include "algorithm/log_vector.hpp"
#include "algorithm/step.hpp"

namespace {

using namespace ratel;

void Require(bool held) {
  if (!held) std::abort();
}

/// The mutator cannot guess a checksum: it is made right for one half of the inputs.
std::string WithChecksum(std::string bytes) {
  uint32_t hash = 2166136261u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619u;
  for (int i = 0; i < 4; ++i) bytes += static_cast<char>(hash >> (8 * i));
  return bytes;
}

void RequireExact(const Numbers& numbers, const Outcome& outcome, Tick now) {
  Require(outcome.remaining <= numbers.capacity);
  Require(outcome.reset_at >= now && outcome.reset_at < uint64_t{1} << 55);
  if (!outcome.allowed && !outcome.never_fits) Require(outcome.retry_at > now && outcome.retry_at <= outcome.reset_at);
}

void UseWords(const Decoded& held, Tick now) {
  const Numbers& numbers = held.numbers;
  for (const uint64_t cost : {uint64_t{1}, numbers.capacity, UINT64_MAX}) {
    State state = held.state;
    RequireExact(numbers, Step(numbers, state, now, cost, Spend::kYes), now);
    RequireExact(numbers, Settle(numbers, state, now, now, cost, 1), now);
    RequireExact(numbers, Settle(numbers, state, now, now, 0, UINT64_MAX), now);
  }
  LimitSpec other = numbers.spec;
  other.limit = other.limit / 2 + 1;
  const auto to = Resolve(other);
  if (!to) return;
  State state = Convert(numbers, *to, held.state, now * numbers.tick);
  const Tick to_now = to->TickOf(now * numbers.tick);
  RequireExact(*to, Step(*to, state, to_now, 1, Spend::kYes), to_now);
}

void UseLog(const Decoded& held, Tick now) {
  for (const uint64_t cost : {uint64_t{1}, held.numbers.capacity, UINT64_MAX}) {
    LogVector log(held.entries);
    LogChange change;
    RequireExact(held.numbers, EvaluateLog(held.numbers, log, now, cost, Spend::kYes, change), now);
    log.Apply(change);
    LogCorrection correction;
    RequireExact(held.numbers, SettleLog(held.numbers, log, now, now, 1, UINT64_MAX, correction), now);
    log.Apply(correction);
    Require(log.StateOf(held.numbers).value == log.units());
  }
}

void Use(std::string_view bytes) {
  const auto held = Decode(bytes);
  if (!held) return;
  const std::vector<uint8_t> again = Encode(held->numbers, held->state, held->entries);
  Require(bytes == std::string_view(reinterpret_cast<const char*>(again.data()), again.size()));
  const Tick last = kMaxMicros / held->numbers.tick;
  for (const Tick now : {Tick{0}, std::min(held->state.expiry, last), std::min(held->state.expiry / 2, last), last}) {
    Require(!Describe(held->numbers, held->state, now * held->numbers.tick).empty());
    if (held->numbers.spec.algorithm == Algorithm::kSlidingLog) {
      UseLog(*held, now);
    } else {
      UseWords(*held, now);
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  Use(bytes);
  Use(WithChecksum(bytes));
  return 0;
}
