#include "storage/redis/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "storage/redis/command.hpp"

namespace ratel::redis {
namespace {

constexpr std::chrono::seconds kPeriod{30};
constexpr std::chrono::seconds kUnused{10};
constexpr std::chrono::milliseconds kTryAgain{2};
constexpr uint8_t kMostHops = 5;

}  // namespace

Cluster::Cluster(Surroundings& surroundings)
    : around_(surroundings),
      scout_(surroundings, *this, {surroundings.options.user, surroundings.options.password},
             MakeCommand({"CLUSTER", "SLOTS"}), kPeriod) {}

// ---- Calls ------------------------------------------------------------------------------------------------------------------------

bool Cluster::Accepts(Clock::time_point now) const noexcept {
  if (!map_) return !in_vain_;
  return std::ranges::any_of(of_master_,
                             [&](const Server* server) { return server == nullptr || server->Accepts(now); });
}

void Cluster::Dispatch(const CallPtr& call) {
  if (call->ended()) return;
  call->asking = false;
  if (!map_) {
    if (in_vain_) return call->End(Status::kStore);
    waiting_.push_back(call);
    return;
  }
  if (Server* server = ServerOf(call->slot)) return server->Send(call);
  scout_.Wake();
  call->End(Status::kStore);
}

bool Cluster::Redirect(const CallPtr& call, std::string_view error, const Place& from) {
  if (error.starts_with("TRYAGAIN")) {
    // Redis 6 says ASK and TRYAGAIN in turn while a part of the keys has moved.
    call->hops = 0;
    later_.push_back({Clock::now() + kTryAgain, call});
    return true;
  }
  if (error.starts_with("CLUSTERDOWN")) {
    scout_.Distrust(from);
    scout_.Wake();
    return false;
  }
  const auto to = ReadRedirection(error, from);
  if (!to) return false;
  if (to->moved) {
    if (map_) {
      map_->Move(to->slot, to->place);
      of_master_.resize(map_->masters().size());
    }
    scout_.Wake();
  }
  if (++call->hops > kMostHops) return false;
  SendOn(call, to->place, !to->moved);
  return true;
}

void Cluster::SendOn(const CallPtr& call, const Place& place, bool asking) {
  call->asking = asking;
  ServerAt(place).Send(call);
}

Server& Cluster::ServerAt(const Place& place) {
  std::unique_ptr<Server>& server = servers_[place];
  if (server == nullptr) server = std::make_unique<Server>(around_, place);
  return *server;
}

Server* Cluster::ServerOf(uint16_t slot) {
  const uint16_t owner = map_->OwnerOf(slot);
  if (owner == SlotMap::kNobody) return nullptr;
  Server*& server = of_master_[owner];
  if (server == nullptr) server = &ServerAt(map_->masters()[owner]);
  return server;
}

// ---- The map ----------------------------------------------------------------------------------------------------------------------

void Cluster::Suspect(const Place& server) {
  if (map_ && !map_->HasMaster(server)) return;
  scout_.Distrust(server);
  scout_.Wake();
}

bool Cluster::OnFound(const redisReply& reply, const Place& asked, std::string& fault) {
  auto map = SlotMap::Read(reply, asked);
  if (!map) {
    fault = "CLUSTER SLOTS names no master";
    return false;
  }
  map_ = std::move(map);
  in_vain_ = false;
  of_master_.clear();
  for (const Place& place : map_->masters()) {
    const auto found = servers_.find(place);
    of_master_.push_back(found == servers_.end() ? nullptr : found->second.get());
  }
  // One after the other is asked, as any of them may have lost touch. What the URL says stays among them, for the day on which all others are gone.
  std::vector<Place> nodes = map_->Nodes();
  nodes.insert(nodes.end(), around_.options.places.begin(), around_.options.places.end());
  scout_.SetCandidates(nodes);
  scout_.Distrust(asked);
  std::string text = Shown(around_.options) + ": masters";
  std::vector<Place> masters = map_->masters();
  std::ranges::sort(masters);
  for (const Place& place : masters) text += " " + Shown(place);
  Report(ratel::Report::kInfo, std::move(text));
  for (; !waiting_.empty(); waiting_.pop_front()) Dispatch(waiting_.front());
  return true;
}

void Cluster::OnNobody(const std::string& why) {
  in_vain_ = true;
  Report(ratel::Report::kWarning, Shown(around_.options) + ": no node tells the slots; " + why);
  for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()->End(Status::kStore);
}

void Cluster::Report(ratel::Report level, std::string text) {
  if (text == told_) return;
  told_ = std::move(text);
  around_.report(level, told_);
}

// ---- The loop's turns -------------------------------------------------------------------------------------------------------------

void Cluster::Tick(Clock::time_point now) {
  for (const auto& [place, server] : servers_) server->Tick();
  for (; !later_.empty() && later_.front().at <= now; later_.pop_front()) Dispatch(later_.front().call);
  // Another node may have taken its slots over.
  if (std::ranges::any_of(of_master_, [&](const Server* server) { return server != nullptr && !server->Accepts(now); }))
    scout_.Wake();
  CloseWhatIsLeft(now);
}

/// Servers that are no masters (any more): when nothing is under way and nobody was sent there for a while.
void Cluster::CloseWhatIsLeft(Clock::time_point now) {
  if (!map_) return;
  std::erase_if(servers_, [&](const auto& entry) {
    const Server& server = *entry.second;
    return !map_->HasMaster(entry.first) && server.idle() && now - server.last_used() >= kUnused;
  });
}

Clock::time_point Cluster::NextTick(Clock::time_point now) const noexcept {
  auto next = later_.empty() ? Clock::time_point::max() : later_.front().at;
  for (const auto& [place, server] : servers_) next = std::min(next, server->NextChange(now));
  return next;
}

void Cluster::Each(const std::function<void(Polled&)>& visit) {
  visit(scout_);
  for (const auto& [place, server] : servers_) server->Each(visit);
}

void Cluster::DropAll(const std::string& why) {
  for (const auto& [place, server] : servers_) server->Drop(why);
}

void Cluster::Close(Status status) noexcept {
  for (const auto& [place, server] : servers_) server->Close(status);
  for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()->End(status);
  for (; !later_.empty(); later_.pop_front()) later_.front().call->End(status);
}

}  // namespace ratel::redis
