// The embedded store: a table whose decision costs one cache line.
#pragma once

#include <cstdint>
#include <memory>

#include "storage/storage.hpp"

namespace ratel {

struct MemoryOptions {
  uint64_t max_keys = 1'000'000;  ///< at least 1
};

/// Any threads. May throw std::bad_alloc on construction; never afterwards.
std::unique_ptr<Storage> MakeMemoryStorage(const MemoryOptions& options);

/// The most bytes a table bounded by `max_keys` will ever map for its lines (sliding logs come on top).
uint64_t MemoryTableBytes(uint64_t max_keys) noexcept;

}  // namespace ratel
