// Bytes across the border: rl_str in, the caller's buffer out.
#pragma once

#include <cstring>
#include <string_view>

#include "guard.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

/// More than any machine holds: such a size is a negative number or rubbish.
inline constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

inline std::string_view View(rl_str text) noexcept { return {text.data, text.size}; }
inline rl_str ToC(std::string_view text) noexcept { return {text.data(), text.size()}; }

constexpr bool IsBytes(rl_str text) noexcept {
  return (text.data != nullptr || text.size == 0) && text.size <= kMaxBytes;
}

inline rl_status CheckBytes(rl_str text, const char* argument, const ErrorOut& error) noexcept {
  if (text.data == nullptr && text.size != 0) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "%s: data is NULL but size is not 0", argument);
  }
  if (text.size > kMaxBytes) return error.Fail(RL_E_INVALID_ARGUMENT, "%s: a size above 2^40 bytes", argument);
  return RL_OK;
}

/// A path that the system will be asked for: CheckBytes, and no NUL inside.
inline rl_status CheckPath(rl_str path, const char* argument, const ErrorOut& error) noexcept {
  if (const rl_status status = CheckBytes(path, argument, error)) return status;
  if (View(path).find('\0') == std::string_view::npos) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "%s has a NUL byte inside", argument);
}

/// Checks the arguments of a function that writes text, and sets *needed to 0.
inline rl_status CheckBuffer(const char* buffer, uint64_t capacity, uint64_t* needed, const ErrorOut& error) noexcept {
  if (needed == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "needed is NULL");
  *needed = 0;
  if (buffer == nullptr && capacity != 0)
    return error.Fail(RL_E_INVALID_ARGUMENT, "buffer is NULL but capacity is not 0");
  return RL_OK;
}

inline rl_status CheckTextFlags(uint32_t flags, const ErrorOut& error) noexcept {
  if ((flags & ~RL_TEXT_JSON) == 0) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "unknown flags 0x%x", flags & ~RL_TEXT_JSON);
}

inline rl_status TooSmall(uint64_t capacity, uint64_t needed, const ErrorOut& error) noexcept {
  return error.Fail(RL_E_BUFFER_TOO_SMALL, "the buffer has %llu bytes and the text needs %llu",
                    static_cast<unsigned long long>(capacity), static_cast<unsigned long long>(needed));
}

inline rl_status WriteText(std::string_view text, char* buffer, uint64_t capacity, uint64_t* needed,
                           const ErrorOut& error) noexcept {
  *needed = text.size();
  if (text.size() > capacity) return TooSmall(capacity, text.size(), error);
  if (!text.empty()) std::memcpy(buffer, text.data(), text.size());
  return RL_OK;
}

}  // namespace ratel::capi
