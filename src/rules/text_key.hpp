// Short texts as two machine words, so that comparing and hashing them takes a few instructions; and letters without regard to case.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/wide.hpp"

namespace ratel {

constexpr char FoldCase(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

/// Eight ASCII characters at once; other bytes stay.
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

/// What tells texts apart. Up to 16 bytes the words are the text, so that equal keys are equal texts; of a longer one they hold the beginning, mixed
/// with the rest, and whoever compares has to look at the text too.
struct TextKey {
  static constexpr size_t kWhole = 16;

  uint64_t first = 0;
  uint64_t last = 0;
  uint32_t size = 0;

  friend bool operator==(const TextKey&, const TextKey&) = default;
  bool is_whole() const noexcept { return size <= kWhole; }
};

namespace detail {

inline uint64_t MixBits(uint64_t a, uint64_t b) noexcept {
  const Wide product = static_cast<Wide>(a) * b;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

/// The first byte of memory is the lowest of the word, on every machine.
inline uint64_t LoadWord(const char* from) noexcept {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof(word));
  if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
  return word;
}

[[gnu::noinline]] inline uint64_t LoadShort(const char* from, size_t size) noexcept {
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) word |= static_cast<uint64_t>(static_cast<unsigned char>(from[i])) << (8 * i);
  return word;
}

/// Up to eight bytes of `text` from `at` (below its size) on, zeros behind its end.
inline uint64_t LoadUpTo8(std::string_view text, size_t at) noexcept {
  const size_t left = text.size() - at;
  if (left >= 8) return LoadWord(text.data() + at);
  if (text.size() >= 8) return LoadWord(text.data() + text.size() - 8) >> (8 * (8 - left));
  return LoadShort(text.data() + at, left);
}

/// The lowest `bytes` (0 to 8) of a word.
inline uint64_t Lowest(uint64_t word, size_t bytes) noexcept {
  return bytes >= 8 ? word : word & ((uint64_t{1} << (8 * bytes)) - 1);
}

/// Bit 7 of the first byte that is a slash (and maybe of some behind it); 0 when there is none.
constexpr uint64_t FirstSlash(uint64_t word) noexcept {
  constexpr uint64_t kOnes = 0x0101010101010101;
  const uint64_t x = word ^ ('/' * kOnes);
  return (x - kOnes) & ~x & (0x80 * kOnes);
}

/// `last` mixed with what of a text lies behind kWhole. By value: a key whose address is taken does not stay in registers.
[[gnu::noinline]] inline uint64_t MixRest(const char* text, size_t size, bool fold, uint64_t last) noexcept {
  const std::string_view rest(text + TextKey::kWhole, size - TextKey::kWhole);
  for (size_t i = 0; i < rest.size(); i += 8) {
    const uint64_t word = LoadUpTo8(rest, i);
    last = MixBits(last ^ 0x9e3779b97f4a7c15, (fold ? FoldCase(word) : word) ^ 0xd6e8feb86659fd93);
  }
  return last;
}

// Inlined by force: kept in registers, keys are a fifth of a match's time; through memory they are more.
[[gnu::always_inline]] inline TextKey MakeKey(std::string_view text, size_t at, size_t size, uint64_t first,
                                              uint64_t last, bool fold) noexcept {
  TextKey key{Lowest(first, size), size > 8 ? Lowest(last, size - 8) : 0, static_cast<uint32_t>(size)};
  if (fold) {
    key.first = FoldCase(key.first);
    key.last = FoldCase(key.last);
  }
  if (!key.is_whole()) key.last = MixRest(text.data() + at, size, fold, key.last);
  return key;
}

}  // namespace detail

/// The key of a whole text, with `fold` the same for every case.
inline TextKey KeyOfText(std::string_view text, bool fold) noexcept {
  const uint64_t first = text.empty() ? 0 : detail::LoadUpTo8(text, 0);
  const uint64_t last = text.size() > 8 ? detail::LoadUpTo8(text, 8) : 0;
  return detail::MakeKey(text, 0, text.size(), first, last, fold);
}

/// The key of the segment of `path` that starts at `at` (below its size) and ends before the next slash or with the path.
[[gnu::always_inline]] inline TextKey KeyOfSegment(std::string_view path, size_t at, bool fold) noexcept {
  const uint64_t first = detail::LoadUpTo8(path, at);
  const size_t left = path.size() - at;
  if (const uint64_t slash = detail::FirstSlash(first); slash != 0 || left <= 8) {
    const size_t size = slash != 0 ? static_cast<size_t>(std::countr_zero(slash)) / 8 : left;
    return detail::MakeKey(path, at, size, first, 0, fold);
  }
  const uint64_t last = detail::LoadUpTo8(path, at + 8);
  const uint64_t slash = detail::FirstSlash(last);
  size_t size = left;
  if (slash != 0) {
    size = 8 + static_cast<size_t>(std::countr_zero(slash)) / 8;
  } else if (left > TextKey::kWhole) {
    const size_t end = path.find('/', at + TextKey::kWhole);
    if (end != std::string_view::npos) size = end - at;
  }
  return detail::MakeKey(path, at, size, first, last, fold);
}

/// Whether `text` has what `key`, a whole one, was made of from `at` on: so many bytes have to be there.
[[gnu::always_inline]] inline bool HasKeyAt(std::string_view text, size_t at, const TextKey& key, bool fold) noexcept {
  const uint64_t first = detail::Lowest(detail::LoadUpTo8(text, at), key.size);
  if ((fold ? FoldCase(first) : first) != key.first) return false;
  if (key.size <= 8) return true;
  const uint64_t last = detail::Lowest(detail::LoadUpTo8(text, at + 8), key.size - 8);
  return (fold ? FoldCase(last) : last) == key.last;
}

/// A hash of a key below `seed`. For tables built from rules: a request can look up but never insert, so a hash that can be foreseen does no harm.
inline uint32_t HashOfKey(const TextKey& key, uint64_t seed) noexcept {
  const uint64_t hash =
      detail::MixBits(key.first ^ ((seed + 1) * 0x9e3779b97f4a7c15), key.last ^ key.size ^ 0xd6e8feb86659fd93);
  return static_cast<uint32_t>(hash ^ hash >> 32);
}

/// Whether `text` is `folded`, itself or (with `fold`) after folding.
inline bool SameText(std::string_view text, std::string_view folded, bool fold) noexcept {
  if (!fold) return text == folded;
  if (text.size() != folded.size()) return false;
  for (size_t i = 0; i < text.size(); ++i) {
    if (FoldCase(text[i]) != folded[i]) return false;
  }
  return true;
}

}  // namespace ratel
