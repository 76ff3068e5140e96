// The ways in which gateways may share a limit.
#pragma once

#include <string>
#include <vector>

#include "settings.hpp"

namespace simulation {

struct Mode {
  std::string name;
  std::string what;
  enum class Shares { kNothing, kOneStore, kOneStorePerRegion } shares = Shares::kOneStore;
  std::string on_store_error = "closed";
  std::string tier = {};      ///< local_tier of the rule
  bool callers_time = false;  ///< each gateway's own clock counts, not the store's
  bool outage = false;        ///< the store is away for a while
  bool forgets = false;       ///< and comes back empty
  double bound = 0;           ///< how many more than the limit a client may have in one window, at most
};

std::vector<Mode> ModesOf(const Settings& settings);

/// Units per window that each gateway (or the one store) counts with.
uint64_t LimitOf(const Mode& mode, const Settings& settings);
std::string RulesOf(const Mode& mode, const Settings& settings);

}  // namespace simulation
