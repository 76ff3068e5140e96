#include "algorithm/describe.hpp"

#include "algorithm/bucket.hpp"
#include "algorithm/sliding_counter.hpp"

namespace ratel {
namespace {

enum class Round : bool { kDown, kUp };

/// credits / unit with up to three digits after the point.
std::string Units(uint64_t credits, uint64_t unit, Round round) {
  const Wide scaled = static_cast<Wide>(credits) * 1000 + (round == Round::kUp ? unit - 1 : 0);
  const auto thousandths = static_cast<uint64_t>(scaled / unit);
  std::string text = std::to_string(thousandths / 1000);
  if (thousandths % 1000 == 0) return text;
  const std::string digits = std::to_string(1000 + thousandths % 1000);
  return text + '.' + digits.substr(1, digits.find_last_not_of('0'));
}

std::string Of(const Numbers& numbers) { return " of " + std::to_string(numbers.capacity) + " units"; }

/// "400ms" until an instant in ticks.
std::string Until(const Numbers& numbers, Tick at, Micros now) {
  return SpanToText(static_cast<Micros>(static_cast<Wide>(at) * numbers.tick - now));
}

std::string TokenBucketText(const Numbers& numbers, const State& state, Micros now) {
  const Level level = LevelAt(numbers, state, numbers.TickOf(now));
  const std::string units = level.debt <= numbers.full
                                ? Units(numbers.full - level.debt, numbers.unit, Round::kDown)
                                : "-" + Units(level.debt - numbers.full, numbers.unit, Round::kUp);
  return "level " + units + Of(numbers) + ", full in " +
         Until(numbers, level.at + numbers.per_refill.Ceil(level.debt), now);
}

std::string LeakyBucketText(const Numbers& numbers, const State& state, Micros now) {
  const Level level = LevelAt(numbers, state, numbers.TickOf(now));
  return "queue " + Units(level.debt, numbers.unit, Round::kUp) + Of(numbers) + ", empty in " +
         Until(numbers, level.at + numbers.per_refill.Ceil(level.debt), now);
}

std::string FixedWindowText(const Numbers& numbers, const State& state, Micros now) {
  const WindowCount window = WindowCountAt(numbers, state, numbers.TickOf(now));
  return std::to_string(window.count) + Of(numbers) + " in the window that ends in " +
         Until(numbers, window.start + numbers.window, now);
}

std::string SlidingCounterText(const Numbers& numbers, const State& state, Micros now) {
  const TwoCounts counts = TwoCountsAt(numbers, state, numbers.TickOf(now));
  const uint64_t weight = numbers.per_window.Ceil(WeightOfPrevious(numbers, counts));
  return std::to_string(counts.current + weight) + Of(numbers) + ": " + std::to_string(counts.current) +
         " in this window and " + std::to_string(counts.previous) + " in the one before, which still weigh " +
         std::to_string(weight);
}

std::string SlidingLogText(const Numbers& numbers, const State& state, Micros now) {
  return std::to_string(state.value) + Of(numbers) + " in the last " + SpanToText(numbers.spec.window) +
         ", the newest leaves in " + Until(numbers, state.expiry, now);
}

}  // namespace

std::string Describe(const Numbers& numbers, const State& state, Micros now) {
  if (state.expiry <= numbers.TickOf(now)) return "nothing spent";
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
      return TokenBucketText(numbers, state, now);
    case Algorithm::kLeakyBucket:
      return LeakyBucketText(numbers, state, now);
    case Algorithm::kFixedWindow:
      return FixedWindowText(numbers, state, now);
    case Algorithm::kSlidingCounter:
      return SlidingCounterText(numbers, state, now);
    case Algorithm::kSlidingLog:
      return SlidingLogText(numbers, state, now);
  }
  return {};
}

std::string Describe(const Numbers& numbers) {
  std::string text = std::string(ToText(numbers.spec.algorithm)) + ", " + std::to_string(numbers.spec.limit) + " per " +
                     SpanToText(numbers.spec.window);
  if (numbers.spec.burst != 0) text += ", burst " + std::to_string(numbers.spec.burst);
  if (numbers.tick != 1) text += ", in steps of " + SpanToText(numbers.tick);
  return text;
}

}  // namespace ratel
