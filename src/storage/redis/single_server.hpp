// The topology of one server.
#pragma once

#include <string>

#include "storage/redis/server.hpp"
#include "storage/redis/topology.hpp"

namespace ratel::redis {

class SingleServer final : public Topology {
 public:
  explicit SingleServer(Surroundings& surroundings) : server_(surroundings, surroundings.options.places.front()) {}

  bool Accepts(Clock::time_point now) const noexcept override { return server_.Accepts(now); }
  void Dispatch(const CallPtr& call) override { server_.Send(call); }
  bool Redirect(const CallPtr&, std::string_view, const Place&) override { return false; }
  void Suspect(const Place&) override {}
  void Tick(Clock::time_point) override { server_.Tick(); }
  Clock::time_point NextTick(Clock::time_point now) const noexcept override { return server_.NextChange(now); }
  void Each(const std::function<void(Polled&)>& visit) override { server_.Each(visit); }
  void DropAll(const std::string& why) override { server_.Drop(why); }
  void Close(Status status) noexcept override { server_.Close(status); }

 private:
  Server server_;
};

}  // namespace ratel::redis
