#include "storage/redis/scout.hpp"

#include <algorithm>
#include <utility>

namespace ratel::redis {
namespace {

constexpr std::chrono::milliseconds kFloor{50};
constexpr std::chrono::seconds kLately{5};
constexpr unsigned kMostRounds = 4;

}  // namespace

Scout::Scout(Surroundings& surroundings, Client& client, Login login, std::string command, std::chrono::seconds period)
    : around_(surroundings),
      client_(client),
      login_(std::move(login)),
      command_(std::move(command)),
      period_(period),
      enquiry_(surroundings),
      candidates_(surroundings.options.places) {
  // Gateways that start together do not all ask the same one.
  std::shuffle(candidates_.begin(), candidates_.end(), around_.random);
}

void Scout::SetCandidates(const std::vector<Place>& candidates) {
  std::erase_if(candidates_,
                [&](const Place& place) { return std::ranges::find(candidates, place) == candidates.end(); });
  for (const Place& place : candidates) {
    if (std::ranges::find(candidates_, place) == candidates_.end()) candidates_.push_back(place);
  }
}

void Scout::Distrust(const Place& place) {
  const auto found = std::ranges::find(candidates_, place);
  if (found != candidates_.end()) std::rotate(found, found + 1, candidates_.end());
}

void Scout::Wake() {
  if (in_round_) {
    again_ = true;
  } else {
    due_ = std::min(due_, earliest_);
  }
}

void Scout::Tick(Clock::time_point now) {
  enquiry_.Tick(now);
  if (auto result = enquiry_.Take()) {
    const Place place = asking_;
    std::string fault = std::move(result->fault);
    if (result->reply != nullptr && client_.OnFound(*result->reply, place, fault)) {
      EndRound(now, true);
    } else {
      Distrust(place);
      if (++asked_ < candidates_.size()) return Ask();
      client_.OnNobody(Shown(place) + ": " + fault);
      EndRound(now, false);
    }
  }
  if (!in_round_ && now >= due_) BeginRound(now);
}

void Scout::BeginRound(Clock::time_point now) {
  rounds_ = now - began_ < kLately ? std::min(rounds_ + 1, kMostRounds) : 1;
  began_ = now;
  earliest_ = now + kFloor + around_.Backoff(rounds_);
  in_round_ = true;
  again_ = false;
  asked_ = 0;
  Ask();
}

void Scout::Ask() {
  asking_ = candidates_.front();
  enquiry_.Begin(asking_, login_, command_);
}

void Scout::EndRound(Clock::time_point now, bool found) {
  in_round_ = false;
  in_vain_ = found ? 0 : in_vain_ + 1;
  const auto period = static_cast<unsigned>(std::chrono::milliseconds(period_).count());
  due_ = now + (found ? std::chrono::milliseconds(period / 2 + around_.random() % period) : around_.Backoff(in_vain_));
  if (again_ && found) due_ = std::min(due_, std::max(earliest_, now));
}

Clock::time_point Scout::NextTick() const noexcept { return in_round_ ? enquiry_.NextTick() : due_; }

}  // namespace ratel::redis
