// All or nothing over several charges, for every store: each brings its own way to decide one charge on the state it holds.
#pragma once

#include <cstddef>
#include <span>

#include "algorithm/step.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// Fills the outcome of every charge. `evaluate(i, spend)` decides charge i alone (see Step) and, with Spend::kYes, changes its state; the caller
/// holds whatever makes all of it one act. When a charge that is no shadow is denied, nothing is spent anywhere and those that would have been
/// admitted tell the state as it is. A charge that is denied itself is still asked to spend: that stores the clock firewall's repair.
template <class Evaluate>
inline void DecideTogether(std::span<Charge> charges, Evaluate evaluate) noexcept {
  if (charges.size() == 1) {
    charges[0].outcome = evaluate(size_t{0}, Spend::kYes);
    return;
  }
  for (size_t i = 0; i < charges.size(); ++i) charges[i].outcome = evaluate(i, Spend::kNo);
  const bool admitted = Admits(charges);
  for (size_t i = 0; i < charges.size(); ++i) {
    if (admitted || !charges[i].outcome.allowed) charges[i].outcome = evaluate(i, Spend::kYes);
  }
}

}  // namespace ratel
