// What a simulation is told.
#pragma once

#include <cstdint>
#include <string>

namespace simulation {

using Nanoseconds = uint64_t;

struct Settings {
  uint64_t gateways = 100;
  uint64_t clients = 100'000;
  uint64_t requests = 1'000'000;
  uint64_t limit = 100;  ///< of a client, per window
  double window_s = 10;
  double duration_s = 60;
  double lag_ms = 5;     ///< of a question: half of it always, the other half on average by chance
  double loss = 0.001;   ///< of questions and replies
  double skew_ms = 500;  ///< gateways' clocks are up to so far ahead or behind
  double far_s = 0;      ///< and that of one gateway is so far ahead besides; negative: behind
  double outage_s = 15;  ///< the store is away for so long
  uint64_t regions = 4;
  uint64_t seed = 1;
  std::string algorithm = "fixed_window";
};

inline Nanoseconds FromSeconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

/// When the outage begins: amid a window, in which there has been time to spend the limit.
inline double OutageBeginsAfter(const Settings& settings) { return settings.duration_s / 3 + 0.4 * settings.window_s; }

}  // namespace simulation
