// The circuit breaker by itself, and in front of a server that answers late.
#include "storage/redis/breaker.hpp"

#include <thread>

#include "redis/peer.hpp"
#include "redis/support.hpp"

namespace ratel::test {
namespace {

using redis::Breaker;
using redis::Call;
using redis::Clock;
using std::chrono::milliseconds;

class BreakerAlone : public testing::Test {
 protected:
  bool Take(bool* is_probe = nullptr) {
    Call call;
    const bool taken = breaker_.Take(call, now_);
    if (is_probe != nullptr) *is_probe = call.is_probe;
    return taken;
  }
  void Fail(int times, bool by_probe = false) {
    for (int i = 0; i < times; ++i) breaker_.Failed(now_, by_probe);
  }

  std::vector<std::string> told_;
  redis::Surroundings around_{{}, nullptr, [] {}, [this](Report, const std::string& text) { told_.push_back(text); }};
  Breaker breaker_{around_, "here"};
  Clock::time_point now_ = Clock::now();
};

TEST_F(BreakerAlone, OpensAfterFiveFailuresInARow) {
  Fail(4);
  EXPECT_TRUE(Take());
  breaker_.Succeeded();
  Fail(4);
  EXPECT_TRUE(Take()) << "an answer in time begins the count anew";
  Fail(1);
  EXPECT_FALSE(Take());
  EXPECT_FALSE(breaker_.Admits(now_));
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(BreakerAlone, LetsOneProbeThroughAndClosesByItsSuccess) {
  Fail(5);
  now_ = breaker_.NextChange(now_);
  bool is_probe = false;
  EXPECT_TRUE(breaker_.Admits(now_));
  EXPECT_TRUE(Take(&is_probe));
  EXPECT_TRUE(is_probe);
  EXPECT_FALSE(Take()) << "one only";
  EXPECT_EQ(breaker_.NextChange(now_), Clock::time_point::max());
  breaker_.Succeeded();
  EXPECT_TRUE(Take(&is_probe));
  EXPECT_FALSE(is_probe);
  EXPECT_EQ(told_.size(), 2u) << "once for each change";
}

TEST_F(BreakerAlone, PausesDoubleUpToTwoSeconds) {
  Fail(5);
  milliseconds longest{50};
  for (int round = 0; round < 9; ++round) {
    const auto pause = std::chrono::duration_cast<milliseconds>(breaker_.NextChange(now_) - now_);
    EXPECT_GE(pause, longest / 2) << round;
    EXPECT_LE(pause, longest) << round;
    now_ = breaker_.NextChange(now_);
    ASSERT_TRUE(Take());
    Fail(1);
    EXPECT_FALSE(Take()) << "what was under way before says nothing about the probe";
    Fail(1, true);
    longest = std::min(longest * 2, milliseconds{2000});
  }
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(BreakerAlone, AProbeIsADecisionAndNothingElse) {
  Fail(5);
  now_ = breaker_.NextChange(now_);
  Call call;
  call.kind = Call::Kind::kPublish;
  EXPECT_FALSE(breaker_.Take(call, now_));
  EXPECT_TRUE(Take());
}

TEST_F(BreakerAlone, AConnectionMadeAnewEndsThePause) {
  Fail(5);
  EXPECT_FALSE(Take());
  breaker_.EndPause(now_);
  EXPECT_TRUE(Take());
  EXPECT_FALSE(Take());
}

TEST(Breaker, AServerThatIsAlwaysLateIsHardlyAsked) {
  const Versions hourly({Make(Algorithm::kFixedWindow, 1'000'000, 3'600'000'000)});
  RedisServer server;
  Relay relay(server.port());
  const auto storage = Open(relay.url("deadline_ms=50&time=caller"));
  const Heard heard(*storage);
  const auto spend = [&](uint64_t key) {
    Charge charge = ChargeFor(hourly, 0, key);
    return ApplyOne(*storage, charge);
  };
  ASSERT_TRUE(Eventually([&] { return spend(1) == Status::kOk; }));
  relay.delay_ms = 120;
  for (int i = 0; i < 200; ++i) EXPECT_EQ(spend(2), Status::kStore);
  EXPECT_TRUE(heard.Mentions("5 failures in a row")) << heard.all();
  relay.delay_ms = 0;
  EXPECT_TRUE(Eventually([&] { return spend(1) == Status::kOk; }));
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("answers in time again"); })) << heard.all();
  const auto direct = Open(server.url(kPatient));
  Charge charge = ChargeFor(hourly, 0, 2);
  ASSERT_EQ(ApplyOne(*direct, charge, kStart, Mode::kPeek), Status::kOk);
  const uint64_t asked = 1'000'000 - charge.outcome.remaining;
  EXPECT_GE(asked, 5u);
  EXPECT_LE(asked, 40u) << "of 200";
}

}  // namespace
}  // namespace ratel::test
