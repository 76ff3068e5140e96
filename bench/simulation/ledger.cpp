#include "ledger.hpp"

#include <algorithm>

#include "world.hpp"

namespace simulation {

Ledger::Ledger(const Settings& settings)
    : limit_(settings.limit), window_(FromSeconds(settings.window_s)), rows_(settings.clients) {}

void Ledger::Note(uint32_t client, Nanoseconds now, const Answer& answer) {
  Row& row = rows_[client];
  // As the engine aligns them: to the epoch.
  const auto window = static_cast<uint32_t>(now / window_ - kStart / window_);
  if (row.window != window) {
    Close(row);
    row.window = window;
  }
  row.difference += static_cast<int32_t>(answer.admitted) - static_cast<int32_t>(answer.ideal);
  row.admitted += static_cast<uint32_t>(answer.admitted);
  row.missing += static_cast<int32_t>(answer.ideal) - static_cast<int32_t>(answer.admitted);
  row.missing -= static_cast<int32_t>(answer.excused);
}

void Ledger::Close(Row& row) {
  most_admitted_ = std::max<uint64_t>(most_admitted_, row.admitted);
  if (row.missing > 0) most_missing_ = std::max(most_missing_, static_cast<uint64_t>(row.missing));
  row.admitted = 0;
  row.missing = 0;
}

void Ledger::Tell(Outcome& outcome) {
  for (Row& row : rows_) {
    Close(row);
    if (row.difference > 0) outcome.too_many += static_cast<uint64_t>(row.difference);
    if (row.difference < 0) outcome.too_few += static_cast<uint64_t>(-row.difference);
  }
  outcome.most_above = most_admitted_ > limit_ ? most_admitted_ - limit_ : 0;
  outcome.most_below = most_missing_;
}

}  // namespace simulation
