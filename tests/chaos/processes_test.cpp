// Gateways that are processes of their own: together they admit exactly the limit, also when one of them is killed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "chaos/gateways.hpp"
#include "redis/server.hpp"

namespace ratel::test {
namespace {

constexpr uint64_t kLimit = 500;
constexpr int kProcesses = 6;

/// Counts that all processes see.
struct Counts {
  std::atomic<uint64_t> allowed{0};
  std::atomic<uint64_t> denied{0};
  std::atomic<uint64_t> inexact{0};
};

class Processes : public testing::Test {
 protected:
  Processes()
      : counts_(new (mmap(nullptr, sizeof(Counts), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)) Counts) {
  }
  ~Processes() override {
    for (const pid_t child : children_) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    munmap(counts_, sizeof(Counts));
  }

  void Start() {
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t child = fork();
      if (child == 0) AskForEver();
      children_.push_back(child);
    }
  }

  void KillOne() {
    kill(children_.back(), SIGKILL);
    waitpid(children_.back(), nullptr, 0);
    children_.pop_back();
  }

  Counts& counts() { return *counts_; }

 private:
  [[noreturn]] void AskForEver() {
    const std::string rules = RulesOf(kLimit, 1, "closed");
    rl_registry* registry = RegistryOf(rules, server_.url("deadline_ms=20000"));
    rl_request request = RL_REQUEST_INIT;
    request.user = Borrow("alice");
    for (;;) {
      rl_decision decision = RL_DECISION_INIT;
      if (rl_allow(registry, &request, &decision, nullptr) != RL_OK) _exit(1);
      if (decision.source != RL_SOURCE_EXACT)
        ++counts_->inexact;
      else
        ++(decision.allowed != 0 ? counts_->allowed : counts_->denied);
    }
  }

  RedisServer server_;
  Counts* counts_;
  std::vector<pid_t> children_;
};

TEST_F(Processes, AdmitExactlyTheLimit) {
  Start();
  ASSERT_TRUE(Eventually([&] { return counts().denied > 200 * kProcesses; }));
  // Whoever was admitted may have been held up before it could count that.
  EXPECT_TRUE(Eventually([&] { return counts().allowed >= kLimit; }));
  const uint64_t denied = counts().denied;
  ASSERT_TRUE(Eventually([&] { return counts().denied > denied + 200 * kProcesses; }));
  EXPECT_EQ(counts().allowed, kLimit);
}

TEST_F(Processes, AdmitNoMoreThanTheLimitWhenOneIsKilled) {
  Start();
  ASSERT_TRUE(Eventually([&] { return counts().allowed > kLimit / 3; }));
  KillOne();
  ASSERT_TRUE(Eventually([&] { return counts().denied > 200 * kProcesses; }));
  EXPECT_TRUE(Eventually([&] { return counts().allowed >= kLimit - 1; }))
      << "what was charged for the one that was killed, and no more, is lost";
  EXPECT_LE(counts().allowed, kLimit);
}

}  // namespace
}  // namespace ratel::test
