// The ways in which gateways may share a limit, and what docs/operating.md promises of each.
#pragma once

#include <limits>
#include <string>
#include <vector>

#include "settings.hpp"

namespace simulation {

inline constexpr double kNoBound = std::numeric_limits<double>::infinity();

struct Mode {
  std::string name;
  std::string what;
  enum class Shares { kNothing, kOneStore, kOneStorePerRegion } shares = Shares::kOneStore;
  std::string on_store_error = "closed";
  std::string tier = {};             ///< local_tier of the rule
  bool gateways_clocks = false;      ///< each gateway's own clock counts, not the store's
  bool outage = false;               ///< the store is away for a while
  double longest_outage = kNoBound;  ///< seconds
  bool forgets = false;              ///< and comes back empty
  double above = 0;                  ///< how many more than the limit a client may have in one window, at most
  double below = 0;                  ///< how many fewer than the ideal, when all messages arrive
  uint64_t most_lost = 1;            ///< units that one lost message may take away
};

std::vector<Mode> ModesOf(const Settings& settings);

uint64_t StoreCountOf(const Mode& mode, const Settings& settings);
std::string RulesOf(const Mode& mode, const Settings& settings);

}  // namespace simulation
