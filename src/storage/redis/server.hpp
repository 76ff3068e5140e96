// One server with its connections. The I/O thread only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "storage/redis/breaker.hpp"
#include "storage/redis/connection.hpp"
#include "storage/redis/place.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

class Server {
 public:
  Server(Surroundings& surroundings, Place place);

  const Place& place() const noexcept { return place_; }
  /// Whether a call has a chance.
  bool Accepts(Clock::time_point now) const noexcept;
  /// A turn of the loop begins. What is sent in one turn goes out on one connection, so that it arrives in order.
  void Tick() noexcept { of_this_turn_ = nullptr; }
  /// Sends a call, or ends it when it has no chance.
  void Send(const CallPtr& call);
  /// The deadline of a call that is this server's has passed.
  void Missed(const Call& call);
  /// Nothing is under way.
  bool idle() const noexcept;
  Clock::time_point last_used() const noexcept { return last_used_; }
  /// When Accepts may change by itself.
  Clock::time_point NextChange(Clock::time_point now) const noexcept { return breaker_.NextChange(now); }
  void Each(const std::function<void(Polled&)>& visit);
  void Drop(const std::string& why);
  void Close(Status status) noexcept;

 private:
  Connection* Route() noexcept;

  Surroundings& around_;
  const Place place_;
  Breaker breaker_;
  std::vector<std::unique_ptr<Connection>> connections_;
  size_t next_ = 0;
  Connection* of_this_turn_ = nullptr;
  Clock::time_point last_used_ = Clock::now();
};

}  // namespace ratel::redis
