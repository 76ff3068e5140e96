// Answers on their way to whoever drains them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>

#include "core/birthplace.hpp"
#include "handle.hpp"
#include "ratel/rl.h"

namespace ratel::capi {

class CompletionQueue;

/// A question that has a place in a queue, and later its answer. Keeps the queue.
struct QueuedAnswer {
  std::shared_ptr<CompletionQueue> queue;
  uint64_t tag = 0;
  rl_decision decision = RL_DECISION_INIT;
  QueuedAnswer* next = nullptr;
};

/// Any threads. Outlives its handle until the last question is answered.
class CompletionQueue {
 public:
  CompletionQueue(uint32_t capacity, rl_wake wake, void* user) noexcept
      : capacity_(capacity), wake_(wake), user_(user) {}
  ~CompletionQueue() { Free(first_); }
  CompletionQueue(const CompletionQueue&) = delete;
  CompletionQueue& operator=(const CompletionQueue&) = delete;

  /// A place for one more question: RL_OK, RL_E_STATE when there is none, RL_E_CANCELLED after Shutdown.
  rl_status Reserve() noexcept;
  /// Gives the place of a question back that was not put.
  void Release() noexcept;
  /// Takes over an answer whose place was reserved.
  static void Arrive(std::unique_ptr<QueuedAnswer> answer) noexcept;
  /// Takes up to `most` answers as a list for Free; nothing when the time is over. RL_E_CANCELLED: there will be no more.
  rl_status Take(uint32_t most, uint32_t timeout_ms, QueuedAnswer*& out);
  void Shutdown() noexcept;
  /// Whether this is the copy in a child of fork, in which threads of the parent's may wait.
  bool IsForked() const noexcept { return birthplace_.IsForked(); }
  /// Nobody drains any more; no wake runs once this has returned.
  void Abandon() noexcept;

  static void Free(QueuedAnswer* list) noexcept;

 private:
  void Add(QueuedAnswer* answer) noexcept;

  const Birthplace birthplace_;
  const uint32_t capacity_;
  const rl_wake wake_;
  void* const user_;
  std::mutex mutex_;
  std::condition_variable changed_;
  QueuedAnswer* first_ = nullptr;  ///< answers that wait, in the order in which they came
  QueuedAnswer** end_ = &first_;
  uint64_t open_ = 0;  ///< asked and not drained
  uint32_t draining_ = 0;
  uint32_t waking_ = 0;
  bool shut_ = false;
  bool abandoned_ = false;
};

}  // namespace ratel::capi

/// Any threads: `queue` is set before anybody else sees the handle.
struct rl_completion_queue {
  static constexpr uint64_t kMagic = ratel::capi::kQueueMagic;
  ratel::capi::Magic magic{kMagic};
  std::shared_ptr<ratel::capi::CompletionQueue> queue;
};
