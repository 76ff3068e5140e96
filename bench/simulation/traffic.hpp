// The requests: drawn once, so that every mode is asked the same.
#pragma once

#include <cstdint>
#include <vector>

#include "settings.hpp"

namespace simulation {

struct Request {
  Nanoseconds sent = 0;
  uint32_t lag = 0;  ///< nanoseconds until it reaches the store
  uint32_t client = 0;
  uint32_t gateway = 0;
  bool ideal = false;  ///< what one registry says that sees all requests when they are sent

  Nanoseconds arrives() const { return sent + lag; }
};

struct Traffic {
  std::vector<Request> requests;      ///< as they are sent
  std::vector<uint32_t> arrivals;     ///< their numbers, as they reach the store
  std::vector<int64_t> clocks_ahead;  ///< of each gateway; nanoseconds
  uint64_t clients = 0;               ///< that ask at all
};

Traffic DrawTraffic(const Settings& settings);

}  // namespace simulation
