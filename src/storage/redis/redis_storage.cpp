#include "storage/redis/redis_storage.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/birthplace.hpp"
#include "core/signals.hpp"
#include "storage/redis/command.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/server.hpp"
#include "storage/redis/slot.hpp"
#include "storage/redis/topology.hpp"

namespace ratel {
namespace redis {
namespace {

/// Waits for completions on the calling thread.
class Waiter final : public Completion {
 public:
  void Finish(Status status) noexcept override {
    const std::lock_guard lock(mutex_);
    status_ = status;
    done_ = true;
    // Told under the lock: whoever waits destroys this.
    ended_.notify_one();
  }
  Status Wait() {
    std::unique_lock lock(mutex_);
    ended_.wait(lock, [this] { return done_; });
    return status_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false;
  Status status_ = Status::kInternal;
};

/// Wakes a poll() from any thread.
class Bell {
 public:
  Bell() : fd_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  ~Bell() { close(fd_); }
  Bell(const Bell&) = delete;
  Bell& operator=(const Bell&) = delete;
  int fd() const noexcept { return fd_; }
  void Ring() const noexcept {
    const uint64_t one = 1;
    static_cast<void>(!write(fd_, &one, sizeof one));
  }
  void Quiet() const noexcept {
    uint64_t rings = 0;
    static_cast<void>(!read(fd_, &rings, sizeof rings));
  }

 private:
  int fd_;
};

/// Messages on their way to whoever is told, who may come later. Any threads.
class Messages {
 public:
  void TellTo(const Reporter& reporter) {
    std::vector<std::pair<Report, std::string>> kept;
    {
      const std::lock_guard lock(mutex_);
      reporter_ = std::make_shared<const Reporter>(reporter);
      kept.swap(kept_);
    }
    for (const auto& [level, text] : kept) Say(level, text);
  }
  void Say(Report level, const std::string& text) {
    std::shared_ptr<const Reporter> reporter;
    {
      const std::lock_guard lock(mutex_);
      reporter = reporter_;
      if (reporter == nullptr && kept_.size() < kMostKept) kept_.emplace_back(level, text);
    }
    if (reporter != nullptr) (*reporter)(level, text);
  }

 private:
  static constexpr size_t kMostKept = 16;
  std::mutex mutex_;
  std::shared_ptr<const Reporter> reporter_;
  std::vector<std::pair<Report, std::string>> kept_;
};

class RedisStorage final : public Storage {
 public:
  RedisStorage(const Options& options, std::shared_ptr<const TlsContext> tls)
      : around_{options, std::move(tls), [this] { bell_.Ring(); },
                [this](Report level, const std::string& text) { messages_.Say(level, text); }},
        topology_(MakeTopology(around_)) {
    around_.router = topology_.get();
    thread_ = std::thread([this] { Run(); });
  }
  ~RedisStorage() override { RedisStorage::Stop(); }
  RedisStorage(const RedisStorage&) = delete;
  RedisStorage& operator=(const RedisStorage&) = delete;

  Status Apply(Operation& operation) noexcept override {
    try {
      Waiter waiter;
      CallPtr call = NewCall(operation, waiter);
      const Status status = Submit({&call, 1}, true);
      return status == Status::kOk ? waiter.Wait() : status;
    } catch (const std::bad_alloc&) {
      return Status::kNoMemory;
    }
  }

  void ApplyMany(std::span<Operation> operations, std::span<Status> statuses) noexcept override {
    try {
      std::vector<Waiter> waiters(operations.size());
      std::vector<CallPtr> calls;
      calls.reserve(operations.size());
      for (size_t i = 0; i < operations.size(); ++i) calls.push_back(NewCall(operations[i], waiters[i]));
      // All in one, so that they go out in one write and in order.
      const Status status = Submit(calls, true);
      for (size_t i = 0; i < operations.size(); ++i) statuses[i] = status == Status::kOk ? waiters[i].Wait() : status;
    } catch (const std::bad_alloc&) {
      std::ranges::fill(statuses, Status::kNoMemory);
    }
  }

  Status ApplyAsync(Operation& operation, Completion& done) noexcept override {
    try {
      CallPtr call = NewCall(operation, done);
      return Submit({&call, 1}, false);
    } catch (const std::bad_alloc&) {
      return Status::kNoMemory;
    }
  }

  Status EvictIdle(Micros, uint64_t& evicted) noexcept override {
    evicted = 0;
    return Status::kUnsupported;
  }
  Status KeyCount(uint64_t& keys) noexcept override {
    keys = 0;
    return Status::kUnsupported;
  }

  Grouping grouping() const noexcept override {
    if (around_.options.deployment != Deployment::kCluster) return Grouping::kByLimit;
    return around_.options.slot_by_rule ? Grouping::kSharedOrByRule : Grouping::kShared;
  }

  void TellTo(const Reporter& reporter) noexcept override {
    try {
      messages_.TellTo(reporter);
    } catch (const std::bad_alloc&) {
      // It goes without messages.
    }
  }

  void Stop() noexcept override {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    bell_.Ring();
    if (thread_.joinable()) thread_.join();
  }

 private:
  /// Hands calls to the I/O thread. kOk: each will be ended. Anything else, or an exception: none will.
  Status Submit(std::span<CallPtr> calls, bool waits) {
    if (down_.load(std::memory_order_relaxed) || birthplace_.IsForked()) return Status::kStore;
    // To wait for this very thread would be for ever.
    if (waits && std::this_thread::get_id() == thread_.get_id()) return Status::kState;
    bool ring = false;
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return Status::kCancelled;
      submitted_.reserve(submitted_.size() + calls.size());
      for (CallPtr& call : calls) submitted_.push_back(std::move(call));
      ring = std::exchange(asleep_, false);
    }
    if (ring) bell_.Ring();
    return Status::kOk;
  }

  CallPtr NewCall(Operation& operation, Completion& done) const {
    auto call = std::make_shared<Call>();
    call->operation = &operation;
    call->done = &done;
    call->deadline = Clock::now() + around_.options.deadline;
    if (around_.options.deployment == Deployment::kCluster && !operation.charges.empty())
      call->slot = SlotOf(KeyName(around_.options, operation.charges.front()));
    if (operation.mode == Mode::kForget) {
      call->kind = Call::Kind::kForget;
      PutArrayHeader(call->body, 1 + operation.charges.size());
      PutArgument(call->body, "DEL");
      for (const Charge& charge : operation.charges) PutArgument(call->body, KeyName(around_.options, charge));
    } else {
      call->repeatable = operation.id.has_value();
      call->plain = IsPlain(operation);
      call->keys = CountOfKeys(operation);
      call->terms = CountOfTerms(operation);
      call->body.reserve(128 * operation.charges.size());
      PutKeys(call->body, around_.options, operation);
      call->keys_size = call->body.size();
      PutTerms(call->body, around_.options, operation, {});
    }
    return call;
  }

  // ---- The I/O thread -------------------------------------------------------------------------------------------------------------

  void Run() {
    LeaveSignalsToTheHost();
    for (;;) {
      try {
        if (!Turn()) break;
      } catch (const std::bad_alloc&) {
        for (const CallPtr& call : taken_) call->End(Status::kNoMemory);
        topology_->DropAll("out of memory");
      }
    }
    for (const CallPtr& call : deadlines_) call->End(Status::kCancelled);
    topology_->Close(Status::kCancelled);
    taken_.clear();
    {
      const std::lock_guard lock(mutex_);
      taken_.swap(submitted_);
    }
    for (const CallPtr& call : taken_) call->End(Status::kCancelled);
  }

  /// One round: what was asked goes out in one write for each connection, what has come is answered. False when it is over.
  bool Turn() {
    taken_.clear();
    {
      const std::lock_guard lock(mutex_);
      if (stopping_) return false;
      taken_.swap(submitted_);
    }
    const auto now = Clock::now();
    topology_->Tick(now);
    topology_->Each([&](Polled& one) { one.Tick(now); });
    for (const CallPtr& call : taken_) {
      deadlines_.push_back(call);
      topology_->Dispatch(call);
    }
    topology_->Each([](Polled& one) { one.Flush(); });
    Expire(now);
    down_.store(!topology_->Accepts(now), std::memory_order_relaxed);
    Poll(now);
    return true;
  }

  /// Ends what is late. Calls stand in order of their deadlines.
  void Expire(Clock::time_point now) {
    while (!deadlines_.empty() && (deadlines_.front()->ended() || deadlines_.front()->deadline <= now)) {
      const CallPtr call = std::move(deadlines_.front());
      deadlines_.pop_front();
      if (call->ended()) continue;
      if (Server* server = call->server; server != nullptr) server->Missed(*call);
      call->End(Status::kStore);
    }
  }

  void Poll(Clock::time_point now) {
    auto until = topology_->NextTick(now);
    if (!deadlines_.empty()) until = std::min(until, deadlines_.front()->deadline);
    polled_.clear();
    wanted_.assign(1, {bell_.fd(), POLLIN, 0});
    topology_->Each([&](Polled& one) {
      until = std::min(until, one.NextTick());
      polled_.push_back(&one);
      wanted_.push_back(one.Wanted());
    });
    int timeout = -1;
    if (until != Clock::time_point::max()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
    }
    {
      const std::lock_guard lock(mutex_);
      if (!submitted_.empty() || stopping_) timeout = 0;
      asleep_ = timeout != 0;
    }
    if (poll(wanted_.data(), wanted_.size(), timeout) <= 0) return;
    if (wanted_[0].revents != 0) bell_.Quiet();
    // Whatever joins meanwhile is polled next time; nothing leaves but in Topology::Tick.
    for (size_t i = 0; i < polled_.size(); ++i) polled_[i]->OnEvents(wanted_[i + 1].revents);
  }

  const Birthplace birthplace_;
  Bell bell_;
  Messages messages_;
  Surroundings around_;
  const std::unique_ptr<Topology> topology_;
  std::deque<CallPtr> deadlines_;
  std::vector<CallPtr> taken_;
  std::vector<Polled*> polled_;
  std::vector<pollfd> wanted_;

  std::atomic<bool> down_{false};  ///< no call has a chance: not worth a trip to the I/O thread
  std::mutex mutex_;
  std::vector<CallPtr> submitted_;
  bool asleep_ = false;  ///< the I/O thread waits, or is about to: ring
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace
}  // namespace redis

Result<std::unique_ptr<Storage>> MakeRedisStorage(const redis::Options& options) {
  std::shared_ptr<const redis::TlsContext> tls;
  if (options.tls) {
    auto made = redis::TlsContext::Make(options);
    if (!made) return made.error();
    tls = *made;
  }
  return std::unique_ptr<Storage>(std::make_unique<redis::RedisStorage>(options, std::move(tls)));
}

}  // namespace ratel
