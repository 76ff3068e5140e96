// Calls that are carried out by one call of the script (batch.lua): plain ones that go to one server at one turn of the loop.
//
//   a turn   plain 1   plain 2   other 3   plain 4   other 5, on a key of 4   plain 6   the turn ends
//   sent                         3                   [1 2 4] 5                          [6]
//
// So one call may go ahead of another, but never of one that it has a key in common with.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "storage/redis/call.hpp"
#include "storage/redis/reply_reader.hpp"

namespace ratel::redis {

/// What waits for the end of a turn. The I/O thread only.
class Gathered {
 public:
  /// At most `most` calls share one of the script's.
  explicit Gathered(size_t most) noexcept : most_(most) {}

  /// Whether a call waits here; else it goes out by itself.
  bool Takes(const Call& call) const noexcept { return most_ > 1 && call.plain && !call.asking; }
  void Add(CallPtr call);
  bool empty() const noexcept { return calls_.empty(); }
  bool full() const noexcept;
  /// Whether a call has a key in common with what waits.
  bool Touches(const Call& call) const noexcept;
  /// All that waits and has not ended, in parts that may share a call: of one slot each, in the order in which they came. Nothing waits then.
  std::vector<std::vector<CallPtr>> Take();
  /// Ends all that waits.
  void Close(Status status) noexcept;

 private:
  const size_t most_;
  std::vector<CallPtr> calls_;
  std::vector<Hash128> keys_;  ///< theirs, close together: each call that goes out by itself looks through them
};

/// EVALSHA of batch.lua for some calls, at least one.
std::string MakeBatch(std::span<const CallPtr> calls);

/// What batch.lua has told, one for each call.
class BatchReply {
 public:
  /// Nothing when it is no reply of batch.lua to so many calls. Refers to `reply`.
  static std::optional<BatchReply> Read(const redisReply& reply, size_t calls) noexcept;

  /// An error in place of the i-th answer.
  const redisReply* Error(size_t i) const noexcept;
  /// The i-th answer as it would have come for a call alone.
  void PutAnswer(std::string& out, size_t i, const Call& call, bool server_time) const;

 private:
  BatchReply(const redisReply& reply, Micros now) noexcept : reply_(reply), now_(now) {}
  const redisReply& reply_;
  Micros now_;
};

}  // namespace ratel::redis
