#include "structs.hpp"

namespace ratel::capi {

// What ABI 1.0 was released with. A field may be appended, nothing may move.
static_assert(sizeof(rl_str) == 16 && sizeof(rl_attribute) == 32 && sizeof(rl_cell) == 64);

const char* SizeProblem(const void* data, uint32_t size, uint32_t first_size, size_t alignment) noexcept {
  if (reinterpret_cast<uintptr_t>(data) % alignment != 0) return "at an address that is not aligned for it";
  if (size < first_size) return "is smaller than in ABI 1.0: set it to sizeof, as the RL_*_INIT macros do";
  if (size > kLastSize) return "is larger than any version of it: set it to sizeof, as the RL_*_INIT macros do";
  if (size % 8 != 0) return "is no multiple of 8: set it to sizeof, as the RL_*_INIT macros do";
  return nullptr;
}

bool IsZero(const void* data, size_t size) noexcept {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (size_t i = 0; i < size; ++i) {
    if (bytes[i] != 0) return false;
  }
  return true;
}

}  // namespace ratel::capi
