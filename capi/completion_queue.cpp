#include "completion_queue.hpp"

#include <utility>

#include "ask.hpp"

using namespace ratel::capi;
using ratel::Decision;
using ratel::Registry;
using ratel::Request;
using ratel::Status;

namespace ratel::capi {

rl_status CompletionQueue::Reserve() noexcept {
  const std::lock_guard lock(mutex_);
  if (shut_) return RL_E_CANCELLED;
  if (capacity_ != 0 && open_ >= capacity_) return RL_E_STATE;
  ++open_;
  return RL_OK;
}

void CompletionQueue::Release() noexcept {
  const std::lock_guard lock(mutex_);
  if (--open_ == 0 && shut_) changed_.notify_all();
}

void CompletionQueue::Arrive(std::unique_ptr<QueuedAnswer> answer) noexcept {
  const std::shared_ptr<CompletionQueue> queue = std::move(answer->queue);
  queue->Add(answer.release());
}

void CompletionQueue::Add(QueuedAnswer* answer) noexcept {
  std::unique_lock lock(mutex_);
  if (abandoned_) {
    lock.unlock();
    Free(answer);
    return;
  }
  const bool was_empty = first_ == nullptr;
  *end_ = answer;
  end_ = &answer->next;
  if (draining_ != 0) changed_.notify_one();
  if (!was_empty || wake_ == nullptr) return;
  ++waking_;
  lock.unlock();
  wake_(user_);
  lock.lock();
  if (--waking_ == 0 && abandoned_) changed_.notify_all();
}

rl_status CompletionQueue::Take(uint32_t most, uint32_t timeout_ms, QueuedAnswer*& out) {
  const auto ready = [this] { return first_ != nullptr || (shut_ && open_ == 0); };
  std::unique_lock lock(mutex_);
  ++draining_;
  if (timeout_ms == RL_WAIT_FOREVER) {
    changed_.wait(lock, ready);
  } else if (timeout_ms != 0) {
    changed_.wait_for(lock, std::chrono::milliseconds(timeout_ms), ready);
  }
  --draining_;
  out = first_;
  if (out == nullptr) return shut_ && open_ == 0 ? RL_E_CANCELLED : RL_OK;
  QueuedAnswer** end = &first_;
  for (uint32_t taken = 0; taken < most && *end != nullptr; ++taken) {
    end = &(*end)->next;
    --open_;
  }
  first_ = std::exchange(*end, nullptr);
  if (first_ == nullptr) end_ = &first_;
  // Others may have been told of the same answers, or wait for the last to be gone.
  if (draining_ != 0 && first_ != nullptr) changed_.notify_one();
  if (shut_ && open_ == 0) changed_.notify_all();
  return RL_OK;
}

void CompletionQueue::Shutdown() noexcept {
  const std::lock_guard lock(mutex_);
  shut_ = true;
  changed_.notify_all();
}

void CompletionQueue::Abandon() noexcept {
  std::unique_lock lock(mutex_);
  shut_ = abandoned_ = true;
  changed_.wait(lock, [this] { return waking_ == 0; });
}

void CompletionQueue::Free(QueuedAnswer* list) noexcept {
  while (list != nullptr) delete std::exchange(list, list->next);
}

namespace {

/// A place in a queue that is given back unless the question was put.
class Place {
 public:
  explicit Place(CompletionQueue& queue) noexcept : queue_(queue) {}
  ~Place() {
    if (!used_) queue_.Release();
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  void Use() noexcept { used_ = true; }

 private:
  CompletionQueue& queue_;
  bool used_ = false;
};

void Deliver(void* self, const Decision& decision) {
  std::unique_ptr<QueuedAnswer> answer(static_cast<QueuedAnswer*>(self));
  answer->decision = decision.status == Status::kOk ? ToC(decision) : NoAnswer(ToC(decision.status));
  CompletionQueue::Arrive(std::move(answer));
}

rl_status CheckQueue(const rl_completion_queue* queue, const ErrorOut& error) noexcept {
  if (const rl_status status = CheckHandle(queue, "queue", error)) return status;
  // A thread of the parent's may have held its lock.
  if (!queue->queue->IsForked()) return RL_OK;
  return error.Fail(RL_E_STATE, "the queue was made before this process was forked: make one here");
}

rl_status Reserve(CompletionQueue& queue, const ErrorOut& error) noexcept {
  const rl_status status = queue.Reserve();
  if (status == RL_E_STATE) {
    return error.Fail(status, "the queue is full: as many questions as it may hold are asked and not drained");
  }
  return status == RL_OK ? status : error.Fail(status, "the queue is shut down");
}

rl_status AllowQueued(rl_registry* registry, const rl_request* request, const std::shared_ptr<CompletionQueue>& queue,
                      uint64_t tag, const ErrorOut& error) {
  auto answer = std::make_unique<QueuedAnswer>();
  answer->tag = tag;
  answer->queue = queue;
  if (const rl_status status = Reserve(*queue, error)) return status;
  Place place(*queue);
  const rl_status status = AskEngine(registry, request, error, [&](Registry& engine, const Request& question) {
    return engine.AllowAsync(question, Deliver, answer.get());
  });
  if (status != RL_OK) return status;
  static_cast<void>(answer.release());
  place.Use();
  return RL_OK;
}

rl_status CheckDrain(const rl_completion_queue* queue, const uint64_t* tags, const rl_decision* out, uint32_t capacity,
                     const uint32_t* count, const ErrorOut& error) noexcept {
  if (const rl_status status = CheckQueue(queue, error)) return status;
  if (count == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "count is NULL");
  if (capacity == 0) return error.Fail(RL_E_INVALID_ARGUMENT, "capacity is 0");
  if (tags == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "tags is NULL");
  return CheckOutput(out, "out", error);
}

void GiveAll(QueuedAnswer* list, uint64_t* tags, rl_decision* out, uint32_t* count) noexcept {
  const uint32_t stride = out->struct_size;
  for (const QueuedAnswer* answer = list; answer != nullptr; answer = answer->next) {
    tags[*count] = answer->tag;
    Give(answer->decision, ElementAt(out, stride, *count), stride);
    ++*count;
  }
  CompletionQueue::Free(list);
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_completion_queue_create(uint32_t capacity, rl_wake wake, void* user, rl_completion_queue** out,
                                     rl_error* err) {
  if (out != nullptr) *out = nullptr;
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (out == nullptr) return error.Fail(RL_E_INVALID_ARGUMENT, "out is NULL");
    auto handle = std::make_unique<rl_completion_queue>();
    handle->queue = std::make_shared<CompletionQueue>(capacity, wake, user);
    *out = handle.release();
    return RL_OK;
  });
}

void rl_completion_queue_destroy(rl_completion_queue* queue) {
  if (!IsLive(queue)) return;
  if (queue->queue->IsForked()) return ratel::LeaveToTheProcess(queue);
  queue->queue->Abandon();
  delete queue;
}

rl_status rl_completion_queue_shutdown(rl_completion_queue* queue) {
  return Guard(nullptr, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckQueue(queue, error)) return status;
    queue->queue->Shutdown();
    return RL_OK;
  });
}

rl_status rl_allow_queued(rl_registry* registry, const rl_request* request, rl_completion_queue* queue, uint64_t tag,
                          rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckQueue(queue, error)) return status;
    return AllowQueued(registry, request, queue->queue, tag, error);
  });
}

rl_status rl_completion_queue_drain(rl_completion_queue* queue, uint64_t* tags, rl_decision* out, uint32_t capacity,
                                    uint32_t timeout_ms, uint32_t* count, rl_error* err) {
  if (count != nullptr) *count = 0;
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckDrain(queue, tags, out, capacity, count, error)) return status;
    QueuedAnswer* answers = nullptr;
    if (const rl_status status = queue->queue->Take(capacity, timeout_ms, answers)) {
      return error.Fail(status, "the queue is shut down, and every answer has been taken");
    }
    if (answers != nullptr) GiveAll(answers, tags, out, count);
    return RL_OK;
  });
}
