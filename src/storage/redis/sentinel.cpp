#include "storage/redis/sentinel.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

#include "storage/redis/command.hpp"

namespace ratel::redis {
namespace {

constexpr std::chrono::seconds kPeriod{10};

}  // namespace

std::string AskForMaster(std::string_view name) { return MakeCommand({"SENTINEL", "GET-MASTER-ADDR-BY-NAME", name}); }

std::string UnknownMaster(std::string_view name) { return "it knows no master \"" + std::string(name) + "\""; }

std::optional<Place> ReadMaster(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != 2) return std::nullopt;
  Place place;
  place.host = TextOf(*reply.element[0]);
  const std::string_view port = TextOf(*reply.element[1]);
  const auto [end, fault] = std::from_chars(port.data(), port.data() + port.size(), place.port);
  if (fault != std::errc() || end != port.data() + port.size() || place.port == 0 || place.host.empty())
    return std::nullopt;
  return place;
}

Sentinel::Sentinel(Surroundings& surroundings)
    : around_(surroundings),
      scout_(surroundings, *this, {surroundings.options.sentinel_user, surroundings.options.sentinel_password},
             AskForMaster(surroundings.options.master), kPeriod) {}

bool Sentinel::Accepts(Clock::time_point now) const noexcept {
  return master_ == nullptr ? !in_vain_ : master_->Accepts(now);
}

void Sentinel::Dispatch(const CallPtr& call) {
  if (call->ended()) return;
  if (master_ != nullptr) return master_->Send(call);
  if (in_vain_) return call->End(Status::kStore);
  waiting_.push_back(call);
}

bool Sentinel::Redirect(const CallPtr&, std::string_view error, const Place& from) {
  // It takes itself for the master, but may be cut off and replaced, and who names it may be cut off with it.
  if (master_ != nullptr && master_->place() == from && error.find("NOREPLICAS") != std::string_view::npos) {
    misses_replicas_ = true;
    scout_.Wake();
  }
  return false;
}

void Sentinel::Suspect(const Place& server) {
  if (master_ != nullptr && master_->place() == server) scout_.Wake();
}

bool Sentinel::OnFound(const redisReply& reply, const Place& asked, std::string& fault) {
  const auto place = ReadMaster(reply);
  if (!place) {
    fault = UnknownMaster(around_.options.master);
    return false;
  }
  in_vain_ = false;
  const bool serves = !std::exchange(misses_replicas_, false);
  if (master_ != nullptr && master_->place() == *place) {
    if (!serves || !master_->Accepts(Clock::now())) scout_.Distrust(asked);
    return true;
  }
  if (master_ != nullptr) former_.push_back(std::move(master_));
  master_ = std::make_unique<Server>(around_, *place);
  Report(ratel::Report::kInfo, Shown(around_.options) + ": the master is " + Shown(*place));
  for (; !waiting_.empty(); waiting_.pop_front()) Dispatch(waiting_.front());
  return true;
}

void Sentinel::OnNobody(const std::string& why) {
  in_vain_ = true;
  Report(ratel::Report::kWarning, Shown(around_.options) + ": no sentinel tells the master; " + why);
  for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()->End(Status::kStore);
}

void Sentinel::Report(ratel::Report level, std::string text) {
  if (text == told_) return;
  told_ = std::move(text);
  around_.report(level, told_);
}

void Sentinel::Tick(Clock::time_point now) {
  if (master_ != nullptr) master_->Tick();
  if (master_ != nullptr && !master_->Accepts(now)) scout_.Wake();
  std::erase_if(former_, [](const auto& server) { return server->idle(); });
}

Clock::time_point Sentinel::NextTick(Clock::time_point now) const noexcept {
  return master_ == nullptr ? Clock::time_point::max() : master_->NextChange(now);
}

void Sentinel::Each(const std::function<void(Polled&)>& visit) {
  visit(scout_);
  if (master_ != nullptr) master_->Each(visit);
  for (const auto& server : former_) server->Each(visit);
}

void Sentinel::DropAll(const std::string& why) {
  if (master_ != nullptr) master_->Drop(why);
}

void Sentinel::Close(Status status) noexcept {
  if (master_ != nullptr) master_->Close(status);
  for (const auto& server : former_) server->Close(status);
  for (; !waiting_.empty(); waiting_.pop_front()) waiting_.front()->End(status);
}

}  // namespace ratel::redis
