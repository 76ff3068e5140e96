// What a process decides without asking a shared store, for the rules that want it (`local_tier`).
#pragma once

#include <chrono>
#include <cstdint>

#include "core/hash.hpp"
#include "core/time.hpp"
#include "limiter/denials.hpp"
#include "limiter/leases.hpp"
#include "limiter/states.hpp"
#include "rules/rule.hpp"

namespace ratel {

struct Tier {
  DenialCache denials;
  Leases leases;
  Upsets upsets;
};

/// What a request has to do with it, between the look at what is remembered and the store's answer.
struct TierPass {
  LocalTier tier = LocalTier::kNone;
  Hash128 charges;      ///< HashOfCharges
  uint64_t upsets = 0;  ///< of the states
  Instants instants;
  // A block that is asked for in place of the cost; 0 = none.
  uint64_t block = 0;
  uint64_t cost = 0;
  Hash128 states;  ///< HashOfStates
  LeaseTerms terms;
  std::chrono::steady_clock::time_point asked;
};

}  // namespace ratel
