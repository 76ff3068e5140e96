// A state as Redis holds it, and the short name of the numbers that it is held under.
//
//                     narrow                              wide               integers little-endian, f = fingerprint
//   buckets                                               f3 instant7 debt7
//   fixed window      f3 window5 count4                   f3 window7 count7
//   sliding counter   f3 window5 previous2 current2       f3 window7 previous4 current4
//
// An instant is in ticks, a window by its number since the epoch. The sliding log is a list of its own (decide.lua).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "algorithm/numbers.hpp"
#include "algorithm/state.hpp"

namespace ratel::redis {

/// 24 bits that tell the numbers of a limit from the others it has had. Not 0. The same in every process and version.
uint32_t Fingerprint(const Numbers& numbers) noexcept;

/// The numbers as text, for the hash that says what a fingerprint stands for.
std::string ToText(const LimitSpec& spec);
/// Nothing when it is no text of ToText, or numbers that this version would not count under.
std::optional<Numbers> NumbersFromText(std::string_view text);

struct PackedState {
  uint32_t fingerprint = 0;
  uint64_t words[3] = {};  ///< instant and debt; window and count; window, previous and current
};

/// Nothing when the bytes are no state of this algorithm.
std::optional<PackedState> Unpack(Algorithm algorithm, std::string_view bytes) noexcept;
/// Under the numbers that the fingerprint stands for.
State ToState(const Numbers& numbers, const PackedState& packed) noexcept;
/// Empty for a state that equals "new".
std::string Pack(const Numbers& numbers, const State& state);

/// Little-endian integers of up to eight bytes, as struct.pack and struct.unpack of the scripts have them.
void PutInteger(std::string& out, uint64_t value, size_t size);
uint64_t GetInteger(std::string_view bytes, size_t offset, size_t size) noexcept;

}  // namespace ratel::redis
