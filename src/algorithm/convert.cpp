#include "algorithm/convert.hpp"

#include <algorithm>

#include "algorithm/bucket.hpp"
#include "algorithm/log_vector.hpp"
#include "algorithm/sliding_counter.hpp"

namespace ratel {
namespace {

Wide CeilDivWide(Wide a, Wide b) noexcept { return (a + b - 1) / b; }

uint64_t AtMost(Wide value, uint64_t most) noexcept { return value > most ? most : static_cast<uint64_t>(value); }

Tick RoundedUp(const Numbers& from, const Numbers& to, Tick at) noexcept {
  return static_cast<Tick>(CeilDivWide(static_cast<Wide>(at) * from.tick, to.tick));
}

/// The debt under `to` of a token bucket: what its level in units lacks to the new capacity.
uint64_t DebtOfLevel(const Numbers& from, const Numbers& to, uint64_t debt) noexcept {
  if (debt <= from.full) {
    const Wide level = static_cast<Wide>(from.full - debt) * to.unit / from.unit;
    return to.full - AtMost(level, to.full);
  }
  const Wide owed = CeilDivWide(static_cast<Wide>(debt - from.full) * to.unit, from.unit);
  return to.full + AtMost(owed, to.full);
}

/// The queue under `to` of a leaky bucket.
uint64_t ConvertQueue(const Numbers& from, const Numbers& to, uint64_t queue) noexcept {
  const Wide units_kept = CeilDivWide(static_cast<Wide>(queue) * to.unit, from.unit);
  const Wide beyond = CeilDivWide(static_cast<Wide>(SubtractFloor(queue, from.full)) * to.unit, from.unit);
  return AtMost(units_kept, to.full + AtMost(beyond, to.full));
}

State ConvertBucket(const Numbers& from, const Numbers& to, const State& state, Micros now) noexcept {
  const Tick from_now = from.TickOf(now);
  const Level level = LevelAt(from, state, from_now);
  const bool leaky = to.spec.algorithm == Algorithm::kLeakyBucket;
  const uint64_t debt = leaky ? ConvertQueue(from, to, level.debt) : DebtOfLevel(from, to, level.debt);
  if (debt == 0) return {};
  // Between two of the new ticks it is the later one: the earlier one would refill again what the old numbers have refilled since.
  const Tick at = level.at > from_now ? RoundedUp(from, to, level.at) : CeilDiv(now, to.tick);
  return {at + to.per_refill.Ceil(debt), debt};
}

State ConvertFixedWindow(const Numbers& from, const Numbers& to, const State& state, Micros now) noexcept {
  const uint64_t count = WindowCountAt(from, state, from.TickOf(now)).count;
  return {WindowStart(to, to.TickOf(now)) + to.window, count};
}

State ConvertSlidingCounter(const Numbers& from, const Numbers& to, const State& state, Micros now) noexcept {
  const TwoCounts counts = TwoCountsAt(from, state, from.TickOf(now));
  const Wide weight = CeilDivWide(static_cast<Wide>(counts.previous) * (from.window - counts.elapsed), from.window);
  return {WindowStart(to, to.TickOf(now)) + 2 * to.window, AtMost(counts.current + weight, kMaxCounterCount)};
}

Tick ConvertInstant(const Numbers& from, const Numbers& to, Tick at, Micros now) noexcept {
  if (from.tick == to.tick) return at;
  const Tick rounded = RoundedUp(from, to, at);
  return at <= from.TickOf(now) ? std::min(rounded, to.TickOf(now)) : rounded;
}

}  // namespace

State Convert(const Numbers& from, const Numbers& to, const State& state, Micros now) noexcept {
  if (state.expiry <= from.TickOf(now)) return {};
  if (from.spec == to.spec) return state;
  switch (to.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return ConvertBucket(from, to, state, now);
    case Algorithm::kFixedWindow:
      return ConvertFixedWindow(from, to, state, now);
    case Algorithm::kSlidingCounter:
      return ConvertSlidingCounter(from, to, state, now);
    case Algorithm::kSlidingLog:
      break;
  }
  return {};
}

std::vector<LogEntry> ConvertEntries(const Numbers& from, const Numbers& to, std::span<const LogEntry> entries,
                                     Micros now) {
  const LogVector log({entries.begin(), entries.end()});
  const Tick from_now = from.TickOf(now);
  const LogWindow window = LogWindowAt(from, log, from_now);
  std::vector<LogEntry> converted;
  converted.reserve(log.size());
  for (size_t i = window.first; i < log.size(); ++i) {
    const Tick at = ConvertInstant(from, to, i < window.ahead ? log.At(i) : from_now, now);
    if (!converted.empty() && converted.back().at == at) {
      converted.back().cost += entries[i].cost;
    } else {
      converted.push_back({at, entries[i].cost});
    }
  }
  return converted;
}

}  // namespace ratel
