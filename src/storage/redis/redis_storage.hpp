// The storage that many gateways share: a Redis or Valkey server.
#pragma once

#include <memory>

#include "core/result.hpp"
#include "storage/redis/options.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// Any threads. Starts an I/O thread of its own, on which asynchronous completions run; works with the server down. kConfig when a TLS file cannot be
/// used. Throws std::bad_alloc, std::system_error.
Result<std::unique_ptr<Storage>> MakeRedisStorage(const redis::Options& options);

}  // namespace ratel
