// The servers behind a URL, and which of them a call goes to. The I/O thread only.
#pragma once

#include <functional>
#include <memory>

#include "storage/redis/polled.hpp"
#include "storage/redis/router.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

class Topology : public Router {
 public:
  virtual ~Topology() = default;
  /// Whether a call has a chance at all.
  virtual bool Accepts(Clock::time_point now) const noexcept = 0;
  virtual void Tick(Clock::time_point now) = 0;
  /// When Tick or Accepts has something new at the latest, but for what `now` has already brought.
  virtual Clock::time_point NextTick(Clock::time_point now) const noexcept = 0;
  virtual void Each(const std::function<void(Polled&)>& visit) = 0;
  /// Drops every connection; new ones are made.
  virtual void DropAll(const std::string& why) = 0;
  /// Ends all calls.
  virtual void Close(Status status) noexcept = 0;
};

/// As the options say: one server, a cluster, or whoever is master under a name.
std::unique_ptr<Topology> MakeTopology(Surroundings& surroundings);

}  // namespace ratel::redis
