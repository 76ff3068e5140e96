// One question to one server on a connection of its own: connect, log in, ask, hang up. For what is asked seldom and must not wait behind decisions.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "storage/redis/place.hpp"
#include "storage/redis/polled.hpp"
#include "storage/redis/reply_reader.hpp"
#include "storage/redis/resolver.hpp"
#include "storage/redis/stream.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

struct Login {
  std::string user;      ///< empty = the default user
  std::string password;  ///< empty = none is asked for
};

class Enquiry final : public Polled {
 public:
  struct Result {
    ReplyPtr reply;     ///< null when there is none; `fault` says why
    std::string fault;  ///< also an error reply's text
  };

  explicit Enquiry(Surroundings& surroundings) : around_(surroundings) {}

  /// Begins; one that is under way is given up. It ends within a second. With several commands the last one's reply is the answer.
  void Begin(const Place& place, const Login& login, std::string_view command, size_t commands = 1);
  /// Gives it up.
  void End();
  bool busy() const noexcept { return state_ == State::kResolving || state_ == State::kTalking; }
  /// What has come of it, once.
  std::optional<Result> Take();

  void Tick(Clock::time_point now) override;
  void Flush() override;
  Clock::time_point NextTick() const noexcept override;
  pollfd Wanted() const noexcept override;
  void OnEvents(short events) override;

 private:
  enum class State : uint8_t { kIdle, kResolving, kTalking, kDone };

  void Connect();
  void OnReply(ReplyPtr reply);
  void Fail(std::string why);
  void Finish(Result result);

  Surroundings& around_;
  State state_ = State::kIdle;
  Place place_;
  std::string words_;  ///< the commands, as bytes
  size_t to_come_ = 0;
  Clock::time_point until_{};
  std::unique_ptr<Resolver> resolver_;
  std::vector<std::unique_ptr<Resolver>>
      given_up_;  ///< look-ups that nobody waits for any more, and that cannot be ended
  std::vector<Endpoint> endpoints_;
  size_t next_endpoint_ = 0;
  std::unique_ptr<Stream> stream_;
  std::optional<ReplyReader> reader_;
  std::string in_;
  Result result_;
};

}  // namespace ratel::redis
