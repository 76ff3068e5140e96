#include "storage/redis/server.hpp"

#include <algorithm>
#include <utility>

namespace ratel::redis {

Server::Server(Surroundings& surroundings, Place place)
    : around_(surroundings), place_(std::move(place)), breaker_(surroundings, Shown(surroundings.options, place_)) {
  for (uint32_t i = 0; i < around_.options.connections; ++i)
    connections_.push_back(std::make_unique<Connection>(around_, place_, breaker_));
}

bool Server::Accepts(Clock::time_point now) const noexcept {
  return breaker_.Admits(now) &&
         std::ranges::any_of(connections_, [](const auto& connection) { return connection->accepts(); });
}

void Server::Send(const CallPtr& call) {
  if (call->ended()) return;
  const auto now = Clock::now();
  if (of_this_turn_ == nullptr || !of_this_turn_->accepts()) of_this_turn_ = Route();
  if (of_this_turn_ == nullptr || !breaker_.Take(*call, now)) return call->End(Status::kStore);
  last_used_ = now;
  call->server = this;
  of_this_turn_->Send(call);
}

void Server::Missed(const Call& call) { breaker_.Failed(Clock::now(), call.is_probe); }

bool Server::idle() const noexcept {
  return std::ranges::all_of(connections_, [](const auto& connection) { return connection->idle(); });
}

void Server::Each(const std::function<void(Polled&)>& visit) {
  for (const auto& connection : connections_) visit(*connection);
}

void Server::Drop(const std::string& why) {
  for (const auto& connection : connections_) connection->Drop(why);
}

void Server::Close(Status status) noexcept {
  for (const auto& connection : connections_) connection->Close(status);
}

/// The next connection in turn that is up, else one that is just being made; nullptr when none has a chance.
Connection* Server::Route() noexcept {
  Connection* second_best = nullptr;
  for (size_t i = 0; i < connections_.size(); ++i) {
    next_ = (next_ + 1) % connections_.size();
    Connection* connection = connections_[next_].get();
    if (!connection->accepts()) continue;
    if (connection->ready()) return connection;
    second_best = connection;
  }
  return second_best;
}

}  // namespace ratel::redis
