#include "storage/redis/breaker.hpp"

namespace ratel::redis {
namespace {

constexpr unsigned kMostFailures = 5;

}  // namespace

bool Breaker::Take(Call& call, Clock::time_point now) noexcept {
  call.is_probe = false;
  if (state_ == State::kClosed) return true;
  if (!Admits(now) || !call.decides()) return false;
  state_ = State::kProbing;
  call.is_probe = true;
  return true;
}

void Breaker::Succeeded() {
  failures_ = 0;
  pauses_ = 0;
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  around_.report(Report::kInfo, place_ + ": answers in time again");
}

void Breaker::Failed(Clock::time_point now, bool by_probe) {
  if (state_ == State::kOpen || (state_ == State::kProbing && !by_probe)) return;
  if (state_ == State::kClosed && ++failures_ < kMostFailures) return;
  const bool is_news = state_ == State::kClosed;
  state_ = State::kOpen;
  until_ = now + around_.Backoff(++pauses_);
  if (is_news)
    around_.report(Report::kWarning, place_ + ": " + std::to_string(kMostFailures) +
                                         " failures in a row; it is asked now and then until it answers in time");
}

void Breaker::EndPause(Clock::time_point now) noexcept {
  if (state_ == State::kOpen) until_ = now;
}

}  // namespace ratel::redis
