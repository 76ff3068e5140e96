// One operation on its way to the server and back.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "storage/storage.hpp"

namespace ratel::redis {

using Clock = std::chrono::steady_clock;

class Server;
struct Call;
using CallPtr = std::shared_ptr<Call>;

struct Call {
  enum class Kind : uint8_t {
    kDecide,
    kForget,
    kPublish,  ///< writes down what a fingerprint stands for; nobody waits for it
    kLookUp,   ///< asks what fingerprints stand for, for another call
  };

  Kind kind = Kind::kDecide;
  Operation* operation = nullptr;  ///< nullptr once it has ended: its waiter is gone, a reply may still come
  Completion* done = nullptr;
  Clock::time_point deadline;
  std::string body;  ///< kDecide: the script's keys and terms, as arguments; else the whole command
  size_t keys = 0;   ///< so many, and they take so many bytes
  size_t keys_size = 0;
  size_t terms = 0;              ///< so many
  bool plain = false;            ///< may share a call of the script
  bool repeatable = false;       ///< it has an id: to carry it out twice is to carry it out once
  bool repeated = false;         ///< and was sent again
  bool script_reloaded = false;  ///< a missing script is loaded once
  bool looked_up = false;        ///< the shared hash was asked what a fingerprint stands for
  uint8_t conversions = 0;
  std::string stale_reply;  ///< kept while that is asked
  CallPtr asker;            ///< kLookUp: the call that waits for it

  uint16_t slot = 0;         ///< in a cluster: where its keys lie
  uint8_t hops = 0;          ///< in a cluster: how often it was sent on
  bool asking = false;       ///< in a cluster: to a server that is just taking the slot over
  bool is_probe = false;     ///< the one call that its server's breaker has let through
  Server* server = nullptr;  ///< that owes the answer; nullptr while none does

  bool decides() const noexcept { return kind == Kind::kDecide || kind == Kind::kForget; }
  bool ended() const noexcept {
    if (kind == Kind::kPublish) return false;
    return asker != nullptr ? asker->ended() : operation == nullptr;
  }
  /// The I/O thread only. The waiter may be gone when this returns.
  void End(Status status) noexcept {
    if (kind == Kind::kPublish || ended()) return;
    if (asker != nullptr) return asker->End(status);
    operation = nullptr;
    server = nullptr;
    std::exchange(done, nullptr)->Finish(status);
  }
};

}  // namespace ratel::redis
