// Requests that say which one they are: a repeat is answered as before and charged once, whoever lost the answer.
#include <algorithm>
#include <thread>

#include "redis/peer.hpp"
#include "redis/support.hpp"

namespace ratel::test {
namespace {

constexpr const char* kUsual = "deadline_ms=20000&time=caller&ttl_margin_ms=3600000";

const Versions& Five(Algorithm algorithm) {
  static const Versions buckets({Make(Algorithm::kTokenBucket, 5, 3'600'000'000)});
  static const Versions windows({Make(Algorithm::kFixedWindow, 5, 3'600'000'000)});
  static const Versions logs({Make(Algorithm::kSlidingLog, 5, 3'600'000'000)});
  return algorithm == Algorithm::kTokenBucket ? buckets : algorithm == Algorithm::kFixedWindow ? windows : logs;
}

Charge FiveOf(uint64_t key = 1, Algorithm algorithm = Algorithm::kTokenBucket) {
  return ChargeFor(Five(algorithm), 0, key);
}

Status SpendAs(Storage& storage, Charge& charge, uint64_t id, Micros now = kStart) {
  Operation operation{{&charge, 1}, now, Mode::kSpend};
  operation.id = Hash128{id, ~id};
  return storage.Apply(operation);
}

uint64_t Left(Storage& storage, Algorithm algorithm = Algorithm::kTokenBucket, uint64_t key = 1) {
  Charge charge = FiveOf(key, algorithm);
  EXPECT_EQ(ApplyOne(storage, charge, kStart, Mode::kPeek), Status::kOk);
  return charge.outcome.remaining;
}

TEST(Once, ARepeatIsTheSameAnswerAndChargedOnce) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  const auto other_gateway = Open(server.url(kUsual));
  for (const Algorithm algorithm : {Algorithm::kTokenBucket, Algorithm::kFixedWindow, Algorithm::kSlidingLog}) {
    for (int repeat = 0; repeat < 4; ++repeat) {
      Charge charge = FiveOf(1, algorithm);
      Operation operation{{&charge, 1}, kStart + static_cast<Micros>(repeat) * 1'000'000, Mode::kSpend};
      operation.id = Hash128{77, static_cast<uint64_t>(algorithm)};
      ASSERT_EQ((repeat % 2 == 0 ? *storage : *other_gateway).Apply(operation), Status::kOk);
      EXPECT_TRUE(charge.outcome.allowed);
      EXPECT_EQ(charge.outcome.remaining, 4u) << repeat;
      EXPECT_EQ(operation.now, kStart) << "the instant of the first";
    }
    EXPECT_EQ(Left(*storage, algorithm), 4u);
  }
}

TEST(Once, AnotherIdIsAnotherRequestAndNoneIsAlwaysNew) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  ASSERT_EQ(SpendAs(*storage, charge, 2), Status::kOk);
  ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk);
  ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk);
  EXPECT_EQ(Left(*storage), 1u);
}

TEST(Once, ADenialIsDecidedAnew) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  Charge all = FiveOf();
  all.cost = 5;
  ASSERT_EQ(ApplyOne(*storage, all), Status::kOk);
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  EXPECT_FALSE(charge.outcome.allowed);
  ASSERT_EQ(SpendAs(*storage, charge, 1, kStart + 3'600'000'000), Status::kOk);
  EXPECT_TRUE(charge.outcome.allowed) << "whoever waited as told gets in";
}

TEST(Once, SeveralLimitsAreOneAct) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  for (int repeat = 0; repeat < 3; ++repeat) {
    Charge charges[] = {FiveOf(1), FiveOf(2, Algorithm::kSlidingLog), FiveOf(3, Algorithm::kFixedWindow)};
    Operation operation{charges, kStart, Mode::kSpend};
    operation.id = Hash128{5, 5};
    ASSERT_EQ(storage->Apply(operation), Status::kOk);
    for (const Charge& charge : charges) EXPECT_EQ(charge.outcome.remaining, 4u);
  }
}

TEST(Once, TheAnswerIsKeptAsLongAsTheUrlSaysUnderTheTagOfItsStates) {
  RedisServer server;
  const auto storage = Open(server.url(std::string(kUsual) + "&idempotency_ms=5000"));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  std::string kept;
  std::string state;
  for (const std::string& key : server.Keys()) (key.find("}=") == std::string::npos ? state : kept) = key;
  ASSERT_FALSE(kept.empty());
  EXPECT_EQ(kept.substr(0, kept.find('}')), state.substr(0, state.find('}')));
  const int64_t left = server.Integer({"PTTL", kept});
  EXPECT_GT(left, 0);
  EXPECT_LE(left, 5000);
}

TEST(Once, WhateverElseLiesThereIsNoAnswer) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  for (const std::string& key : server.Keys()) {
    if (key.find("}=") != std::string::npos) server.Do({"SET", key, "Dsomething"});
  }
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  EXPECT_EQ(charge.outcome.remaining, 3u);
}

// B180: the script ran, its reply is gone. Under an id it may be asked again.
TEST(Once, ALostReplyIsAskedAgainAndChargedOnce) {
  RedisServer server;
  Relay relay(server.port());
  const auto direct = Open(server.url(kUsual));
  const auto storage = Open(relay.url(kUsual));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  for (uint64_t id = 2; id <= 4; ++id) {
    relay.lose_next = 1;
    EXPECT_EQ(SpendAs(*storage, charge, id), Status::kOk);
    EXPECT_EQ(charge.outcome.remaining, 5 - id);
  }
  EXPECT_EQ(relay.lost, 3);
  EXPECT_EQ(Left(*direct), 1u);
}

TEST(Once, ItIsAskedAgainOnceAndNotAfterItsDeadline) {
  RedisServer server;
  Relay relay(server.port());
  const auto direct = Open(server.url(kUsual));
  const auto patient = Open(relay.url(kUsual));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*patient, charge, 1), Status::kOk);
  relay.lose_replies = true;
  EXPECT_EQ(SpendAs(*patient, charge, 2), Status::kStore) << "the connection does not come back";
  relay.lose_replies = false;
  ASSERT_TRUE(Eventually([&] { return SpendAs(*patient, charge, 2) == Status::kOk; }));
  EXPECT_EQ(charge.outcome.remaining, 3u);
  EXPECT_EQ(Left(*direct), 3u);
}

TEST(Once, ScriptsFlushedAreLoadedAgain) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  Charge charge = FiveOf();
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  server.Do({"SCRIPT", "FLUSH"});
  ASSERT_EQ(SpendAs(*storage, charge, 1), Status::kOk);
  EXPECT_EQ(charge.outcome.remaining, 4u);
}

}  // namespace
}  // namespace ratel::test
