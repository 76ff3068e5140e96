// Reloads, watches and asynchronous answers while requests run.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <fstream>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

std::string RuleText(int limit) {
  return "rules:\n  - {name: api, path: /api, scope: user, algorithm: token_bucket, limit: " + std::to_string(limit) +
         ", window: 1h}\n";
}

TEST(ReloadUnderLoad, ARequestSeesTheOldOrTheNewRulesAndNothingIsHandedBack) {
  Fixture f(RuleText(2000));
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> admitted{0};
  std::atomic<uint64_t> asked{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        const Decision d = f.Ask("GET", "/api", "alice");
        ASSERT_TRUE(d.capacity == 2000 || d.capacity == 1500);
        ASSERT_EQ(d.capacity == 2000, d.generation % 2 == 1);
        admitted += d.allowed;
        ++asked;
      }
    });
  }
  for (int i = 0; i < 60; ++i) {
    f.registry->Reload(Rules(RuleText(i % 2 == 0 ? 1500 : 2000)));
    while (asked.load() < static_cast<uint64_t>(i) * 100) std::this_thread::yield();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(admitted.load(), 2000u);
  EXPECT_GE(admitted.load(), 1500u);
  const MetricsSnapshot m = f.registry->Metrics(false);
  EXPECT_EQ(m.requests, asked.load());
  EXPECT_EQ(m.allowed, admitted.load());
  EXPECT_EQ(m.reloads, 60u);
}

/// A log that tries to end the watch whenever it hears of a reload.
class MeddlingLog final : public Log {
 public:
  void Write(Level, std::string_view) noexcept override {
    Registry* const watched = registry;
    if (watched == nullptr) return;
    const std::vector<Error> faults = watched->Watch("", std::chrono::milliseconds(10));
    refused = faults.size() == 1 && faults[0].status == Status::kState;
    heard = true;
  }
  std::atomic<Registry*> registry{nullptr};
  std::atomic<bool> refused{false};
  std::atomic<bool> heard{false};
};

TEST(Watch, CannotBeEndedFromItsOwnThread) {
  const std::string path = testing::TempDir() + "/ratel_watched_rules.yaml";
  std::ofstream(path) << RuleText(5);
  Registry::Options options;
  options.rules = Rules(RuleText(5));
  options.storage = MakeMemoryStorage({});
  auto log = std::make_unique<MeddlingLog>();
  MeddlingLog& meddler = *log;
  options.log = std::move(log);
  const auto registry = Registry::Create(std::move(options));
  ASSERT_TRUE(registry->Watch(path, std::chrono::milliseconds(10)).empty());
  meddler.registry = registry.get();
  std::ofstream(path) << RuleText(6);
  while (!meddler.heard) std::this_thread::yield();
  EXPECT_TRUE(meddler.refused);
  meddler.registry = nullptr;
  EXPECT_TRUE(registry->Watch("", std::chrono::milliseconds(10)).empty());
}

/// Takes operations and ends them on a thread of its own.
class LateStorage final : public Storage {
 public:
  explicit LateStorage(std::unique_ptr<Storage> inner) : inner_(std::move(inner)), thread_([this] { Work(); }) {}
  ~LateStorage() override {
    stop_ = true;
    thread_.join();
  }
  Status Apply(Operation& operation) noexcept override { return inner_->Apply(operation); }
  Status ApplyAsync(Operation& operation, Completion& done) noexcept override {
    const std::lock_guard lock(mutex_);
    queue_.emplace_back(&operation, &done);
    return Status::kOk;
  }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }

 private:
  void Work() {
    while (!stop_) {
      std::pair<Operation*, Completion*> item{nullptr, nullptr};
      {
        const std::lock_guard lock(mutex_);
        if (!queue_.empty()) {
          item = queue_.front();
          queue_.pop_front();
        }
      }
      if (item.first == nullptr) {
        std::this_thread::yield();
      } else {
        item.second->Finish(inner_->Apply(*item.first));
      }
    }
  }
  std::unique_ptr<Storage> inner_;
  std::mutex mutex_;
  std::deque<std::pair<Operation*, Completion*>> queue_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(Async, EachQuestionIsAnsweredOnceAndDestroyWaitsForAll) {
  struct Answers {
    std::atomic<uint64_t> all{0};
    std::atomic<uint64_t> allowed{0};
  } answers;
  {
    Registry::Options options;
    options.rules = Rules(RuleText(100));
    options.storage = std::make_unique<LateStorage>(MakeMemoryStorage({}));
    options.fallback = MakeMemoryStorage({});
    const auto registry = Registry::Create(std::move(options));
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 100; ++k) {
          Request request;
          const std::string path = "/api";
          request.method = "GET";
          request.path = path;
          request.now_ns = kStart;
          request.identity.user = "alice";
          const Status status = registry->AllowAsync(
              request,
              [](void* user, const Decision& decision) {
                auto* to = static_cast<Answers*>(user);
                to->all += 1;
                to->allowed += decision.allowed;
              },
              &answers);
          ASSERT_EQ(status, Status::kOk);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_EQ(answers.all.load(), 400u);
  EXPECT_EQ(answers.allowed.load(), 100u);
}

}  // namespace
}  // namespace ratel::test
