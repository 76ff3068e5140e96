// Structs that grow: taken and given by the size that their owner was compiled with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "guard.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

/// sizeof in ABI 1.0, below which no caller can be.
template <class T>
inline constexpr uint32_t kFirstSize = 0;
template <>
inline constexpr uint32_t kFirstSize<rl_error> = 1560;
template <>
inline constexpr uint32_t kFirstSize<rl_request> = 152;
template <>
inline constexpr uint32_t kFirstSize<rl_decision> = 104;
template <>
inline constexpr uint32_t kFirstSize<rl_clock> = 32;
template <>
inline constexpr uint32_t kFirstSize<rl_log> = 32;
template <>
inline constexpr uint32_t kFirstSize<rl_storage> = 64;
template <>
inline constexpr uint32_t kFirstSize<rl_limit> = 88;
template <>
inline constexpr uint32_t kFirstSize<rl_rule> = 120;
template <>
inline constexpr uint32_t kFirstSize<rl_metrics> = 152;
template <>
inline constexpr uint32_t kFirstSize<rl_http> = 48;
template <>
inline constexpr uint32_t kFirstSize<rl_rule_metrics> = 48;

/// No struct will ever be longer: a larger size is rubbish and its tail is not looked at.
inline constexpr uint32_t kLastSize = 4096;

/// The struct_size with which every struct of the ABI that may grow begins; at any address.
inline uint32_t SizeOf(const void* structure) noexcept {
  uint32_t size;
  std::memcpy(&size, structure, sizeof size);
  return size;
}

/// What is wrong with a struct's address or size; nullptr when nothing is. `alignment` is 4 (rl_error) or 8.
const char* SizeProblem(const void* data, uint32_t size, uint32_t first_size, size_t alignment) noexcept;

template <class T>
const char* SizeProblem(const T* data) noexcept {
  static_assert(kFirstSize<T> != 0 && sizeof(T) >= kFirstSize<T> && offsetof(T, struct_size) == 0);
  if (SizeOf(data) == sizeof(T) && reinterpret_cast<uintptr_t>(data) % alignof(T) == 0) [[likely]]
    return nullptr;
  return SizeProblem(data, SizeOf(data), kFirstSize<T>, alignof(T));
}

bool IsZero(const void* data, size_t size) noexcept;

/// A struct from the caller. Read where it lies when it is at least as long as ours, else from a copy whose new
/// fields are 0.
template <class T>
class Input {
 public:
  Input() noexcept {}
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  rl_status Take(const T* in, const char* argument, const ErrorOut& error) noexcept {
    if (in == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL", argument);
    return TakeSized(in, SizeOf(in), argument, error);
  }

  const T& operator*() const noexcept { return *value_; }
  const T* operator->() const noexcept { return value_; }

 private:
  rl_status TakeSized(const T* in, uint32_t size, const char* argument, const ErrorOut& error) noexcept {
    if (const char* problem = SizeProblem(in))
      return error.Fail(RL_E_ABI, "%s: struct_size %u %s", argument, size, problem);
    value_ = in;
    if (size == sizeof(T)) return RL_OK;
    if (size > sizeof(T)) {
      if (IsZero(reinterpret_cast<const char*>(in) + sizeof(T), size - sizeof(T))) return RL_OK;
      return error.Fail(RL_E_ABI, "%s: it sets fields that this library does not know", argument);
    }
    copy_ = T{};
    std::memcpy(&copy_, in, size);
    value_ = &copy_;
    return RL_OK;
  }

  const T* value_ = nullptr;
  union {
    T copy_;
  };
};

/// Whether a struct can be given to the caller.
template <class T>
rl_status CheckOutput(const T* out, const char* argument, const ErrorOut& error) noexcept {
  if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL", argument);
  const char* problem = SizeProblem(out);
  if (problem == nullptr) return RL_OK;
  return error.Fail(RL_E_ABI, "%s: struct_size %u %s", argument, SizeOf(out), problem);
}

/// Gives the common part and zeroes the rest of `size` bytes, which CheckOutput has accepted.
template <class T>
void Give(const T& value, T* out, uint32_t size) noexcept {
  if (size == sizeof(T)) {
    *out = value;
  } else if (size > sizeof(T)) {
    *out = value;
    std::memset(reinterpret_cast<char*>(out) + sizeof(T), 0, size - sizeof(T));
  } else {
    std::memcpy(out, &value, size);
  }
  out->struct_size = size;
}

template <class T>
void Give(const T& value, T* out) noexcept {
  Give(value, out, out->struct_size);
}

/// An element of an array whose elements lie `stride` bytes apart.
template <class T>
T* ElementAt(T* first, uint32_t stride, uint64_t index) noexcept {
  using Byte = std::conditional_t<std::is_const_v<T>, const char, char>;
  return reinterpret_cast<T*>(reinterpret_cast<Byte*>(first) + index * stride);
}

}  // namespace ratel::capi
