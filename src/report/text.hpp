// Small pieces of text that headers, problem bodies and metrics share.
#pragma once

#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

namespace ratel {

inline void AppendNumber(std::string& out, uint64_t number) {
  char digits[20];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

inline constexpr uint64_t kNanosPerSecond = 1'000'000'000;

/// Nanoseconds as whole seconds, rounded up.
constexpr uint64_t CeilSeconds(uint64_t ns) noexcept {
  return ns / kNanosPerSecond + (ns % kNanosPerSecond == 0 ? 0 : 1);
}

}  // namespace ratel
