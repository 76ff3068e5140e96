// Sliding log: the exact one. It remembers when every unit still in force was spent, so that no interval of one window's length, wherever it
// lies, ever holds more than the limit. Memory grows with the limit: for small limits, or where every unit counts (logins, payments, sends).
// An entry aged exactly one window no longer counts; requests of one tick are one entry. The log of time stamps is folklore; Figma's
// "An alternative approach to rate limiting" (2017) tells it next to the others.
//
//   limit 3 per 60 s                      (t - W, t]
//   entries    0   10  20                 ├──────────┤
//   t = 30     ●   ●   ●   ✗              three in force: denied, retry at 60
//   t = 60         ●   ●       ●          the entry of 0 s is aged exactly 60 s: admitted
//   t = 60.5       ●   ●       ● ✗        denied, retry at 70
//
// The entries live wherever a store keeps them; these functions see them through a view and answer with what to change.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "algorithm/fixed_window.hpp"

namespace ratel {

/// A view of a log, oldest first. UnitsThrough(i) is the sum over entries 0 to i inclusive; entries that have aged out may still be held.
template <class Log>
concept LogView = requires(const Log& log, size_t i) {
  size_t{log.size()};
  Tick{log.At(i)};
  uint64_t{log.UnitsThrough(i)};
};

/// What a step changes in a log. Indices are those of the log as it was passed in; drop_front <= retime_from, so the parts do not meet.
struct LogChange {
  /// So many of the oldest entries have aged out.
  size_t drop_front = 0;

  /// The clock firewall: entries retime_from to the last become ONE entry at retime_to with the sum of their units.
  bool retime = false;
  size_t retime_from = 0;
  Tick retime_to = 0;

  /// Units spent at append_at, which is never before the newest entry; they join it when it has the same tick. 0 = none.
  uint64_t append_cost = 0;
  Tick append_at = 0;
};

/// What a settle changes in a log: entry `index` gets `cost` units, or goes when that is 0. Nothing unless `change` is set.
struct LogCorrection {
  bool change = false;
  size_t index = 0;
  uint64_t cost = 0;
};

/// A log as it counts for a request.
struct LogWindow {
  Tick at = 0;         ///< now, or the newest entry when that is later
  size_t first = 0;    ///< the oldest entry still in force; size() when none is
  size_t ahead = 0;    ///< the first entry that counts as made now; size() unless pulled back
  uint64_t aged = 0;   ///< units before `first`
  uint64_t units = 0;  ///< units from `first` on
  Tick newest = 0;     ///< instant of the newest entry as it counts; meaningful when units > 0
  bool pulled_back = false;
};

/// The first index in [from, to) for which `holds`, or `to`; `holds` turns from false to true once.
template <class Predicate>
inline size_t FirstIndex(size_t from, size_t to, Predicate holds) noexcept {
  while (from < to) {
    const size_t middle = from + (to - from) / 2;
    if (holds(middle)) {
      to = middle;
    } else {
      from = middle + 1;
    }
  }
  return from;
}

/// The same in O(log of the answer): doubling steps from the front. What has aged out since the last request is usually an entry or two.
template <class Predicate>
inline size_t FirstIndexFromFront(size_t size, Predicate holds) noexcept {
  size_t from = 0;
  for (size_t step = 1; from < size; step *= 2) {
    const size_t probe = std::min(from + step, size) - 1;
    if (holds(probe)) return FirstIndex(from, probe, holds);
    from = probe + 1;
  }
  return size;
}

template <LogView Log>
inline LogWindow LogWindowAt(const Numbers& numbers, const Log& log, Tick now) noexcept {
  const size_t size = log.size();
  LogWindow window;
  window.at = now;
  window.first = window.ahead = size;
  if (size == 0) return window;
  window.newest = log.At(size - 1);
  if (window.newest + numbers.window <= now) return window;
  if (window.newest > now) {
    if (window.newest - now > numbers.window) {
      window.pulled_back = true;
      window.newest = now;
      window.ahead = FirstIndex(0, size, [&](size_t i) { return log.At(i) >= now; });
    } else {
      window.at = window.newest;
    }
  }
  window.first = FirstIndexFromFront(size, [&](size_t i) { return log.At(i) + numbers.window > window.at; });
  window.aged = window.first == 0 ? 0 : log.UnitsThrough(window.first - 1);
  window.units = log.UnitsThrough(size - 1) - window.aged;
  return window;
}

/// Fills what an outcome says about a log that is left with `units`, the newest at `newest`.
inline void FinishLog(const Numbers& numbers, uint64_t units, Tick newest, Tick now, Outcome& outcome) noexcept {
  outcome.remaining = SubtractFloor(numbers.capacity, units);
  outcome.reset_at = units == 0 ? now : newest + numbers.window;
}

/// Decides about `cost` (1 or more) units at `now`. `change` says what the store has to do, under the lock under which the view was read; it is
/// all zero unless outcome.changed. O(log n) looks at the log. The store's State after an applied change: expiry = outcome.reset_at,
/// value = the units left in the log. After a reload to a smaller limit a log may hold more than `limit` entries until they age out.
template <LogView Log>
inline Outcome EvaluateLog(const Numbers& numbers, const Log& log, Tick now, uint64_t cost, Spend spend,
                           LogChange& change) noexcept {
  change = {};
  LogWindow window = LogWindowAt(numbers, log, now);
  const bool spending = spend == Spend::kYes;
  Outcome outcome;
  outcome.never_fits = cost > numbers.capacity;
  if (!outcome.never_fits) {
    outcome.allowed = window.units + cost <= numbers.capacity;
    if (!outcome.allowed) {
      const uint64_t must_leave = window.aged + window.units + cost - numbers.capacity;
      const size_t last =
          FirstIndex(window.first, log.size(), [&](size_t i) { return log.UnitsThrough(i) >= must_leave; });
      outcome.retry_at = (last >= window.ahead ? now : log.At(last)) + numbers.window;
    } else if (spending) {
      change.append_cost = cost;
      change.append_at = window.newest = window.at;
      window.units += cost;
    }
  }
  outcome.changed = spending && (outcome.allowed || window.pulled_back);
  if (outcome.changed) {
    change.drop_front = window.first;
    change.retime = window.pulled_back;
    change.retime_from = window.ahead;
    change.retime_to = now;
  }
  FinishLog(numbers, window.units, window.newest, now, outcome);
  return outcome;
}

/// Corrects what was spent at `charged_at` (see Settle): only the entry of that tick, and only while it is in force. A settle leaves the clock
/// firewall's repair to the next request. The store's State afterwards: expiry = outcome.reset_at (0 when no unit is left in force),
/// value = the units left in the log.
template <LogView Log>
inline Outcome SettleLog(const Numbers& numbers, const Log& log, Tick now, Tick charged_at, uint64_t spent,
                         uint64_t actual, LogCorrection& correction) noexcept {
  correction = {};
  const size_t size = log.size();
  LogWindow window = LogWindowAt(numbers, log, now);
  const size_t entry = FirstIndex(window.first, window.ahead, [&](size_t i) { return log.At(i) >= charged_at; });
  Outcome outcome;
  outcome.allowed = true;
  if (entry < window.ahead && log.At(entry) == charged_at) {
    const uint64_t held = log.UnitsThrough(entry) - (entry == 0 ? 0 : log.UnitsThrough(entry - 1));
    const uint64_t others = window.units - held;
    const uint64_t most = std::max(held, SubtractFloor(2 * numbers.capacity, others));
    const uint64_t cost =
        actual > spent ? held + std::min(actual - spent, most - held) : SubtractFloor(held, spent - actual);
    if (cost != held) {
      outcome.changed = true;
      correction = {true, entry, cost};
      window.units = others + cost;
      if (cost == 0 && entry + 1 == size && entry > window.first) window.newest = log.At(entry - 1);
    }
  }
  FinishLog(numbers, window.units, window.newest, now, outcome);
  return outcome;
}

}  // namespace ratel
