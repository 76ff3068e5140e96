// A sliding log in a vector: for stores that hold a state as bytes, and for tests. The memory table has a ring of its own.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "algorithm/sliding_log.hpp"
#include "algorithm/state.hpp"

namespace ratel {

/// A LogView with the changes applied in O(n). Not for threads at once.
class LogVector {
 public:
  LogVector() = default;
  /// Entries in order of time, each at its own tick.
  explicit LogVector(std::vector<LogEntry> entries) : entries_(std::move(entries)) { Sum(0); }

  size_t size() const noexcept { return entries_.size(); }
  Tick At(size_t i) const noexcept { return entries_[i].at; }
  uint64_t UnitsThrough(size_t i) const noexcept { return through_[i]; }

  std::span<const LogEntry> entries() const noexcept { return entries_; }
  uint64_t units() const noexcept { return through_.empty() ? 0 : through_.back(); }
  /// The two words that stand beside the entries.
  State StateOf(const Numbers& numbers) const noexcept {
    return entries_.empty() ? State{} : State{entries_.back().at + numbers.window, units()};
  }

  void Apply(const LogChange& change) {
    if (change.retime) {
      const uint64_t before = change.retime_from == 0 ? 0 : UnitsThrough(change.retime_from - 1);
      const uint64_t moved = units() - before;
      entries_.resize(change.retime_from);
      entries_.push_back({change.retime_to, moved});
    }
    if (change.append_cost != 0) {
      if (!entries_.empty() && entries_.back().at == change.append_at) {
        entries_.back().cost += change.append_cost;
      } else {
        entries_.push_back({change.append_at, change.append_cost});
      }
    }
    entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(change.drop_front));
    Sum(0);
  }

  void Apply(const LogCorrection& correction) {
    if (!correction.change) return;
    if (correction.cost == 0) {
      entries_.erase(entries_.begin() + static_cast<std::ptrdiff_t>(correction.index));
    } else {
      entries_[correction.index].cost = correction.cost;
    }
    Sum(correction.index);
  }

 private:
  void Sum(size_t from) {
    through_.resize(entries_.size());
    for (size_t i = from; i < entries_.size(); ++i) through_[i] = entries_[i].cost + (i == 0 ? 0 : through_[i - 1]);
  }

  std::vector<LogEntry> entries_;
  std::vector<uint64_t> through_;  ///< units of entries 0 to i
};

}  // namespace ratel
