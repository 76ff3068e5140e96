// One connection to one server: set up, kept up, and used for many calls at once whose replies come in order.
//
//            retry_at              address            socket, AUTH, SELECT, SCRIPT LOAD
//   waiting ----------> resolving ---------> connecting ------------------------------> ready
//      ^                    |                    |                                       |
//      '--------------------'--------------------'--------- any failure ----------------'
//
// A call whose deadline passes ends at once and leaves its place in the queue, so that the late reply is matched to it and dropped. A call that was
// written and whose reply is lost ends with Status::kStore: it is never sent again, as it may have been carried out. One that has an id is: once, when the
// connection is back before its deadline. Calls of a turn share script calls where they can (batch.hpp). The I/O thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/batch.hpp"
#include "storage/redis/breaker.hpp"
#include "storage/redis/call.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/place.hpp"
#include "storage/redis/polled.hpp"
#include "storage/redis/reply_reader.hpp"
#include "storage/redis/resolver.hpp"
#include "storage/redis/stream.hpp"
#include "storage/redis/surroundings.hpp"

namespace ratel::redis {

class Connection final : public Polled {
 public:
  Connection(Surroundings& surroundings, const Place& place, Breaker& breaker);

  /// Whether a call has a chance: the connection is up, or it is being made for the first time. Everything else fails at once.
  bool accepts() const noexcept { return state_ == State::kReady || failures_ == 0; }
  bool ready() const noexcept { return state_ == State::kReady; }
  /// Nothing is under way: it can be closed without anybody noticing.
  bool idle() const noexcept {
    return awaited_.empty() && pending_.empty() && gathered_.empty() && state_ != State::kResolving;
  }
  /// Takes a call; it ends by its reply, by a failure of the connection, or from outside at its deadline.
  void Send(const CallPtr& call);
  void Tick(Clock::time_point now) override;
  void Flush() override;
  Clock::time_point NextTick() const noexcept override;
  pollfd Wanted() const noexcept override;
  void OnEvents(short events) override;
  /// Ends all calls and the connection; the next attempt is made after a while.
  void Drop(std::string why);
  /// Ends all calls.
  void Close(Status status) noexcept;

 private:
  std::deque<CallPtr> TakeRepeatable();
  enum class State : uint8_t { kWaiting, kResolving, kConnecting, kReady };
  enum class Kind : uint8_t { kAuth, kPing, kSelect, kRole, kScript, kScriptAgain, kAsking, kCall, kBatch };
  struct Awaited {
    Kind kind;
    CallPtr call;  ///< kCall
    Clock::time_point since;
    std::vector<CallPtr> batch{};  ///< kBatch
    bool script_reloaded = false;  ///< likewise
  };

  void Begin();
  void Connect();
  void SetUp();
  void LoadScript(std::string_view script, Kind kind);
  void ReloadScripts();
  void Disconnect();
  void Await(Kind kind, CallPtr call = nullptr);
  void Write(const CallPtr& call);
  void WriteAlone(const CallPtr& call);
  void WriteBatch(std::vector<CallPtr> calls, bool script_reloaded);
  void WriteGathered();
  void SetUpDone(std::string_view script);
  void OnReply(const redisReply& reply);
  void OnSetUpReply(Kind kind, const redisReply& reply);
  void OnCallReply(const CallPtr& call, const redisReply& reply);
  void OnCallError(const CallPtr& call, std::string_view text);
  void OnBatchReply(Awaited batch, const redisReply& reply);
  void OnBatchError(Awaited batch, std::string_view text);
  void OnAnswerError(const CallPtr& call, std::string_view text);
  void OnDecision(const CallPtr& call, std::string_view bytes);
  void OnLookUp(const CallPtr& call, const redisReply& reply);
  void Convert(const CallPtr& call, const Reply& reply);
  const Numbers* NumbersOf(const Charge& charge, uint32_t fingerprint) const;
  void Report(ratel::Report level, std::string text);
  void ReportErrorReply(std::string_view text);

  Surroundings& around_;
  const Place place_;
  const std::string shown_;  ///< for messages
  Breaker& breaker_;
  State state_ = State::kWaiting;
  Clock::time_point retry_at_{};
  Clock::time_point attempt_since_{};
  unsigned failures_ = 0;
  std::string told_;  ///< the last message, not to be repeated at once
  Clock::time_point told_at_{};
  std::map<std::string, Clock::time_point> told_replies_;  ///< of the last seconds

  Resolver resolver_;
  std::vector<Endpoint> endpoints_;
  size_t next_endpoint_ = 0;
  std::unique_ptr<Stream> stream_;
  std::optional<ReplyReader> reader_;
  std::string in_;
  std::string script_;  ///< its SHA-1, as the server says it
  std::deque<Awaited> awaited_;
  size_t loading_ = 0;           ///< so many of them are kScriptAgain
  std::deque<CallPtr> pending_;  ///< not yet written: the connection is being made
  Gathered gathered_;            ///< not yet written: the turn has not ended
};

}  // namespace ratel::redis
