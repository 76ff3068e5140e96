// The topology of a master that sentinels watch over: they are asked in turn who it is, and it is asked whether it is (ROLE, when a connection is made).
//
// They are asked at the start, now and then, and when the master is lost, says that it is none, or misses its replicas, until one serves. A sentinel that has answered stays
// the first to be asked, unless the master that it names does not serve.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/scout.hpp"
#include "storage/redis/server.hpp"
#include "storage/redis/topology.hpp"

namespace ratel::redis {

/// What a sentinel is asked, [host, port] as it answers (both as text), and what is said when it does not.
std::string AskForMaster(std::string_view name);
std::optional<Place> ReadMaster(const redisReply& reply);
std::string UnknownMaster(std::string_view name);

class Sentinel final : public Topology, private Scout::Client {
 public:
  explicit Sentinel(Surroundings& surroundings);

  bool Accepts(Clock::time_point now) const noexcept override;
  void Dispatch(const CallPtr& call) override;
  bool Redirect(const CallPtr& call, std::string_view error, const Place& from) override;
  void Suspect(const Place& server) override;
  void Tick(Clock::time_point now) override;
  Clock::time_point NextTick(Clock::time_point now) const noexcept override;
  void Each(const std::function<void(Polled&)>& visit) override;
  void DropAll(const std::string& why) override;
  void Close(Status status) noexcept override;

 private:
  bool OnFound(const redisReply& reply, const Place& asked, std::string& fault) override;
  void OnNobody(const std::string& why) override;
  void Report(ratel::Report level, std::string text);

  Surroundings& around_;
  Scout scout_;
  bool in_vain_ = false;          ///< nobody could tell the master
  bool misses_replicas_ = false;  ///< the master has refused to write since somebody was asked
  std::unique_ptr<Server> master_;
  std::vector<std::unique_ptr<Server>> former_;  ///< until what was sent to them has ended
  std::deque<CallPtr> waiting_;                  ///< for the first master
  std::string told_;
};

}  // namespace ratel::redis
