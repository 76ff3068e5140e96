#include "modes.hpp"

#include <algorithm>
#include <cmath>

namespace simulation {
namespace {

/// The part of each of so many that share the limit.
uint64_t PartOf(const Settings& settings, uint64_t count) { return std::max<uint64_t>(1, settings.limit / count); }

/// What docs/operating.md promises, in numbers.
struct Bounds {
  explicit Bounds(const Settings& settings)
      : limit(static_cast<double>(settings.limit)),
        shares(static_cast<double>(settings.gateways * PartOf(settings, settings.gateways))),
        region(static_cast<double>(PartOf(settings, settings.regions))),
        regions(region * static_cast<double>(settings.regions)),
        held(std::floor(limit / 10)) {
    // Lag is by chance; twenty times its mean does not happen.
    const double apart = 2 * settings.skew_ms / 1000 + std::abs(settings.far_s);
    clocks_agree = apart == 0;
    within_a_window = apart + 20 * settings.lag_ms / 1000 < settings.window_s;
  }

  double limit;
  double shares;   ///< of all gateways
  double region;   ///< of one region
  double regions;  ///< of all regions
  double held;     ///< a tenth of the capacity, at most, is paid for in advance
  bool clocks_agree;
  bool within_a_window;  ///< all clocks
};

}  // namespace

std::vector<Mode> ModesOf(const Settings& settings) {
  using Shares = Mode::Shares;
  const Bounds bounds(settings);
  const bool fixed = settings.algorithm == "fixed_window";
  // A window by the true time may hold parts of two windows by a gateway's clock.
  const double local = (bounds.clocks_agree ? 1 : 2) * bounds.shares - bounds.limit;
  // And of three by a store that takes the gateways' clocks for true.
  const double callers = bounds.within_a_window ? 2 * bounds.limit : kNoBound;
  const double leased = fixed ? 0 : bounds.held;
  const uint64_t block = std::max<uint64_t>(1, settings.limit / 10 / settings.gateways);
  std::vector<Mode> modes = {
      {.name = "local",
       .what = "no store; each gateway counts for itself with its share",
       .shares = Shares::kNothing,
       .gateways_clocks = true,
       .above = std::max(0.0, local),
       .below = kNoBound},
      {.name = "region shares",
       .what = "a store for each region, with a fixed share",
       .shares = Shares::kOneStorePerRegion,
       .above = std::max(0.0, bounds.regions - bounds.limit),
       .below = bounds.limit - bounds.region},
      {.name = "one store", .what = "one store for all, its clock counts"},
      {.name = "one store, callers' time",
       .what = "one store for all, each gateway's clock counts",
       .gateways_clocks = true,
       .above = callers,
       .below = kNoBound},
      {.name = "denials", .what = "one store; each gateway repeats denials whose end it knows", .tier = "denials"},
      {.name = "leases",
       .what = "one store; each gateway admits hot keys from units paid for in advance",
       .tier = "leases",
       .above = leased,
       .below = bounds.held,
       .most_lost = block},
      {.name = "outage, closed", .what = "the store is away for a while; denied meanwhile", .outage = true},
      {.name = "outage, local",
       .what = "the store is away for a while; each gateway's share meanwhile",
       .on_store_error = "local",
       .outage = true,
       .above = bounds.shares},
      {.name = "outage, local, leases",
       .what = "the store is away for a while; what is left of leases and each gateway's share meanwhile",
       .on_store_error = "local",
       .tier = "leases",
       .outage = true,
       .above = bounds.shares + leased,
       .below = bounds.held,
       .most_lost = block},
      {.name = "outage, local, callers' time",
       .what = "the store is away for a while; each gateway's share meanwhile; each gateway's clock counts",
       .on_store_error = "local",
       .gateways_clocks = true,
       .outage = true,
       .above = callers + 2 * bounds.shares,
       .below = kNoBound},
      {.name = "outage, local, counts lost",
       .what = "the store is away and comes back empty; each gateway's share meanwhile",
       .on_store_error = "local",
       .outage = true,
       // Within one window: what is lost with a window that is over makes no difference.
       .longest_outage = 0.3 * settings.window_s,
       .forgets = true,
       .above = bounds.shares + bounds.limit},
      {.name = "outage, open",
       .what = "the store is away for a while; all is let through meanwhile",
       .on_store_error = "open",
       .outage = true,
       .above = kNoBound},
  };
  for (Mode& mode : modes) {
    // A full bucket and what refills while a window passes: a bucket alone admits twice its limit in a window.
    if (settings.algorithm.ends_with("_bucket")) mode.above += bounds.limit;
    // What one window misses another one may have had, where they slide or refill.
    if (!fixed) mode.below = kNoBound;
  }
  return modes;
}

uint64_t StoreCountOf(const Mode& mode, const Settings& settings) {
  switch (mode.shares) {
    case Mode::Shares::kNothing:
      return 0;
    case Mode::Shares::kOneStorePerRegion:
      return settings.regions;
    default:
      return 1;
  }
}

namespace {

/// Units per window that each gateway, or each store, counts with.
uint64_t LimitOf(const Mode& mode, const Settings& settings) {
  const uint64_t stores = StoreCountOf(mode, settings);
  return PartOf(settings, stores == 0 ? settings.gateways : stores);
}

}  // namespace

std::string RulesOf(const Mode& mode, const Settings& settings) {
  return R"({"version":1,"max_keys":)" + std::to_string(settings.clients) + R"(,"instances":)" +
         std::to_string(settings.gateways) + R"(,"rules":[{"name":"r","scope":"user","algorithm":")" +
         settings.algorithm + R"(","limit":)" + std::to_string(LimitOf(mode, settings)) + R"(,"window":")" +
         std::to_string(static_cast<uint64_t>(settings.window_s * 1000)) + R"(ms","on_store_error":")" +
         mode.on_store_error + '"' + (mode.tier.empty() ? "" : R"(,"local_tier":")" + mode.tier + '"') + "}]}";
}

}  // namespace simulation
