// Spares callers the wait for a server that does not answer.
//
//            5 failures in a row            the pause is over: one call goes through
//   closed ----------------------> open ------------------------------------------> probing
//      ^                            ^                                                  |
//      |                            '---------------- it fails: a longer pause --------|
//      '------------------------------------------------- an answer in time ----------'
//
// A failure is a call whose deadline passed, or a connection that was lost or could not be made. Any answer in time is a success, a denial or an
// error as well.
#pragma once

#include <cstdint>
#include <string>

#include "storage/redis/call.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

class Breaker {
 public:
  /// `place` is for messages.
  Breaker(Surroundings& surroundings, std::string place) : around_(surroundings), place_(std::move(place)) {}

  /// Whether a call would be let through.
  bool Admits(Clock::time_point now) const noexcept {
    return state_ == State::kClosed || (state_ == State::kOpen && now >= until_);
  }
  bool closed() const noexcept { return state_ == State::kClosed; }
  /// Lets a call through, as the probe when the breaker is open. False: no call now.
  bool Take(Call& call, Clock::time_point now) noexcept;
  void Succeeded();
  /// `by_probe`: it is the probe that failed, or all that is under way.
  void Failed(Clock::time_point now, bool by_probe);
  /// The server is there again: the next call is the probe.
  void EndPause(Clock::time_point now) noexcept;
  /// When the pause ends; max when there is none, or it is over.
  Clock::time_point NextChange(Clock::time_point now) const noexcept {
    return state_ == State::kOpen && until_ > now ? until_ : Clock::time_point::max();
  }

 private:
  enum class State : uint8_t { kClosed, kOpen, kProbing };

  Surroundings& around_;
  const std::string place_;
  State state_ = State::kClosed;
  Clock::time_point until_{};
  unsigned failures_ = 0;  ///< in a row
  unsigned pauses_ = 0;    ///< likewise
};

}  // namespace ratel::redis
