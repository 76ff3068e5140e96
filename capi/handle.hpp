// Handles: told from NULL, from each other, and - as well as that can be done - from what was destroyed.
#pragma once

#include <cstdint>

#include "guard.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

/// The first word of every handle. Destroying it overwrites it in a way that the compiler keeps.
class Magic {
 public:
  explicit Magic(uint64_t word) noexcept : word_(word) {}
  ~Magic() { *const_cast<volatile uint64_t*>(&word_) = 0; }
  Magic(const Magic&) = delete;
  Magic& operator=(const Magic&) = delete;
  bool Is(uint64_t word) const noexcept { return *const_cast<const volatile uint64_t*>(&word_) == word; }

 private:
  uint64_t word_;
};

inline constexpr uint64_t kConfigMagic = 0x7261'7465'6c43'6667;
inline constexpr uint64_t kRegistryMagic = 0x7261'7465'6c52'6567;
inline constexpr uint64_t kOpMagic = 0x7261'7465'6c4f'7001;
inline constexpr uint64_t kCompletionMagic = 0x7261'7465'6c44'6f6e;
inline constexpr uint64_t kQueueMagic = 0x7261'7465'6c51'7565;

template <class Handle>
bool IsLive(const Handle* handle) noexcept {
  return handle != nullptr && reinterpret_cast<uintptr_t>(handle) % alignof(Handle) == 0 &&
         handle->magic.Is(Handle::kMagic);
}

template <class Handle>
rl_status CheckHandle(const Handle* handle, const char* argument, const ErrorOut& error) noexcept {
  if (IsLive(handle)) [[likely]]
    return RL_OK;
  if (handle == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL", argument);
  return error.Fail(RL_E_STATE, "%s is not in use: it was destroyed, or it points to something else", argument);
}

}  // namespace ratel::capi
