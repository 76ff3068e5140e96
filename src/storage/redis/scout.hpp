// Asks servers in turn where things are: one at a time, now and then, sooner when something is amiss, and never in a storm.
//
//   Wake ... Wake -> one round: each candidate in turn until one has an answer that is of use -> the next round at the earliest after a pause
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "storage/redis/enquiry.hpp"
#include "storage/redis/polled.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

class Scout final : public Polled {
 public:
  class Client {
   public:
    /// False: it is of no use, ask the next; `fault` says why.
    virtual bool OnFound(const redisReply& reply, const Place& asked, std::string& fault) = 0;
    /// None had an answer. `why` is the last one's reason.
    virtual void OnNobody(const std::string& why) = 0;

   protected:
    ~Client() = default;
  };

  /// `command` as bytes. Asks for the first time at once, later every `period`.
  Scout(Surroundings& surroundings, Client& client, Login login, std::string command, std::chrono::seconds period);

  /// Whom to ask. Those that are known keep their order, and come first.
  void SetCandidates(const std::vector<Place>& candidates);
  /// To be asked last.
  void Distrust(const Place& place);
  /// Ask soon.
  void Wake();

  void Tick(Clock::time_point now) override;
  void Flush() override { enquiry_.Flush(); }
  Clock::time_point NextTick() const noexcept override;
  pollfd Wanted() const noexcept override { return enquiry_.Wanted(); }
  void OnEvents(short events) override { enquiry_.OnEvents(events); }

 private:
  void Ask();
  void BeginRound(Clock::time_point now);
  void EndRound(Clock::time_point now, bool found);

  Surroundings& around_;
  Client& client_;
  const Login login_;
  const std::string command_;
  const std::chrono::seconds period_;
  Enquiry enquiry_;
  std::vector<Place> candidates_;  ///< those to be asked next come first
  Place asking_;
  size_t asked_ = 0;
  bool in_round_ = false;
  bool again_ = false;  ///< woken while an answer was on its way, which may be older than the cause
  Clock::time_point due_{};
  Clock::time_point earliest_{};  ///< the next round
  Clock::time_point began_{};
  unsigned rounds_ = 0;  ///< lately
  unsigned in_vain_ = 0;
};

}  // namespace ratel::redis
