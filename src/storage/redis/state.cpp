#include "storage/redis/state.hpp"

#include <array>
#include <bit>
#include <charconv>

namespace ratel::redis {
namespace {

constexpr size_t kFingerprintSize = 3;

/// Where the words of a state lie.
struct Layout {
  size_t sizes[3];
  size_t total() const noexcept { return kFingerprintSize + sizes[0] + sizes[1] + sizes[2]; }
};
constexpr Layout kTwoWords{{7, 7, 0}};
constexpr Layout kNarrowWindow{{5, 4, 0}};
constexpr Layout kCounter{{7, 4, 4}};
constexpr Layout kNarrowCounter{{5, 2, 2}};

uint64_t Mix(uint64_t hash, uint64_t word) noexcept {
  hash = (hash ^ word) + 0x9e3779b97f4a7c15u;
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

bool Fits(const Layout& layout, const PackedState& state) noexcept {
  for (size_t i = 0; i < 3; ++i) {
    if (layout.sizes[i] < 8 && state.words[i] >> (8 * layout.sizes[i]) != 0) return false;
  }
  return true;
}

PackedState WordsOf(const Numbers& numbers, const State& state) noexcept {
  PackedState packed;
  packed.fingerprint = Fingerprint(numbers);
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      packed.words[0] = state.expiry - numbers.per_refill.Ceil(state.value);
      packed.words[1] = state.value;
      break;
    case Algorithm::kFixedWindow:
      packed.words[0] = state.expiry / numbers.window - 1;
      packed.words[1] = state.value;
      break;
    case Algorithm::kSlidingCounter:
      packed.words[1] = state.value >> 32;
      packed.words[2] = state.value & 0xffffffffu;
      packed.words[0] = state.expiry / numbers.window - (packed.words[2] == 0 ? 1 : 2);
      break;
    case Algorithm::kSlidingLog:
      break;
  }
  return packed;
}

std::array<const Layout*, 2> LayoutsOf(Algorithm algorithm) noexcept {
  switch (algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return {&kTwoWords, &kTwoWords};
    case Algorithm::kFixedWindow:
      return {&kNarrowWindow, &kTwoWords};
    case Algorithm::kSlidingCounter:
      return {&kNarrowCounter, &kCounter};
    case Algorithm::kSlidingLog:
      break;
  }
  return {};
}

}  // namespace

void PutInteger(std::string& out, uint64_t value, size_t size) {
  std::array<char, 8> bytes;
  if constexpr (std::endian::native == std::endian::little) {
    bytes = std::bit_cast<std::array<char, 8>>(value);
  } else {
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(value >> (8 * i));
  }
  out.append(bytes.data(), size);
}

uint64_t GetInteger(std::string_view bytes, size_t offset, size_t size) noexcept {
  uint64_t value = 0;
  for (size_t i = 0; i < size; ++i) value |= uint64_t{static_cast<uint8_t>(bytes[offset + i])} << (8 * i);
  return value;
}

uint32_t Fingerprint(const Numbers& numbers) noexcept {
  const LimitSpec& spec = numbers.spec;
  uint64_t hash = Mix(0, static_cast<uint64_t>(spec.algorithm) << 8 | numbers.tick_exponent);
  hash = Mix(Mix(Mix(hash, spec.limit), spec.window), spec.burst);
  const auto print = static_cast<uint32_t>(hash & 0xffffff);
  return print == 0 ? 1 : print;
}

std::string ToText(const LimitSpec& spec) {
  return std::to_string(static_cast<int>(spec.algorithm)) + ' ' + std::to_string(spec.limit) + ' ' +
         std::to_string(spec.window) + ' ' + std::to_string(spec.burst);
}

std::optional<Numbers> NumbersFromText(std::string_view text) {
  std::array<uint64_t, 4> words{};
  for (size_t i = 0; i < words.size(); ++i) {
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), words[i]);
    if (fault != std::errc()) return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (i + 1 == words.size()) break;
    if (!text.starts_with(' ')) return std::nullopt;
    text.remove_prefix(1);
  }
  if (!text.empty() || words[0] > UINT8_MAX) return std::nullopt;
  const auto numbers = Resolve({static_cast<Algorithm>(words[0]), words[1], words[2], words[3]});
  if (!numbers) return std::nullopt;
  return *numbers;
}

std::optional<PackedState> Unpack(Algorithm algorithm, std::string_view bytes) noexcept {
  for (const Layout* layout : LayoutsOf(algorithm)) {
    if (layout == nullptr || layout->total() != bytes.size()) continue;
    PackedState state;
    state.fingerprint = static_cast<uint32_t>(GetInteger(bytes, 0, kFingerprintSize));
    size_t offset = kFingerprintSize;
    for (size_t i = 0; i < 3; offset += layout->sizes[i++])
      state.words[i] = GetInteger(bytes, offset, layout->sizes[i]);
    return state;
  }
  return std::nullopt;
}

State ToState(const Numbers& numbers, const PackedState& packed) noexcept {
  const uint64_t* words = packed.words;
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
    case Algorithm::kLeakyBucket:
      return {words[0] + numbers.per_refill.Ceil(words[1]), words[1]};
    case Algorithm::kFixedWindow:
      return {(words[0] + 1) * numbers.window, words[1]};
    case Algorithm::kSlidingCounter:
      return {(words[0] + (words[2] == 0 ? 1 : 2)) * numbers.window, words[1] << 32 | words[2]};
    case Algorithm::kSlidingLog:
      break;
  }
  return {};
}

std::string Pack(const Numbers& numbers, const State& state) {
  if (state.value == 0) return {};
  const PackedState packed = WordsOf(numbers, state);
  for (const Layout* layout : LayoutsOf(numbers.spec.algorithm)) {
    if (layout == nullptr || !Fits(*layout, packed)) continue;
    std::string out;
    PutInteger(out, packed.fingerprint, kFingerprintSize);
    for (size_t i = 0; i < 3; ++i) PutInteger(out, packed.words[i], layout->sizes[i]);
    return out;
  }
  return {};
}

}  // namespace ratel::redis
