// What the registry tells a store besides the requests: also one that only answers later, and when the registry ends.
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <mutex>
#include <vector>

#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

/// A store whose asynchronous answers are given when the test says so.
class LaterStorage final : public Storage {
 public:
  struct Controls {
    std::atomic<bool> is_host{true};
    std::atomic<bool> failing{false};      ///< what is answered
    std::atomic<bool> answers_now{false};  ///< Apply works
    std::atomic<uint64_t> asked_now{0};    ///< by Apply
    std::atomic<uint64_t> spent{0};
    std::atomic<uint64_t> handed_back{0};
    std::mutex mutex;
    std::deque<std::pair<Operation*, Completion*>> waiting;
    LaterStorage* storage = nullptr;

    size_t count() {
      const std::lock_guard lock(mutex);
      return waiting.size();
    }
    /// False when nobody waits.
    bool AnswerOne() {
      std::unique_lock lock(mutex);
      if (waiting.empty()) return false;
      const auto [operation, done] = waiting.front();
      waiting.pop_front();
      lock.unlock();
      done->Finish(failing ? Status::kStore : storage->Carry(*operation));
      return true;
    }
    void AnswerAll() {
      while (AnswerOne()) {
      }
    }
  };

  explicit LaterStorage(Controls& controls) : controls_(controls), inner_(MakeMemoryStorage({})) {
    controls.storage = this;
  }
  Status Apply(Operation& operation) noexcept override {
    ++controls_.asked_now;
    return controls_.answers_now ? Carry(operation) : Status::kStore;
  }
  Status ApplyAsync(Operation& operation, Completion& done) noexcept override {
    const std::lock_guard lock(controls_.mutex);
    if (stopped_) return Status::kCancelled;
    controls_.waiting.emplace_back(&operation, &done);
    return Status::kOk;
  }
  void Stop() noexcept override {
    if (controls_.is_host) return;
    std::unique_lock lock(controls_.mutex);
    stopped_ = true;
    while (!controls_.waiting.empty()) {
      Completion* done = controls_.waiting.front().second;
      controls_.waiting.pop_front();
      lock.unlock();
      done->Finish(Status::kCancelled);
      lock.lock();
    }
  }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }
  bool wants_names() const noexcept override { return true; }
  bool runs_host_code() const noexcept override { return controls_.is_host; }

 private:
  Status Carry(Operation& operation) noexcept {
    const Status status = inner_->Apply(operation);
    const uint64_t cost = operation.charges[0].cost;
    if (operation.mode == Mode::kSpend && Admits(operation.charges)) controls_.spent += cost;
    if (operation.mode == Mode::kSettle && operation.actual < cost) controls_.handed_back += cost - operation.actual;
    return status;
  }

  Controls& controls_;
  const std::unique_ptr<Storage> inner_;
  bool stopped_ = false;
};

/// Decisions of a registry on such a store, all of them asked for without waiting.
struct Later {
  explicit Later(std::string_view text, bool is_host = true) {
    controls.is_host = is_host;
    Registry::Options options;
    options.rules = Rules(text);
    options.clock = std::make_unique<FakeClock>(now);
    options.storage = std::make_unique<LaterStorage>(controls);
    options.fallback = MakeMemoryStorage({});
    registry = Registry::Create(std::move(options));
  }

  void Ask(std::string_view user = "u") {
    Request request;
    request.path = "/";
    request.identity.user = user;
    const auto count = [](void* self, const Decision& decision) {
      Later& later = *static_cast<Later*>(self);
      later.allowed += decision.allowed;
      later.cancelled += decision.status == Status::kCancelled;
      ++later.answered;
      later.last = decision.source;
    };
    ASSERT_EQ(registry->AllowAsync(request, count, this), Status::kOk);
  }
  /// Asks until a block is being paid for, and leaves that unanswered.
  void AskUntilItPays() {
    for (int i = 0; i < 50; ++i) {
      Ask();
      {
        const std::lock_guard lock(controls.mutex);
        if (!controls.waiting.empty() && controls.waiting.front().first->charges[0].cost > 1) return;
      }
      controls.AnswerAll();
    }
    ADD_FAILURE() << "never paid";
  }
  void AskUntilLeased() {
    for (int i = 0; i < 50 && last != Source::kLeased; ++i) {
      Ask();
      controls.AnswerAll();
    }
    EXPECT_EQ(last, Source::kLeased);
  }
  MetricsSnapshot Metrics() const { return registry->Metrics(false); }

  std::atomic<uint64_t> now{kStart};
  LaterStorage::Controls controls;
  std::unique_ptr<Registry> registry;
  uint64_t allowed = 0;
  uint64_t cancelled = 0;
  uint64_t answered = 0;
  Source last = Source::kExact;
};

constexpr const char* kOwed =
    "instances: 4\nrules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 40, window: 1h}\n";
constexpr const char* kLeased =
    "lease_life: 50ms\nrules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 10000, window: "
    "1h, local_tier: leases}\n";

/// Lets the fallback admit three, and the store come back.
void Owe(Later& f) {
  f.controls.failing = true;
  for (int i = 0; i < 3; ++i) f.Ask();
  f.controls.AnswerAll();
  EXPECT_EQ(f.allowed, 3u);
  EXPECT_EQ(f.last, Source::kLocalFallback);
  f.controls.failing = false;
  f.Ask("v");
  f.controls.AnswerAll();
  EXPECT_EQ(f.Metrics().reported_back, 0u);
}

TEST(ErrandsLater, WhatTheFallbackAdmittedIsToldOnceTheStoreIsBack) {
  Later f(kOwed);
  Owe(f);
  f.Ask("v");
  f.controls.AnswerAll();
  EXPECT_EQ(f.Metrics().reported_back, 3u);
  EXPECT_EQ(f.controls.spent, 5u) << "two of v, and what u had";
  EXPECT_EQ(f.controls.asked_now, 0u) << "nobody had to wait";
}

TEST(ErrandsLater, OneAtATimeAndNobodyWaitsForIt) {
  Later f(kOwed);
  Owe(f);
  f.Ask("v");
  EXPECT_EQ(f.controls.count(), 2u) << "the request and a look";
  f.Ask("v");
  EXPECT_EQ(f.controls.count(), 3u);
  f.controls.AnswerAll();
  EXPECT_EQ(f.controls.spent, 6u);
  f.Ask("v");
  f.controls.AnswerAll();
  EXPECT_EQ(f.controls.spent, 7u) << "nothing is told twice";
}

TEST(ErrandsLater, ALookThatFailsLosesNothing) {
  Later f(kOwed);
  Owe(f);
  f.Ask("v");
  ASSERT_TRUE(f.controls.AnswerOne()) << "the request";
  f.controls.failing = true;
  ASSERT_TRUE(f.controls.AnswerOne()) << "the look";
  f.controls.failing = false;
  f.controls.answers_now = true;
  f.registry.reset();
  EXPECT_EQ(f.controls.spent, 5u);
}

TEST(ErrandsLater, RestsOfLeasesComeBack) {
  Later f(kLeased);
  f.AskUntilLeased();
  int others = 0;
  EXPECT_TRUE(Eventually([&] {
    f.Ask(std::to_string(others++));
    f.controls.AnswerAll();
    return f.controls.handed_back != 0;
  }));
  EXPECT_EQ(f.controls.asked_now, 0u);
  EXPECT_EQ(f.controls.spent - f.controls.handed_back, f.allowed);
}

TEST(ErrandsLater, AfterAFailureNothingMoreIsAsked) {
  Later f(
      "lease_life: 50ms\nrules:\n  - name: api\n    path: /\n    local_tier: leases\n    limits:\n      - {name: a, "
      "scope: user, algorithm: fixed_window, limit: 10000, window: 1h}\n      - {name: b, scope: global, algorithm: "
      "fixed_window, limit: 10000, window: 1h}\n");
  f.AskUntilLeased();
  int others = 0;
  ASSERT_TRUE(Eventually([&] {
    f.controls.AnswerAll();
    f.Ask(std::to_string(others++));
    return f.controls.count() == 2;
  }));
  ASSERT_TRUE(f.controls.AnswerOne()) << "the request";
  f.controls.failing = true;
  ASSERT_TRUE(f.controls.AnswerOne()) << "the first state of the block";
  EXPECT_EQ(f.controls.count(), 0u);
}

TEST(ErrandsLater, TheEndWaitsForWhatIsInTheHostsHands) {
  Later f(kOwed);
  Owe(f);
  f.Ask("v");
  ASSERT_TRUE(f.controls.AnswerOne()) << "the request";
  ASSERT_EQ(f.controls.count(), 1u);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    f.controls.AnswerAll();
  });
  f.registry.reset();
  later.join();
  EXPECT_EQ(f.controls.spent, 5u);
}

/// The payment's answer comes while the registry ends: all that nobody has used goes back.
TEST(EndOfARegistry, ABlockThatIsBeingPaidForIsHandedBack) {
  for (const bool is_host : {true, false}) {
    SCOPED_TRACE(is_host);
    Later f(kLeased, is_host);
    f.controls.answers_now = true;
    f.AskUntilItPays();
    std::thread later([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      f.controls.AnswerAll();
    });
    f.registry.reset();
    later.join();
    EXPECT_EQ(f.cancelled, 0u);
    EXPECT_GT(f.controls.handed_back, 0u);
    EXPECT_EQ(f.controls.spent - f.controls.handed_back, f.allowed);
  }
}

TEST(EndOfARegistry, ABlockThatIsDeniedMeanwhileIsNoMatter) {
  Later f(
      "rules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 50, window: 1h, local_tier: "
      "leases}\n",
      false);
  f.controls.answers_now = true;
  for (int i = 0; i < 45; ++i) {
    f.Ask();
    f.controls.AnswerAll();
  }
  for (int i = 0; i < 10; ++i) f.Ask();
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    f.controls.AnswerAll();
  });
  f.registry.reset();
  later.join();
  EXPECT_EQ(f.answered, 55u);
  EXPECT_LE(f.allowed, 50u);
  EXPECT_EQ(f.controls.spent - f.controls.handed_back, f.allowed);
}

TEST(EndOfARegistry, APaymentThatIsNeverAnsweredDoesNotHoldItUp) {
  Later f(kLeased, false);
  f.AskUntilItPays();
  f.registry.reset();
  EXPECT_EQ(f.cancelled, 1u);
}

TEST(Forked, AChildOfForkDoesNotWaitForWhatTheParentHasAsked) {
  Later f(kLeased, false);
  f.AskUntilItPays();
  const pid_t child = fork();
  if (child == 0) {
    {
      const std::lock_guard lock(f.controls.mutex);
      f.controls.waiting.clear();
    }
    alarm(60);
    f.registry.reset();
    _exit(0);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  f.controls.AnswerAll();
}

}  // namespace
}  // namespace ratel::test
