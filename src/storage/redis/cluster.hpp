// The topology of a cluster: a call goes to the master that has its keys' slot.
//
// The map of slots is asked for at the start, once in a while, when a server says that a slot has moved, and, until all is well again, when one
// fails. A call goes where the map says; what a server answers in place of a decision is followed:
//
//   MOVED       the map is corrected, and the call sent to the node that is named
//   ASK         the call is sent to the node that is named, the map stays
//   TRYAGAIN    the call is sent again after a short pause
//   CLUSTERDOWN the call ends, and the map is asked for
//
// None of them was carried out, so nothing is spent twice. Each master has a server, and so connections and a breaker, of its own.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/redis/scout.hpp"
#include "storage/redis/server.hpp"
#include "storage/redis/slot_map.hpp"
#include "storage/redis/topology.hpp"

namespace ratel::redis {

class Cluster final : public Topology, private Scout::Client {
 public:
  explicit Cluster(Surroundings& surroundings);

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
  struct Later {
    Clock::time_point at;
    CallPtr call;
  };

  bool OnFound(const redisReply& reply, const Place& asked, std::string& fault) override;
  void OnNobody(const std::string& why) override;
  Server& ServerAt(const Place& place);
  Server* ServerOf(uint16_t slot);
  void SendOn(const CallPtr& call, const Place& place, bool asking);
  void CloseWhatIsLeft(Clock::time_point now);
  void Report(ratel::Report level, std::string text);

  Surroundings& around_;
  Scout scout_;
  std::optional<SlotMap> map_;
  bool in_vain_ = false;                              ///< nobody could tell the map
  std::map<Place, std::unique_ptr<Server>> servers_;  ///< those that were needed
  std::vector<Server*> of_master_;                    ///< by the map's index; nullptr = not needed yet
  std::deque<CallPtr> waiting_;                       ///< for the first map
  std::deque<Later> later_;                           ///< after TRYAGAIN
  std::string told_;
};

}  // namespace ratel::redis
