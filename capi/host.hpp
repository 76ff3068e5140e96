// What the host supplies, as the engine sees it: its clock and its log.
#pragma once

#include <memory>

#include "limiter/host.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

/// Owns the callbacks from construction on: their `destroy` runs with it. Throw std::bad_alloc only, and then own
/// nothing.
std::unique_ptr<Clock> MakeHostClock(const rl_clock& clock);
std::unique_ptr<Log> MakeHostLog(const rl_log& log);

}  // namespace ratel::capi
