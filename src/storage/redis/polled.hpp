// What the I/O thread turns round: something with a socket, or none at the moment.
#pragma once

#include <poll.h>

#include "storage/redis/call.hpp"

namespace ratel::redis {

class Polled {
 public:
  /// Does what the time has come for. Called in every turn of the loop, before Flush.
  virtual void Tick(Clock::time_point now) = 0;
  /// Sends what has been queued in this turn.
  virtual void Flush() = 0;
  /// When Tick has something to do at the latest.
  virtual Clock::time_point NextTick() const noexcept = 0;
  /// What to poll for; fd -1 when there is nothing.
  virtual pollfd Wanted() const noexcept = 0;
  virtual void OnEvents(short events) = 0;

 protected:
  ~Polled() = default;
};

}  // namespace ratel::redis
