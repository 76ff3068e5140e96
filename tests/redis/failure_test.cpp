// Each way in which a Redis fails: what is answered meanwhile, that nothing is spent twice, and that it ends by itself.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>
#include <thread>

#include "redis/load.hpp"
#include "redis/peer.hpp"
#include "redis/support.hpp"

namespace ratel::test {
namespace {

using std::chrono::milliseconds;

/// Ends asynchronous calls, and counts how.
class Tally final : public Completion {
 public:
  void Finish(Status status) noexcept override {
    ++(status == Status::kOk ? ok : status == Status::kCancelled ? cancelled : failed);
  }
  std::atomic<int> ok{0};
  std::atomic<int> failed{0};
  std::atomic<int> cancelled{0};
  int ended() const { return ok + failed + cancelled; }
};

constexpr const char* kUsual = "deadline_ms=1000&time=caller";

TEST(Failure, ScriptsFlushedAreLoadedAgainAtOnce) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  for (int i = 0; i < 20; ++i) {
    if (i % 5 == 0) server.Do({"SCRIPT", "FLUSH"});
    ASSERT_EQ(Spend(*storage), Status::kOk) << i;
  }
  EXPECT_EQ(Spent(*storage), 20u);
}

TEST(Failure, EverythingFlushedStartsNew) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  ASSERT_EQ(Spend(*storage), Status::kOk);
  server.Do({"FLUSHALL"});
  ASSERT_EQ(Spend(*storage), Status::kOk);
  EXPECT_EQ(Spent(*storage), 1u);
}

TEST(Failure, StartsWithTheServerDownAndFindsItLater) {
  RedisServer server({}, false);
  const auto storage = Open(server.url(kUsual));
  const Heard heard(*storage);
  EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("Connection refused"); })) << heard.all();
  server.Start();
  EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kOk; }));
  EXPECT_TRUE(heard.Mentions("connected again"));
  EXPECT_EQ(Spent(*storage), 1u);
}

TEST(Failure, KilledAndStartedAgain) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  ASSERT_EQ(Spend(*storage), Status::kOk);
  for (int round = 0; round < 3; ++round) {
    server.Kill();
    EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kStore; }));
    server.Start();
    EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kOk; }));
  }
}

TEST(Failure, AStoppedServerCostsNoMoreThanTheDeadlineAndMixesNoReplies) {
  RedisServer server;
  const auto storage = Open(server.url("deadline_ms=20&time=caller"));
  ASSERT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
  server.Pause();
  int failed = 0;
  for (int i = 0; i < 10; ++i) failed += Spend(*storage, 8) != Status::kOk;
  EXPECT_EQ(failed, 10);
  server.Resume();
  // Each key's answer is its own, whatever comes late.
  std::array<uint64_t, 4> spent{};
  for (int round = 0; round < 50; ++round) {
    for (uint64_t key = 100; key < 104; ++key) {
      Charge charge = ChargeFor(Hourly(), 0, key);
      if (ApplyOne(*storage, charge) != Status::kOk) continue;
      const uint64_t told = 1'000'000 - charge.outcome.remaining;
      ASSERT_GT(told, spent[key - 100]) << "key " << key;
      spent[key - 100] = told;
    }
  }
  EXPECT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
}

TEST(Failure, SilenceForALongTimeEndsTheConnection) {
  RedisServer server;
  const auto storage = Open(server.url("deadline_ms=20&time=caller"));
  const Heard heard(*storage);
  ASSERT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
  server.Pause();
  EXPECT_TRUE(Eventually([&] { return Spend(*storage, 8) != Status::kOk && heard.Mentions("no reply"); }));
  server.Resume();
  EXPECT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
}

// B180: the script ran, its reply is gone. To ask again would spend twice.
TEST(Failure, ALostReplyIsNeverReplayed) {
  RedisServer server;
  Relay relay(server.port());
  const auto direct = Open(server.url(kUsual));
  const auto storage = Open(relay.url(kUsual));
  ASSERT_EQ(Spend(*storage), Status::kOk);
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(Eventually([&] { return Spend(*storage, 2) == Status::kOk; }));
    relay.lose_replies = true;
    EXPECT_EQ(Spend(*storage), Status::kStore);
    relay.lose_replies = false;
  }
  EXPECT_EQ(relay.lost, kRounds);
  EXPECT_EQ(Spent(*direct), 1u + kRounds) << "each was carried out once";
}

TEST(Failure, WithoutThePasswordAndWithAWrongOne) {
  RedisServer server;
  server.Do({"CONFIG", "SET", "requirepass", "right"});
  server.password = "right";
  const std::string at = "@127.0.0.1:" + std::to_string(server.port()) + "?" + kUsual;
  {
    const auto storage = Open(server.url(kUsual));
    const Heard heard(*storage);
    EXPECT_EQ(Spend(*storage), Status::kStore);
    EXPECT_TRUE(Eventually([&] { return heard.Mentions("NOAUTH"); }));
  }
  {
    const auto storage = Open("redis://:hush-hush" + at);
    const Heard heard(*storage);
    EXPECT_EQ(Spend(*storage), Status::kStore);
    EXPECT_TRUE(Eventually([&] { return heard.Mentions("WRONGPASS"); }));
    EXPECT_FALSE(heard.Mentions("hush"));
    server.Do({"CONFIG", "SET", "requirepass", "hush-hush"});
    server.password = "hush-hush";
    EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kOk; })) << "no restart is needed";
  }
  server.Do({"ACL", "SETUSER", "limiter", "on", ">pw", "~rl*", "+@all"});
  const auto storage = Open("redis://limiter:pw" + at);
  EXPECT_EQ(Spend(*storage), Status::kOk);
}

/// The commands that docs/redis.md wants for the server's user.
std::vector<std::string> CommandsOfTheManual() {
  std::ifstream file(RATEL_SOURCE_DIR "/docs/redis.md");
  const std::string text(std::istreambuf_iterator<char>(file), {});
  const size_t from = text.find("needs these commands");
  const std::string list = text.substr(from, text.find("In a cluster also", from) - from);
  std::vector<std::string> commands;
  for (size_t at = list.find('`'); at != std::string::npos; at = list.find('`', at + 1)) {
    const size_t end = list.find('`', at + 1);
    const std::string word = list.substr(at + 1, end - at - 1);
    if (!word.starts_with("~")) commands.push_back(word);
    at = end;
  }
  return commands;
}

TEST(Failure, TheRightsThatTheManualNamesAreEnough) {
  RedisServer server;
  std::vector<std::string> user = {"ACL", "SETUSER", "limiter", "on", ">pw", "~rl*", "-@all"};
  for (const std::string& command : CommandsOfTheManual()) user.push_back("+" + command);
  ASSERT_GT(user.size(), 20u);
  ASSERT_EQ(server.Do(user), "OK");
  const std::string url =
      "redis://limiter:pw@127.0.0.1:" + std::to_string(server.port()) + "/1?" + std::string(kPatient);
  std::vector<Versions> small;
  std::vector<Versions> large;
  for (const Algorithm algorithm : kAlgorithms) {
    small.push_back(Versions({Make(algorithm, 20, 3'600'000'000)}));
    large.push_back(Versions({Make(algorithm, 40, 3'600'000'000)}));
  }
  // The second knows the numbers of the first from the server alone.
  for (const std::vector<Versions>* limits : {&small, &large}) {
    const auto storage = Open(url);
    const Heard heard(*storage);
    std::vector<Charge> charges;
    for (size_t i = 0; i < limits->size(); ++i) charges.push_back(ChargeFor((*limits)[i], 0, i));
    const auto apply = [&](Mode mode, Micros now, uint64_t id = 0) {
      Operation operation{charges, now, mode};
      operation.charged_at = kStart;
      operation.actual = 0;
      if (id != 0) operation.id = Hash128{id, id};
      EXPECT_EQ(storage->Apply(operation), Status::kOk) << heard.all();
    };
    for (Micros i = 0; i < 30; ++i) apply(Mode::kSpend, kStart + i);
    apply(Mode::kPeek, kStart + 30);
    apply(Mode::kSettle, kStart + 30);
    apply(Mode::kSpend, kStart + 30, 1);
    apply(Mode::kSpend, kStart + 4'000'000'000);
    std::vector<Charge> many(64, ChargeFor((*limits)[0], 0, 100));
    std::vector<Operation> operations;
    for (Charge& charge : many) operations.push_back({{&charge, 1}, kStart});
    std::vector<Status> statuses(many.size(), Status::kInternal);
    storage->ApplyMany(operations, statuses);
    EXPECT_EQ(std::ranges::count(statuses, Status::kOk), 64);
    EXPECT_EQ(heard.all().find("NOPERM"), std::string::npos) << heard.all();
    if (limits == &large) apply(Mode::kForget, kStart);
  }
}

TEST(Failure, WhatMayNotBeReadIsNotTakenForNothing) {
  RedisServer server;
  const std::string url = "redis://limiter:pw@127.0.0.1:" + std::to_string(server.port()) + "?" + std::string(kPatient);
  for (const std::string command : {"get", "lrange", "llen", "lindex"}) {
    for (const Algorithm algorithm : kAlgorithms) {
      SCOPED_TRACE(command + " " + std::string(ToText(algorithm)));
      server.Do({"FLUSHALL"});
      server.Do({"ACL", "SETUSER", "limiter", "on", ">pw", "~rl*", "+@all"});
      const Versions versions({Make(algorithm, 1, 3'600'000'000)});
      const auto storage = Open(url);
      Charge charge = ChargeFor(versions, 0, 1);
      ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
      ASSERT_TRUE(charge.outcome.allowed);
      server.Do({"ACL", "SETUSER", "limiter", "-" + command, "-mget"});
      const bool is_read = (command == "get") == (algorithm != Algorithm::kSlidingLog);
      for (const Mode mode : {Mode::kSpend, Mode::kPeek, Mode::kSpend}) {
        const Status status = ApplyOne(*storage, charge, kStart, mode);
        EXPECT_EQ(status, is_read ? Status::kStore : Status::kOk);
        EXPECT_TRUE(status != Status::kOk || !charge.outcome.allowed);
      }
      Operation again{{&charge, 1}, kStart, Mode::kSpend};
      again.id = Hash128{1, 2};
      EXPECT_EQ(storage->Apply(again), is_read || command == "get" ? Status::kStore : Status::kOk);
    }
  }
}

TEST(Failure, OutOfMemoryRefusesTheSpendAndEndsWithIt) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  const Heard heard(*storage);
  ASSERT_EQ(Spend(*storage), Status::kOk);
  const Versions one({Make(Algorithm::kFixedWindow, 1, 3'600'000'000)});
  Charge full = ChargeFor(one, 0, 2);
  ASSERT_EQ(ApplyOne(*storage, full), Status::kOk);
  server.Do({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < 20; ++i) EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(heard.Mentions("OOM"));
  // What needs no write is answered, and errors that come in time do not open the circuit.
  EXPECT_EQ(ApplyOne(*storage, full), Status::kOk);
  EXPECT_FALSE(full.outcome.allowed);
  EXPECT_EQ(ApplyOne(*storage, full, kStart, Mode::kPeek), Status::kOk);
  EXPECT_FALSE(heard.Mentions("failures in a row")) << heard.all();
  server.Do({"CONFIG", "SET", "maxmemory", "0"});
  EXPECT_EQ(Spend(*storage), Status::kOk);
  EXPECT_EQ(Spent(*storage), 2u);
}

TEST(Failure, WhatSeveralScriptsSayInTurnIsLoggedOnce) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  const Heard heard(*storage);
  const Versions bucket({Make(Algorithm::kTokenBucket, 1000, 3'600'000'000)});
  const Versions log({Make(Algorithm::kSlidingLog, 1000, 3'600'000'000)});
  server.Do({"CONFIG", "SET", "maxmemory", "1"});
  for (int i = 0; i < 100; ++i) {
    for (const Versions* versions : {&bucket, &log}) {
      Charge charge = ChargeFor(*versions, 0, 1);
      EXPECT_EQ(ApplyOne(*storage, charge), Status::kStore);
    }
  }
  EXPECT_TRUE(heard.Mentions("OOM"));
  EXPECT_LT(heard.lines().size(), 100u) << heard.all();
}

TEST(Failure, AReplicaIsLeftForWhoeverIsMasterLater) {
  RedisServer server;
  const auto storage = Open(server.url(kUsual));
  const Heard heard(*storage);
  ASSERT_EQ(Spend(*storage), Status::kOk);
  server.Do({"REPLICAOF", "127.0.0.1", "1"});
  EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("READONLY"); })) << heard.all();
  server.Do({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kOk; }));
}

TEST(Failure, AReplicaIsLeftAlsoWhenItSaysFirstWhereInTheScriptItWas) {
  RedisServer server;
  Relay relay(server.port());
  const auto storage = Open(relay.url(kUsual));
  const Heard heard(*storage);
  ASSERT_EQ(Spend(*storage), Status::kOk);
  relay.instead =
      "-ERR Error running script (call to f_1): @user_script:9: @user_script: 9: -READONLY You can't write against a "
      "read only replica.\r\n";
  EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return Spend(*storage) == Status::kOk; }));
  EXPECT_TRUE(heard.Mentions("connected again")) << heard.all();
}

TEST(Failure, AServerThatIsLoadingOrIsNoRedis) {
  const std::pair<const char*, const char*> cases[] = {
      {"-LOADING Redis is loading the dataset in memory\r\n", "LOADING"},
      {"HTTP/1.1 400 Bad Request\r\n\r\n", "Redis protocol"},
      {"-NOPERM this user has no permissions to run the 'script|load' command\r\n", "NOPERM"},
  };
  for (const auto& [reply, reason] : cases) {
    Parrot parrot(reply);
    const auto storage = Open(parrot.url(kUsual));
    const Heard heard(*storage);
    EXPECT_EQ(Spend(*storage), Status::kStore);
    EXPECT_TRUE(Eventually([&, part = reason] { return heard.Mentions(part); })) << reason;
  }
  Parrot parrot("+0123456789012345678901234567890123456789\r\n");
  const auto storage = Open(parrot.url(kUsual));
  const Heard heard(*storage);
  EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("a reply that the script does not make"); }));
}

// That it ends is tried in tests/chaos, where the look-up is the test's.
TEST(Failure, NamesThatDoNotResolve) {
  const auto storage = Open("redis://no-such-host.invalid:6379?deadline_ms=50");
  const Heard heard(*storage);
  EXPECT_EQ(Spend(*storage), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("resolve"); }));
}

TEST(Failure, WhatIsInFlightWhenItStopsEndsOnceAsCancelled) {
  RedisServer server;
  constexpr int kCount = 500;
  Tally tally;
  std::vector<Charge> charges;
  for (int i = 0; i < kCount; ++i) charges.push_back(ChargeFor(Hourly(), 0, 1));
  std::vector<Operation> operations;
  for (Charge& charge : charges) operations.push_back({{&charge, 1}, kStart});
  {
    const auto storage = Open(server.url("deadline_ms=30000&time=caller"));
    ASSERT_EQ(Spend(*storage), Status::kOk);
    server.Pause();
    for (Operation& operation : operations) ASSERT_EQ(storage->ApplyAsync(operation, tally), Status::kOk);
    storage->Stop();
    EXPECT_EQ(tally.cancelled, kCount);
    Charge late = ChargeFor(Hourly(), 0, 1);
    EXPECT_NE(ApplyOne(*storage, late), Status::kOk) << "nothing is taken any more";
  }
  EXPECT_EQ(tally.ended(), kCount);
  server.Resume();
}

TEST(Failure, AChildThatWasForkedIsToldAndDoesNotHang) {
  RedisServer server;
  auto storage = Open(server.url(kUsual));
  ASSERT_EQ(Spend(*storage), Status::kOk);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(Spend(*storage) == Status::kStore ? 0 : 1);
  }
  int status = 1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_EQ(Spend(*storage), Status::kOk) << "the parent's connection is as it was";
}

TEST(Failure, AThousandCallsShareOneConnection) {
  RedisServer server;
  const auto storage = Open(server.url("deadline_ms=30000&time=caller"));
  constexpr int kCount = 1000;
  Tally tally;
  std::vector<Charge> charges;
  for (int i = 0; i < kCount; ++i) charges.push_back(ChargeFor(Hourly(), 0, 1));
  std::vector<Operation> operations;
  for (Charge& charge : charges) operations.push_back({{&charge, 1}, kStart});
  ASSERT_EQ(Spend(*storage, 2), Status::kOk);
  for (Operation& operation : operations) ASSERT_EQ(storage->ApplyAsync(operation, tally), Status::kOk);
  ASSERT_TRUE(Eventually([&] { return tally.ended() == kCount; }));
  EXPECT_EQ(tally.ok, kCount);
  std::set<uint64_t> remaining;
  for (const Charge& charge : charges) remaining.insert(charge.outcome.remaining);
  EXPECT_EQ(remaining.size(), size_t{kCount}) << "each saw its own count";
  const std::string stats = server.Do({"INFO", "clients"});
  EXPECT_NE(stats.find("connected_clients:2\r"), std::string::npos) << "ours and the one that asks: " << stats;
}

class Exactly : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, Exactly, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(Exactly, TheLimitFromManyThreadsAndGateways) {
  RedisServer server;
  const Versions versions({Make(GetParam(), 300, 86'400'000'000)});
  std::atomic<int> admitted{0};
  {
    std::vector<std::unique_ptr<Storage>> gateways;
    for (int i = 0; i < 3; ++i) gateways.push_back(Open(server.url("deadline_ms=30000&connections=2")));
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i)
      threads.emplace_back([&, i] { admitted += Admitted(*gateways[static_cast<size_t>(i) % 3], versions, 100); });
    for (std::thread& thread : threads) thread.join();
  }
  // A bucket of 300 a day has a token every 288 s.
  EXPECT_EQ(admitted, 300);
}

TEST_P(Exactly, TheLimitFromManyProcesses) {
  RedisServer server;
  const Versions versions({Make(GetParam(), 200, 86'400'000'000)});
  EXPECT_EQ(AdmittedByProcesses(4, server.url("deadline_ms=30000"), versions, 100), 200);
}

}  // namespace
}  // namespace ratel::test
