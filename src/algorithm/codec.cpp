#include "algorithm/codec.hpp"

#include <utility>

#include "algorithm/bucket.hpp"
#include "algorithm/sliding_counter.hpp"

namespace ratel {
namespace {

constexpr std::string_view kMagic = "RtlS";
constexpr uint8_t kVersion = 1;
constexpr size_t kHeaderSize = 52;
constexpr size_t kEntrySize = 16;
constexpr size_t kChecksumSize = 4;

uint32_t Fnv1a(std::string_view bytes) noexcept {
  uint32_t hash = 2166136261u;
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 16777619u;
  return hash;
}

class Writer {
 public:
  explicit Writer(size_t size) { bytes_.reserve(size); }
  void Integer(uint64_t value, int size) {
    for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<uint8_t>(value >> (8 * i)));
  }
  void Text(std::string_view text) { bytes_.insert(bytes_.end(), text.begin(), text.end()); }
  std::string_view written() const noexcept { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }
  std::vector<uint8_t> Take() noexcept { return std::move(bytes_); }

 private:
  std::vector<uint8_t> bytes_;
};

uint64_t IntegerAt(std::string_view bytes, size_t offset, size_t size) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[offset + i])} << (8 * i);
  return value;
}

/// An instant that a request can have had.
bool IsInstant(const Numbers& numbers, Tick at) noexcept { return at <= kMaxMicros / numbers.tick; }

bool IsBucketState(const Numbers& numbers, const State& state) noexcept {
  if (state.value == 0 || state.value > 2 * numbers.full) return false;
  const uint64_t whole = numbers.per_refill.Ceil(state.value);
  // A reload may have rounded the stored instant up by one tick.
  return state.expiry >= whole && state.expiry - whole <= kMaxMicros / numbers.tick + 1;
}

bool IsWindowStart(const Numbers& numbers, Tick start) noexcept {
  return IsInstant(numbers, start) && start % numbers.window == 0;
}

/// Twice the largest limit: a count may be from before a reload that lowered its limit.
constexpr uint64_t kMostWindowUnits = 2 * (kMaxExact / 3);

bool IsFixedWindowState(const Numbers& numbers, const State& state) noexcept {
  return state.value != 0 && state.value <= kMostWindowUnits && state.expiry >= numbers.window &&
         IsWindowStart(numbers, state.expiry - numbers.window);
}

bool IsSlidingCounterState(const Numbers& numbers, const State& state) noexcept {
  const uint64_t current = state.value & kMaxCounterCount;
  const Tick span = current == 0 ? numbers.window : 2 * numbers.window;
  return state.value != 0 && state.expiry >= span && IsWindowStart(numbers, state.expiry - span);
}

/// A log may hold more units than a limit allows in force: from before a reload that lowered it, or aged out and not yet dropped. Far below
/// 2^64 no sum overflows.
constexpr uint64_t kMostLogUnits = uint64_t{1} << 63;

bool IsLogState(const Numbers& numbers, const State& state, const std::vector<LogEntry>& entries) noexcept {
  uint64_t units = 0;
  const LogEntry* before = nullptr;
  for (const LogEntry& entry : entries) {
    if (entry.cost == 0 || entry.cost > kMostLogUnits - units || !IsInstant(numbers, entry.at)) return false;
    if (before != nullptr && entry.at <= before->at) return false;
    units += entry.cost;
    before = &entry;
  }
  return before != nullptr && state == State{before->at + numbers.window, units};
}

bool IsValid(const Decoded& held) noexcept {
  const bool is_log = held.numbers.spec.algorithm == Algorithm::kSlidingLog;
  if (!is_log && !held.entries.empty()) return false;
  if (held.state == State{}) return held.entries.empty();
  switch (held.numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return IsBucketState(held.numbers, held.state);
    case Algorithm::kFixedWindow:
      return IsFixedWindowState(held.numbers, held.state);
    case Algorithm::kSlidingCounter:
      return IsSlidingCounterState(held.numbers, held.state);
    case Algorithm::kSlidingLog:
      return IsLogState(held.numbers, held.state, held.entries);
  }
  return false;
}

/// Whether these are whole bytes of this format and version.
bool IsFramed(std::string_view bytes) noexcept {
  if (bytes.size() < kHeaderSize + kChecksumSize || !bytes.starts_with(kMagic)) return false;
  if (IntegerAt(bytes, 4, 1) != kVersion || IntegerAt(bytes, 7, 1) != 0) return false;
  const size_t body = bytes.size() - kChecksumSize;
  const uint64_t entries = IntegerAt(bytes, 48, 4);
  if ((body - kHeaderSize) % kEntrySize != 0 || (body - kHeaderSize) / kEntrySize != entries) return false;
  return IntegerAt(bytes, body, kChecksumSize) == Fnv1a(bytes.substr(0, body));
}

LimitSpec SpecAt(std::string_view bytes) noexcept {
  LimitSpec spec;
  spec.algorithm = static_cast<Algorithm>(IntegerAt(bytes, 5, 1));
  spec.limit = IntegerAt(bytes, 8, 8);
  spec.window = IntegerAt(bytes, 16, 8);
  spec.burst = IntegerAt(bytes, 24, 8);
  return spec;
}

std::vector<LogEntry> EntriesAt(std::string_view bytes) {
  std::vector<LogEntry> entries(static_cast<size_t>(IntegerAt(bytes, 48, 4)));
  size_t offset = kHeaderSize;
  for (LogEntry& entry : entries) {
    entry = {IntegerAt(bytes, offset, 8), IntegerAt(bytes, offset + 8, 8)};
    offset += kEntrySize;
  }
  return entries;
}

}  // namespace

std::vector<uint8_t> Encode(const Numbers& numbers, const State& state, std::span<const LogEntry> entries) {
  Writer writer(kHeaderSize + kEntrySize * entries.size() + kChecksumSize);
  writer.Text(kMagic);
  writer.Integer(kVersion, 1);
  writer.Integer(static_cast<uint64_t>(numbers.spec.algorithm), 1);
  writer.Integer(numbers.tick_exponent, 1);
  writer.Integer(0, 1);
  writer.Integer(numbers.spec.limit, 8);
  writer.Integer(numbers.spec.window, 8);
  writer.Integer(numbers.spec.burst, 8);
  writer.Integer(state.expiry, 8);
  writer.Integer(state.value, 8);
  writer.Integer(entries.size(), 4);
  for (const LogEntry& entry : entries) {
    writer.Integer(entry.at, 8);
    writer.Integer(entry.cost, 8);
  }
  writer.Integer(Fnv1a(writer.written()), kChecksumSize);
  return writer.Take();
}

std::optional<Decoded> Decode(std::string_view bytes) {
  if (!IsFramed(bytes)) return std::nullopt;
  auto numbers = Resolve(SpecAt(bytes));
  if (!numbers || numbers->tick_exponent != IntegerAt(bytes, 6, 1)) return std::nullopt;
  Decoded held{*numbers, {IntegerAt(bytes, 32, 8), IntegerAt(bytes, 40, 8)}, EntriesAt(bytes)};
  if (!IsValid(held)) return std::nullopt;
  return held;
}

}  // namespace ratel
