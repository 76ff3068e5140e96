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

struct Call {
  Operation* operation = nullptr;  ///< nullptr once it has ended: its waiter is gone, a reply may still come
  Completion* done = nullptr;
  Clock::time_point deadline;
  std::string body;  ///< the script's arguments; of kForget the whole command
  size_t arguments = 0;
  bool is_forget = false;
  bool script_reloaded = false;  ///< a missing script is loaded once
  bool looked_up = false;        ///< the shared hash was asked what a fingerprint stands for
  uint8_t conversions = 0;
  std::string stale_reply;  ///< kept while that is asked

  bool ended() const noexcept { return operation == nullptr; }
  /// The I/O thread only. The waiter may be gone when this returns.
  void End(Status status) noexcept {
    if (ended()) return;
    operation = nullptr;
    std::exchange(done, nullptr)->Finish(status);
  }
};

using CallPtr = std::shared_ptr<Call>;

}  // namespace ratel::redis
