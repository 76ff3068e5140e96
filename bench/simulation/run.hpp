// Several modes beside each other.
#pragma once

#include <functional>
#include <vector>

#include "modes.hpp"
#include "outcome.hpp"
#include "settings.hpp"
#include "traffic.hpp"

namespace simulation {

/// Calls `tell` for each mode in turn, on this thread. With `again` each runs a second time (see kAgain), and `tell` gets whether it counted the same.
void RunAll(const std::vector<Mode>& modes, const Settings& settings, const Traffic& traffic, uint64_t threads,
            bool again, const std::function<void(const Mode&, const Outcome&, bool same)>& tell);

}  // namespace simulation
