// ASCII letters without regard to case, and a hash of short texts. For tables built from rules: a request can look up but never insert, so
// a hash that can be foreseen does no harm.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/wide.hpp"

namespace ratel {

constexpr char FoldCase(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// Eight bytes at once.
constexpr uint64_t FoldCase(uint64_t bytes) noexcept {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t low = bytes & (0x7f * kOnes);
  const uint64_t above_z = low + (0x7f - 'Z') * kOnes;
  const uint64_t from_a = low + (0x80 - 'A') * kOnes;
  const uint64_t upper = (from_a ^ above_z) & ~bytes & (0x80 * kOnes);
  return bytes | (upper >> 2);
}

inline std::string FoldCase(std::string_view text) {
  std::string folded(text);
  for (char& c : folded) c = FoldCase(c);
  return folded;
}

/// Whether `text` is `folded`, itself or (with `fold`) after folding.
inline bool SameText(std::string_view text, std::string_view folded, bool fold) noexcept {
  if (text.size() != folded.size()) return false;
  if (!fold) return text.empty() || std::memcmp(text.data(), folded.data(), text.size()) == 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (FoldCase(text[i]) != folded[i]) return false;
  }
  return true;
}

namespace detail {

inline uint64_t MixBits(uint64_t a, uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

template <class Word>
uint64_t Load(const char* from) noexcept {
  Word word;
  std::memcpy(&word, from, sizeof(word));
  return word;
}

}  // namespace detail

/// A hash of `text` below `seed`; with `fold` the same for every case.
inline uint32_t HashText(std::string_view text, uint64_t seed, bool fold) noexcept {
  constexpr uint64_t kA = 0x9e3779b97f4a7c15;
  constexpr uint64_t kB = 0xd6e8feb86659fd93;
  const auto load8 = [fold](const char* from) {
    const uint64_t word = detail::Load<uint64_t>(from);
    return fold ? FoldCase(word) : word;
  };
  const char* at = text.data();
  size_t left = text.size();
  uint64_t state = (seed + 1) * kA;
  for (; left > 16; at += 16, left -= 16) state = detail::MixBits(load8(at) ^ state, load8(at + 8) ^ kB);
  uint64_t first = 0;
  uint64_t last = 0;
  if (left >= 8) {
    first = load8(at);
    last = load8(at + left - 8);
  } else if (left >= 4) {
    first = detail::Load<uint32_t>(at) << 32 | detail::Load<uint32_t>(at + left - 4);
    if (fold) first = FoldCase(first);
  } else if (left > 0) {
    const auto byte = [at, fold](size_t i) {
      return static_cast<uint64_t>(static_cast<unsigned char>(fold ? FoldCase(at[i]) : at[i]));
    };
    first = byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16;
  }
  const uint64_t hash = detail::MixBits(first ^ state, last ^ kB ^ text.size());
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

}  // namespace ratel
