// The host's storage as the engine sees it: a Storage over a table of C callbacks.
#pragma once

#include <memory>

#include "ratel/rl.h"
#include "storage/storage.hpp"

namespace ratel::capi {

/// Owns the table from construction on: its `destroy` runs with it, after the last asynchronous operation has ended.
/// Throws std::bad_alloc only, and then owns nothing.
std::unique_ptr<Storage> MakeHostStorage(const rl_storage& table);

}  // namespace ratel::capi
