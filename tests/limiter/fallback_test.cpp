// on_store_error: local. The share of this process is warm when the store fails, and the store is told of what was admitted meanwhile.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <thread>

#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

std::string OneRule(std::string_view algorithm, std::string_view more = "") {
  return "instances: 4\nrules:\n  - {name: api, path: /, scope: user, algorithm: " + std::string(algorithm) +
         ", limit: 40, window: 1h" + std::string(more) + "}\n";
}

int Admitted(Fixture& f, int tries, std::string_view user = "u") {
  int admitted = 0;
  for (int i = 0; i < tries; ++i) admitted += f.Ask("GET", "/", user).allowed;
  return admitted;
}

TEST(WarmShare, WhatTheStoreHasAdmittedIsSpentFromTheShareToo) {
  for (const char* algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm), Store::kRemote);
    EXPECT_EQ(Admitted(f, 7), 7);
    f.failing = true;
    EXPECT_EQ(Admitted(f, 20), 3) << "the share is ten";
    EXPECT_EQ(Admitted(f, 20, "somebody else"), 10);
  }
}

TEST(WarmShare, AKeyThatHasSpentMoreThanTheShareHasNothingLeft) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  EXPECT_EQ(f.Ask("GET", "/", "u", 9).remaining, 31u);
  EXPECT_EQ(f.Ask("GET", "/", "u", 9).remaining, 22u) << "one fits the share, and the answer is the store's";
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 0);
}

TEST(WarmShare, DenialsPeeksAndOtherPoliciesLeaveItAlone) {
  Fixture f(OneRule("fixed_window", ", on_store_error: open"), Store::kRemote);
  Admitted(f, 10);
  f.registry->Reload(Rules(OneRule("fixed_window")));
  EXPECT_FALSE(f.Ask("GET", "/", "u", 31).allowed);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  Decision peeked;
  ASSERT_EQ(f.registry->Peek(request, peeked), Status::kOk);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
}

TEST(WarmShare, AResetFillsIt) {
  Fixture f(OneRule("token_bucket"), Store::kRemote);
  Admitted(f, 10);
  Request request;
  request.path = "/";
  request.identity.user = "u";
  ASSERT_EQ(f.registry->Reset(request), Status::kOk);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
}

/// What the store holds of u's budget.
uint64_t Remaining(Fixture& f) {
  Request request;
  request.path = "/";
  request.identity.user = "u";
  Decision d;
  EXPECT_EQ(f.registry->Peek(request, d), Status::kOk);
  return d.remaining;
}

bool IsTold(Fixture& f, uint64_t units) {
  return Eventually([&] { return f.registry->Metrics(false).reported_back == units; });
}

TEST(ReportBack, TheStoreIsChargedForWhatWasAdmittedMeanwhile) {
  for (const char* algorithm : kAlgorithms) {
    SCOPED_TRACE(algorithm);
    Fixture f(OneRule(algorithm), Store::kRemote);
    f.Ask("GET", "/", "u");
    f.failing = true;
    EXPECT_EQ(Admitted(f, 20), 9);
    EXPECT_EQ(f.registry->Metrics(false).reported_back, 0u);
    f.failing = false;
    f.Ask("GET", "/", "somebody else");
    ASSERT_TRUE(IsTold(f, 9));
    EXPECT_EQ(Remaining(f), 30u);
    EXPECT_EQ(f.registry->Metrics(false).unreported, 0u);
  }
}

TEST(ReportBack, WithoutARequestToo) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
  f.failing = false;
  EXPECT_TRUE(IsTold(f, 10));
}

TEST(ReportBack, WhatDoesNotFitIsCountedAndNobodyIsDenied) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  EXPECT_TRUE(f.Ask("GET", "/", "u", 1).allowed);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 9);
  // Another gateway has meanwhile spent 35 of the 40.
  f.registry->Reload(Rules(OneRule("fixed_window", ", on_store_error: closed")));
  f.controls.spends_in_spite = 35;
  EXPECT_TRUE(f.Ask("GET", "/", "u", 35).allowed);
  f.failing = false;
  ASSERT_TRUE(IsTold(f, 4));
  EXPECT_TRUE(Eventually([&] { return f.registry->Metrics(false).unreported == 5; }));
  EXPECT_EQ(Remaining(f), 0u);
}

TEST(ReportBack, AWindowThatIsOverIsNotCharged) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
  f.now += 3600 * kSecond;
  EXPECT_EQ(Admitted(f, 3), 3) << "the share of the next one";
  f.failing = false;
  f.Ask("GET", "/", "somebody else");
  EXPECT_TRUE(IsTold(f, 3));
  EXPECT_EQ(Remaining(f), 37u);
}

TEST(ReportBack, ALostReplyIsNotRepeated) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
  f.controls.losing_replies = true;
  f.failing = false;
  EXPECT_TRUE(Eventually([&] { return f.registry->Metrics(false).unreported == 10; }));
  f.controls.losing_replies = false;
  EXPECT_EQ(Remaining(f), 30u) << "it had arrived, once";
}

TEST(ReportBack, ASettleCorrectsWhatIsOwed) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.failing = true;
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.cost = 5;
  const Decision first = f.Ask(request);
  ASSERT_EQ(first.source, Source::kLocalFallback);
  Decision settled;
  ASSERT_EQ(f.registry->Settle(request, first, 2, settled), Status::kOk);
  EXPECT_EQ(settled.remaining, 8u) << "of the share";
  const Decision second = f.Ask(request);
  ASSERT_EQ(f.registry->Settle(request, second, 7, settled), Status::kOk);
  f.failing = false;
  EXPECT_TRUE(IsTold(f, 9));
  EXPECT_EQ(Remaining(f), 31u);
}

TEST(ReportBack, AllLimitsOfARequestAreToldAndTheWholeCost) {
  Fixture f(R"(
instances: 4
rules:
  - name: api
    path: /
    limits:
      - {name: a, scope: user, algorithm: fixed_window, limit: 40, window: 1h}
      - {name: b, scope: global, algorithm: token_bucket, limit: 400, window: 1h}
)",
            Store::kRemote);
  f.failing = true;
  EXPECT_TRUE(f.Ask("GET", "/", "u", 25).allowed) << "more than the share takes all of it";
  f.failing = false;
  EXPECT_TRUE(IsTold(f, 50));
  EXPECT_EQ(Remaining(f), 15u);
}

TEST(ReportBack, WhatIsOwedWhenTheRegistryEndsIsTold) {
  for (const Store store : {Store::kRemote, Store::kHost}) {
    Fixture f(OneRule("fixed_window"), store);
    f.failing = true;
    EXPECT_EQ(Admitted(f, 3), 3);
    f.failing = false;
    Request request;
    request.path = "/";
    request.identity.user = "v";
    std::array<Decision, 1> out;
    f.registry->AllowMany({&request, 1}, out);
    f.registry.reset();
    EXPECT_EQ(f.controls.spent, 4u);
  }
}

// Of no suite that runs under the thread sanitizer, whose own threads a child of fork does not have: there it may wait for ever.
TEST(Forked, AChildEndsWithoutTheThreadThatReports) {
  Fixture f(OneRule("fixed_window"), Store::kRemote);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 3), 3);
  // Until it waits for its next try: that is where a child would wait for it for ever.
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    f.failing = false;
    f.Ask("GET", "/", "v");
    f.registry.reset();
    _exit(f.controls.spent == 1 ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "what is owed is the parent's to tell";
  f.failing = false;
  EXPECT_TRUE(IsTold(f, 3));
}

TEST(ReportBack, AStoreThatRunsTheHostsCodeIsAskedOnTheHostsThreads) {
  Fixture f(OneRule("fixed_window"), Store::kHost);
  f.failing = true;
  EXPECT_EQ(Admitted(f, 20), 10);
  f.failing = false;
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(f.registry->Metrics(false).reported_back, 0u);
  f.Ask("GET", "/", "somebody else");
  EXPECT_EQ(f.registry->Metrics(false).reported_back, 10u);
  EXPECT_EQ(f.controls.askers, std::set<std::thread::id>{std::this_thread::get_id()});
}

}  // namespace
}  // namespace ratel::test
