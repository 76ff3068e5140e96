// What each client was given, next to the ideal: in all, and in each window.
#pragma once

#include <cstdint>
#include <vector>

#include "outcome.hpp"
#include "settings.hpp"

namespace simulation {

class Ledger {
 public:
  explicit Ledger(const Settings& settings);

  struct Answer {
    bool admitted = false;
    bool ideal = false;
    /// Units that may be missing for a reason outside the limiter: a message that was lost, a store that was away, a request that
    /// crossed the border of a window on its way.
    uint64_t excused = 0;
  };
  /// At instants that do not decrease.
  void Note(uint32_t client, Nanoseconds now, const Answer& answer);
  /// Once, at the end.
  void Tell(Outcome& outcome);

 private:
  struct Row {
    int32_t difference = 0;  ///< admitted above the ideal, in all
    uint32_t window = 0;     ///< the one that the rest is about
    uint32_t admitted = 0;
    int32_t missing = 0;  ///< below the ideal, and not excused
  };
  void Close(Row& row);

  const uint64_t limit_;
  const Nanoseconds window_;
  std::vector<Row> rows_;
  uint64_t most_admitted_ = 0;
  uint64_t most_missing_ = 0;
};

}  // namespace simulation
