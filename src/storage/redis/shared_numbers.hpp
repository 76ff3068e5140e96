// What fingerprints stand for, shared by all gateways through one hash on the server.
//
// Every gateway writes down its own when it connects and once a minute, so that one with other rules can convert the states it meets. It is one hash
// under one key, in a cluster as well: it is written once a minute and read once per key and change of rules, so that it lies on one node costs
// nothing, and nothing has to move along when slots do.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "algorithm/numbers.hpp"
#include "storage/redis/call.hpp"
#include "storage/redis/options.hpp"
#include "storage/redis/reply_reader.hpp"
#include "storage/redis/router.hpp"

namespace ratel::redis {

class SharedNumbers {
 public:
  explicit SharedNumbers(const Options& options);

  /// Says what the fingerprints of an operation stand for, each once in a while.
  void Publish(const Operation& operation, Router& router, Clock::time_point now);
  /// Says all of them again: the server may have lost them.
  void PublishAgain() noexcept { published_.clear(); }
  /// Asks for some, on behalf of a call.
  void LookUp(const CallPtr& asker, std::span<const uint32_t> fingerprints, Router& router);
  void Learn(const redisReply& reply);
  /// The numbers of other gateways, as far as they are known.
  const Numbers* Find(uint32_t fingerprint) const noexcept;

 private:
  CallPtr NewCall(Call::Kind kind) const;

  const std::string key_;
  const uint16_t slot_;
  std::unordered_map<uint32_t, Numbers> known_;
  std::unordered_set<uint32_t> published_;
  Clock::time_point again_at_{};
};

}  // namespace ratel::redis
