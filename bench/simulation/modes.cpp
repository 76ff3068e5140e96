#include "modes.hpp"

#include <algorithm>
#include <limits>

namespace simulation {

std::vector<Mode> ModesOf(const Settings& settings) {
  using Shares = Mode::Shares;
  const auto limit = static_cast<double>(settings.limit);
  // Each process has at least one unit.
  const double shares =
      static_cast<double>(settings.gateways * std::max<uint64_t>(1, settings.limit / settings.gateways));
  const double without = std::numeric_limits<double>::infinity();
  std::vector<Mode> modes = {
      {.name = "local",
       .what = "no store; each gateway counts for itself with its share",
       .shares = Shares::kNothing,
       .bound = std::max(0.0, shares - limit)},
      {.name = "region shares",
       .what = "a store for each region, with a fixed share",
       .shares = Shares::kOneStorePerRegion,
       .bound = 0},
      {.name = "one store", .what = "one store for all, its clock counts", .bound = 0},
      // The windows before and after are held to be this one by some; no more of them while clocks are less than a window apart.
      {.name = "one store, callers' time",
       .what = "one store for all, each gateway's clock counts",
       .callers_time = true,
       .bound = 2 * limit},
      {.name = "denials",
       .what = "one store; each gateway repeats denials whose end it knows",
       .tier = "denials",
       .bound = 0},
      {.name = "leases",
       .what = "one store; each gateway admits hot keys from units paid for in advance",
       .tier = "leases",
       .bound = 0},
      {.name = "outage, closed", .what = "the store is away for a while; denied meanwhile", .outage = true, .bound = 0},
      {.name = "outage, local",
       .what = "the store is away for a while; each gateway's share meanwhile",
       .on_store_error = "local",
       .outage = true,
       .bound = shares},
      {.name = "outage, local, leases",
       .what = "the store is away for a while; what is left of leases and each gateway's share meanwhile",
       .on_store_error = "local",
       .tier = "leases",
       .outage = true,
       .bound = shares},
      {.name = "outage, local, counts lost",
       .what = "the store is away and comes back empty; each gateway's share meanwhile",
       .on_store_error = "local",
       .outage = true,
       .forgets = true,
       .bound = shares + limit},
      {.name = "outage, open",
       .what = "the store is away for a while; all is let through meanwhile",
       .on_store_error = "open",
       .outage = true,
       .bound = without},
  };
  // A full bucket and what refills while a window passes: a bucket alone admits twice its limit in a window.
  if (settings.algorithm.ends_with("_bucket")) {
    for (Mode& mode : modes) mode.bound += limit;
  }
  return modes;
}

uint64_t LimitOf(const Mode& mode, const Settings& settings) {
  switch (mode.shares) {
    case Mode::Shares::kNothing:
      return std::max<uint64_t>(1, settings.limit / settings.gateways);
    case Mode::Shares::kOneStorePerRegion:
      return std::max<uint64_t>(1, settings.limit / settings.regions);
    default:
      return settings.limit;
  }
}

std::string RulesOf(const Mode& mode, const Settings& settings) {
  return R"({"version":1,"max_keys":)" + std::to_string(settings.clients) + R"(,"instances":)" +
         std::to_string(settings.gateways) + R"(,"rules":[{"name":"r","scope":"user","algorithm":")" +
         settings.algorithm + R"(","limit":)" + std::to_string(LimitOf(mode, settings)) + R"(,"window":")" +
         std::to_string(static_cast<uint64_t>(settings.window_s * 1000)) + R"(ms","on_store_error":")" +
         mode.on_store_error + '"' + (mode.tier.empty() ? "" : R"(,"local_tier":")" + mode.tier + '"') + "}]}";
}

}  // namespace simulation
