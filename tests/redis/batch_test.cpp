// Decisions that share a call of the script: the same answers as alone, in the same order, and the same values left behind; and each way in which such a
// call fails.
#include <random>
#include <set>

#include "redis/load.hpp"
#include "redis/peer.hpp"
#include "redis/support.hpp"

namespace ratel::test {
namespace {

const std::string kAlone = std::string(kPatient) + "&batch=1";

/// Requests that are asked together, and what has come of them.
class Questions {
 public:
  explicit Questions(size_t count) : charges_(count), statuses_(count, Status::kInternal) {}

  void Set(size_t i, std::vector<Charge> charges, Micros now, std::optional<Hash128> id = {}) {
    charges_[i] = std::move(charges);
    operations_.push_back({{}, now, Mode::kSpend});
    operations_.back().id = id;
  }
  void AskAll(Storage& storage) {
    Tie();
    storage.ApplyMany(operations_, statuses_);
  }
  void AskEach(Storage& storage) {
    Tie();
    for (size_t i = 0; i < operations_.size(); ++i) statuses_[i] = storage.Apply(operations_[i]);
  }

  size_t size() const { return charges_.size(); }
  const std::vector<Charge>& charges(size_t i) const { return charges_[i]; }
  Status status(size_t i) const { return statuses_[i]; }
  Micros now(size_t i) const { return operations_[i].now; }

 private:
  /// This may be a copy.
  void Tie() {
    for (size_t i = 0; i < operations_.size(); ++i) operations_[i].charges = charges_[i];
  }

  std::vector<std::vector<Charge>> charges_;
  std::vector<Operation> operations_;
  std::vector<Status> statuses_;
};

/// A request for each of these keys.
Questions QuestionsFor(const Versions& versions, const std::vector<uint64_t>& keys, uint64_t cost = 1) {
  Questions questions(keys.size());
  for (size_t i = 0; i < keys.size(); ++i) questions.Set(i, {ChargeFor(versions, 0, keys[i], cost)}, kStart);
  return questions;
}

size_t Count(const Questions& questions, Status status) {
  size_t count = 0;
  for (size_t i = 0; i < questions.size(); ++i) count += questions.status(i) == status;
  return count;
}

testing::AssertionResult Same(const Questions& together, const Questions& alone) {
  for (size_t i = 0; i < together.size(); ++i) {
    const auto different = [&] { return testing::AssertionFailure() << "question " << i << " of " << together.size(); };
    if (together.status(i) != alone.status(i)) return different() << ": status";
    if (together.now(i) != alone.now(i)) return different() << ": instant";
    if (together.status(i) != Status::kOk) continue;
    for (size_t n = 0; n < together.charges(i).size(); ++n) {
      const Charge& one = together.charges(i)[n];
      const Charge& other = alone.charges(i)[n];
      if (!SameAnswer(one.outcome, other.outcome))
        return different() << " charge " << n << ", " << ToText(one.numbers->spec.algorithm) << " cost " << one.cost
                           << ": remaining " << one.outcome.remaining << " and " << other.outcome.remaining
                           << ", allowed " << one.outcome.allowed << " and " << other.outcome.allowed;
    }
  }
  return testing::AssertionSuccess();
}

/// Everything that lies on a server, but for when it ends.
std::vector<std::string> Contents(RedisServer& server) {
  std::vector<std::string> contents;
  for (const std::string& key : server.Keys()) contents.push_back(key + " " + server.Do({"DUMP", key}));
  return contents;
}

long long ScriptCalls(RedisServer& server) {
  const std::string line = server.Info("commandstats", "cmdstat_evalsha");
  return line.empty() ? 0 : std::stoll(line.substr(line.find('=') + 1));
}

std::vector<Versions> LimitsOf(uint64_t seed) {
  std::mt19937_64 random(seed * 31);
  std::vector<Versions> limits;
  for (const Algorithm algorithm : kAlgorithms) {
    limits.push_back(Versions({Make(algorithm, 3 + random() % 9, 1'000'000),
                               Make(algorithm, 40 + random() % 9, 2'000'000), Make(algorithm, 10, 500'000)}));
  }
  return limits;
}

struct Mix {
  uint64_t seed;
  size_t turns;
  uint64_t keys;
  bool only_plain;  ///< else also several limits, shadows and ids
  bool
      reloads;  ///< only with those alone: who has one of several limits converted is overtaken by whoever needs the others
};

/// Turns of random requests, each turn asked together.
class Traffic {
 public:
  explicit Traffic(const Mix& mix) : mix_(mix), limits_(LimitsOf(mix.seed)), random_(mix.seed) {}

  uint64_t Pick(uint64_t below) { return random_() % below; }

  Questions NextTurn() {
    if (mix_.reloads && Pick(12) == 0) version_ = static_cast<uint16_t>(Pick(3));
    now_ += Pick(3) == 0 ? Pick(1'500'000) : Pick(1000);
    Questions questions(1 + Pick(90));
    for (size_t i = 0; i < questions.size(); ++i) {
      Micros now = now_ + Pick(40);
      if (Pick(20) == 0) now -= Pick(Pick(4) == 0 ? 30'000'000 : 900'000);
      std::vector<Charge> charges;
      std::set<std::pair<uint64_t, uint64_t>> used;
      for (uint64_t more = !mix_.only_plain && Pick(6) == 0 ? 1 + Pick(4) : 1; more > 0; --more) {
        const uint64_t limit = Pick(limits_.size());
        const uint64_t key = Pick(mix_.keys);
        if (!used.emplace(limit, key).second) continue;
        const uint64_t cost = Pick(4) == 0 ? 1 + Pick(20) : 1;
        charges.push_back(
            ChargeFor(limits_[limit], version_, limit * 1000 + key, cost, !mix_.only_plain && Pick(8) == 0));
      }
      std::optional<Hash128> id;
      if (!mix_.only_plain && charges.size() == 1 && Pick(5) == 0) {
        const Charge& charge = charges.front();
        id = Hash128{charge.key.low + charge.cost, Pick(3) * 2 + charge.shadow};
      }
      questions.Set(i, std::move(charges), now, id);
    }
    return questions;
  }

 private:
  const Mix mix_;
  const std::vector<Versions> limits_;
  std::mt19937_64 random_;
  uint16_t version_ = 0;
  Micros now_ = kStart;
};

/// The same traffic against one server with and one without sharing. `disturb` is done to both before each turn.
void FollowBoth(const Mix& mix, const std::function<void(Traffic&, RedisServer&, RedisServer&)>& disturb) {
  RedisServer shared;
  RedisServer plain;
  const auto together = Open(shared.unix_url(kPatient));
  const auto alone = Open(plain.unix_url(kAlone));
  Traffic traffic(mix);
  // The script for ids is loaded when the first is met, which is then overtaken.
  for (Storage* storage : {together.get(), alone.get()}) {
    Charge charge = ChargeFor(Hourly(), 0, 1);
    Operation operation{{&charge, 1}, kStart, Mode::kSpend};
    operation.id = Hash128{1, 2};
    ASSERT_EQ(storage->Apply(operation), Status::kOk);
  }
  for (size_t turn = 0; turn < mix.turns; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    disturb(traffic, shared, plain);
    Questions one = traffic.NextTurn();
    Questions other = one;
    one.AskAll(*together);
    other.AskEach(*alone);
    ASSERT_EQ(Count(one, Status::kOk), one.size());
    ASSERT_TRUE(Same(one, other));
    if (turn % 10 == 9) {
      ASSERT_EQ(Contents(shared), Contents(plain));
    }
  }
  EXPECT_LT(ScriptCalls(shared) + ScriptCalls(shared) / 5, ScriptCalls(plain)) << "calls were shared";
}

void Nothing(Traffic&, RedisServer&, RedisServer&) {}

TEST(Batch, AnswersAndStoresAsAlone) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FollowBoth({seed, 60, seed % 2 == 0 ? 3u : 40u, true, seed > 2}, Nothing);
    if (HasFatalFailure()) return;
  }
}

TEST(Batch, AnswersAndStoresAsAloneAmongRequestsOfAllKinds) {
  for (uint64_t seed = 1; seed <= 4; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    FollowBoth({seed, 60, seed % 2 == 0 ? 3u : 40u, false, false}, Nothing);
    if (HasFatalFailure()) return;
  }
}

TEST(Batch, ValuesThatAreNotOursHarmNobodyElse) {
  bool reloads = false;
  const auto spoil = [&](Traffic& traffic, RedisServer& one, RedisServer& other) {
    const std::vector<std::string> keys = one.Keys();
    for (uint64_t n = keys.empty() ? 0 : 1 + traffic.Pick(6); n > 0; --n) {
      const std::string& key = keys[traffic.Pick(keys.size())];
      if (key == "rl:numbers" || key.find("}=") != std::string::npos) continue;
      const std::vector<std::vector<std::string>> commands = {
          {"SET", key, "not a state"},
          {"SET", key, ""},
          {"HSET", key, "a", "b"},
          {"SADD", key, "a"},
          {"RPUSH", key, "a", "b", "c"},
          {"SETRANGE", key, "3", "\xff\xff\xff"},
          {"APPEND", key, "x"},
          // Under numbers that nobody knows, which have to be asked for.
          {"SET", key, std::string(17, '\xff')},
          {"SET", key, std::string(12, '\0')},
          {"SETRANGE", key, "0", "abc"}};
      const std::vector<std::string>& command = commands[traffic.Pick(commands.size() - (reloads ? 0 : 3))];
      if (command[0] != "SETRANGE" && command[0] != "APPEND") {
        one.Do({"DEL", key});
        other.Do({"DEL", key});
      }
      ASSERT_EQ(one.Do(command), other.Do(command));
    }
  };
  for (uint64_t seed = 11; seed <= 14; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    reloads = seed % 2 == 0;
    FollowBoth({seed, 60, 4, reloads, reloads}, spoil);
    if (HasFatalFailure()) return;
  }
}

TEST(Batch, AnswersAsTheEngine) {
  RedisServer server;
  const auto storage = Open(server.unix_url(kPatient));
  ReferenceStorage reference;
  Traffic traffic({77, 0, 6, true, true});
  for (int turn = 0; turn < 150; ++turn) {
    SCOPED_TRACE("turn " + std::to_string(turn));
    Questions one = traffic.NextTurn();
    Questions other = one;
    one.AskAll(*storage);
    other.AskEach(reference);
    ASSERT_TRUE(Same(one, other));
  }
}

TEST(Batch, ByTheServersTimeAllAreDecidedAtOneInstant) {
  RedisServer server;
  const auto storage = Open(server.url("deadline_ms=20000"));
  const Versions daily({Make(Algorithm::kTokenBucket, 100, 86'400'000'000)});
  for (int i = 0; i < 3; ++i) {
    Questions questions = QuestionsFor(daily, {1, 2, 3, 2, 1, 4});
    questions.AskAll(*storage);
    ASSERT_EQ(Count(questions, Status::kOk), questions.size());
    EXPECT_GT(questions.now(0), Micros{1'700'000'000'000'000});
    std::set<Micros> instants;
    for (size_t n = 0; n < questions.size(); ++n) instants.insert(questions.now(n));
    EXPECT_EQ(instants.size(), 1u);
    EXPECT_EQ(questions.charges(3)[0].outcome.remaining, questions.charges(1)[0].outcome.remaining - 1);
  }
}

TEST(Batch, OneKeyManyTimesGetsItsLimitInOrder) {
  RedisServer server;
  const auto storage = Open(server.url(kPatient));
  const Versions versions({Make(Algorithm::kFixedWindow, 8, 3'600'000'000)});
  Questions questions = QuestionsFor(versions, std::vector<uint64_t>(200, 1));
  questions.AskAll(*storage);
  for (size_t i = 0; i < questions.size(); ++i) {
    ASSERT_EQ(questions.status(i), Status::kOk);
    const Outcome& outcome = questions.charges(i)[0].outcome;
    ASSERT_EQ(outcome.allowed, i < 8) << i;
    ASSERT_EQ(outcome.remaining, i < 8 ? 7 - i : 0);
  }
}

TEST(Batch, OneKeyIsAskedForCostsUpToTheBounds) {
  RedisServer server;
  const auto storage = Open(server.url(kPatient));
  ASSERT_EQ(Spend(*storage), Status::kOk);
  uint64_t key = 0;
  for (const auto& [algorithm, largest] : {std::pair{Algorithm::kTokenBucket, uint64_t{1'000'000'000'000'000}},
                                           {Algorithm::kLeakyBucket, 1'000'000'000'000'000},
                                           {Algorithm::kFixedWindow, 3'000'000'000'000'000},
                                           {Algorithm::kSlidingCounter, 2'147'483'647}}) {
    for (const uint64_t limit : {uint64_t{1}, uint64_t{7}, largest}) {
      SCOPED_TRACE(std::string(ToText(algorithm)) + " of " + std::to_string(limit));
      const Versions versions({Make(algorithm, limit, 1'000'000)});
      const uint64_t costs[] = {limit + 1,
                                uint64_t{1} << 53,
                                1,
                                (uint64_t{1} << 53) - 1,
                                limit / 2 + 1,
                                INT64_MAX - 1,
                                (uint64_t{1} << 53) + 1,
                                2,
                                limit,
                                INT64_MAX};
      ReferenceStorage reference;
      ++key;
      Questions one(64);
      for (size_t i = 0; i < one.size(); ++i)
        one.Set(i, {ChargeFor(versions, 0, 1000 + key, costs[i % std::size(costs)])}, kStart + 90'000 * i);
      Questions other = one;
      const long long before = ScriptCalls(server);
      one.AskAll(*storage);
      EXPECT_LE(ScriptCalls(server) - before, 2) << "most share a call";
      other.AskEach(reference);
      ASSERT_EQ(Count(one, Status::kOk), one.size());
      ASSERT_TRUE(Same(one, other));
    }
  }
}

TEST(Batch, ACallTakesAsManyAsTheUrlSays) {
  for (const auto& [batch, calls] : {std::pair{1, 130}, {16, 9}, {64, 3}}) {
    RedisServer server;
    const auto storage = Open(server.url(std::string(kPatient) + "&batch=" + std::to_string(batch)));
    ASSERT_EQ(Spend(*storage), Status::kOk);
    Questions warm = QuestionsFor(Hourly(), {1, 2});
    warm.AskAll(*storage);
    const long long before = ScriptCalls(server);
    std::vector<uint64_t> keys;
    for (uint64_t key = 0; key < 130; ++key) keys.push_back(key);
    Questions questions = QuestionsFor(Hourly(), keys);
    questions.AskAll(*storage);
    EXPECT_EQ(Count(questions, Status::kOk), 130u);
    EXPECT_EQ(ScriptCalls(server) - before, calls);
  }
}

TEST(Batch, WhoMayNotReadManyKeysAtOnceIsAnsweredAllTheSame) {
  RedisServer server;
  server.Do({"ACL", "SETUSER", "limiter", "on", ">pw", "~rl*", "+@all", "-mget"});
  const auto storage =
      Open("redis://limiter:pw@127.0.0.1:" + std::to_string(server.port()) + "?" + std::string(kPatient));
  const Versions versions({Make(Algorithm::kTokenBucket, 3, 3'600'000'000)});
  for (const bool is_first : {true, false}) {
    Questions questions = QuestionsFor(versions, {1, 2, 1, 1, 2, 1});
    questions.AskAll(*storage);
    EXPECT_EQ(Count(questions, Status::kOk), questions.size());
    for (size_t i = 0; i < questions.size(); ++i)
      EXPECT_EQ(questions.charges(i)[0].outcome.allowed, is_first ? i != 5 : i == 1) << i;
  }
}

// ---- Failures, under the thread sanitizer as well ---------------------------------------------------------------------------------

const std::vector<uint64_t> kTwenty = {1, 2, 1, 3, 1, 2, 1, 4, 1, 2, 1, 3, 1, 2, 1, 5, 1, 2, 1, 3};

TEST(FailureOfABatch, ScriptsFlushedAreLoadedAgainAtOnce) {
  RedisServer server;
  const auto storage = Open(server.url(kPatient));
  for (int i = 0; i < 10; ++i) {
    if (i % 3 == 0) server.Do({"SCRIPT", "FLUSH"});
    Questions questions = QuestionsFor(Hourly(), kTwenty);
    questions.AskAll(*storage);
    ASSERT_EQ(Count(questions, Status::kOk), questions.size()) << i;
  }
  EXPECT_EQ(Spent(*storage, 1), 100u);
  EXPECT_EQ(Spent(*storage, 2), 50u);
}

TEST(FailureOfABatch, AfterAFlushWhatHasToBeConvertedIsAnsweredAsWell) {
  // Both scripts are gone, and both are needed.
  RedisServer server;
  const Versions other({Make(Algorithm::kFixedWindow, 500, 3'600'000'000)});
  const auto before = Open(server.url(kPatient));
  const auto storage = Open(server.url(kPatient));
  ASSERT_EQ(Spend(*before, 1), Status::kOk);
  ASSERT_EQ(Spend(*storage, 9), Status::kOk);
  server.Do({"SCRIPT", "FLUSH"});
  Questions questions = QuestionsFor(other, {1, 2, 3, 1});
  questions.AskAll(*storage);
  ASSERT_EQ(Count(questions, Status::kOk), questions.size());
  EXPECT_EQ(questions.charges(1)[0].outcome.remaining, 499u);
  std::set<uint64_t> of_the_first = {questions.charges(0)[0].outcome.remaining,
                                     questions.charges(3)[0].outcome.remaining};
  EXPECT_EQ(of_the_first, (std::set<uint64_t>{497, 498}));
}

TEST(FailureOfABatch, OutOfMemoryRefusesSpendsAndLeavesDenials) {
  RedisServer server;
  const auto storage = Open(server.url(kPatient));
  const Heard heard(*storage);
  const Versions versions({Make(Algorithm::kTokenBucket, 2, 3'600'000'000)});
  Questions questions = QuestionsFor(versions, {1, 1, 2});
  questions.AskAll(*storage);
  ASSERT_EQ(Count(questions, Status::kOk), questions.size());
  server.Do({"CONFIG", "SET", "maxmemory", "1"});
  Questions full = QuestionsFor(versions, {2, 1, 3, 1, 2});
  full.AskAll(*storage);
  for (size_t i = 0; i < full.size(); ++i) {
    const bool denial = i == 1 || i == 3;
    EXPECT_EQ(full.status(i), denial ? Status::kOk : Status::kStore) << i;
    EXPECT_FALSE(denial && full.charges(i)[0].outcome.allowed) << i;
  }
  EXPECT_TRUE(heard.Mentions("OOM")) << heard.all();
  server.Do({"CONFIG", "SET", "maxmemory", "0"});
  Questions again = QuestionsFor(versions, {2, 2, 3, 3, 3});
  again.AskAll(*storage);
  ASSERT_EQ(Count(again, Status::kOk), again.size());
  for (size_t i = 0; i < again.size(); ++i) EXPECT_EQ(again.charges(i)[0].outcome.allowed, i != 1 && i != 4) << i;
}

// B180 for several: the script ran, its reply is gone. To ask again would spend twice.
TEST(FailureOfABatch, ALostReplyIsNeverReplayed) {
  RedisServer server;
  Relay relay(server.port());
  const auto direct = Open(server.url(kPatient));
  const auto storage = Open(relay.url(kPatient));
  constexpr uint64_t kRounds = 4;
  for (uint64_t round = 0; round < kRounds; ++round) {
    ASSERT_TRUE(Eventually([&] {
      Questions warm = QuestionsFor(Hourly(), {8, 9});
      warm.AskAll(*storage);
      return Count(warm, Status::kOk) == 2;
    }));
    relay.lose_replies = true;
    Questions questions = QuestionsFor(Hourly(), kTwenty);
    questions.AskAll(*storage);
    EXPECT_EQ(Count(questions, Status::kStore), questions.size());
    relay.lose_replies = false;
  }
  EXPECT_EQ(Spent(*direct, 1), 10 * kRounds) << "each was carried out once";
  EXPECT_EQ(Spent(*direct, 2), 5 * kRounds);
}

TEST(FailureOfABatch, WhatBrokeOffFailsForAllAndIsNotAskedAgain) {
  // What was written until then stays written: here all of it.
  for (const char* reply : {"-ERR Error running script: it broke off\r\n", "*2\r\n$7\r\n1234567\r\n$1\r\nA\r\n",
                            "$1\r\nA\r\n", "*0\r\n", "*3\r\n$7\r\n1234567\r\n$1\r\nX\r\n$1\r\nA\r\n",
                            "*3\r\n$1\r\nx\r\n$1\r\nA\r\n$1\r\nA\r\n", "*3\r\n$7\r\n1234567\r\n$3\r\nAxx\r\n:5\r\n"}) {
    SCOPED_TRACE(reply);
    RedisServer server;
    Relay relay(server.port());
    const auto direct = Open(server.url(kPatient));
    const auto storage = Open(relay.url(kPatient));
    Questions warm = QuestionsFor(Hourly(), {8, 9});
    warm.AskAll(*storage);
    ASSERT_EQ(Count(warm, Status::kOk), 2u);
    const long long before = ScriptCalls(server);
    relay.instead = reply;
    Questions questions = QuestionsFor(Hourly(), {1, 2});
    questions.AskAll(*storage);
    EXPECT_GE(Count(questions, Status::kStore), 1u);
    EXPECT_EQ(ScriptCalls(server) - before, 1);
    EXPECT_EQ(Spent(*direct, 1), 1u);
    EXPECT_EQ(Spent(*direct, 2), 1u);
    ASSERT_TRUE(Eventually([&] { return Spend(*storage, 3) == Status::kOk; }));
  }
}

TEST(FailureOfABatch, AReplicaIsLeftForWhoeverIsMasterLater) {
  RedisServer server;
  const auto storage = Open(server.url(kPatient));
  const Heard heard(*storage);
  Questions questions = QuestionsFor(Hourly(), kTwenty);
  questions.AskAll(*storage);
  ASSERT_EQ(Count(questions, Status::kOk), questions.size());
  server.Do({"REPLICAOF", "127.0.0.1", "1"});
  Questions refused = QuestionsFor(Hourly(), kTwenty);
  refused.AskAll(*storage);
  EXPECT_EQ(Count(refused, Status::kStore), refused.size());
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("READONLY"); })) << heard.all();
  server.Do({"REPLICAOF", "NO", "ONE"});
  EXPECT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
  EXPECT_EQ(Spent(*storage, 1), 10u);
}

TEST(FailureOfABatch, LateRepliesAreNobodysAndTheNextOnesTheirOwn) {
  RedisServer server;
  const auto storage = Open(server.url("deadline_ms=40&time=caller"));
  const Heard heard(*storage);
  ASSERT_TRUE(Eventually([&] { return Spend(*storage, 7) == Status::kOk; }));
  server.Pause();
  Questions late = QuestionsFor(Hourly(), kTwenty);
  late.AskAll(*storage);
  EXPECT_EQ(Count(late, Status::kStore), late.size());
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("failures in a row"); })) << "as for twenty alone";
  server.Resume();
  std::array<uint64_t, 4> spent{};
  int answered = 0;
  EXPECT_TRUE(Eventually([&] {
    Questions questions = QuestionsFor(Hourly(), {100, 101, 102, 103, 101});
    questions.AskAll(*storage);
    for (size_t i = 0; i < questions.size(); ++i) {
      if (questions.status(i) != Status::kOk) continue;
      uint64_t& before = spent[i == 4 ? 1 : i];
      const uint64_t told = 1'000'000 - questions.charges(i)[0].outcome.remaining;
      EXPECT_GT(told, before) << i;
      before = told;
      ++answered;
    }
    return answered > 100;
  }));
}

TEST(FailureOfABatch, ManyThreadsGetExactlyTheLimits) {
  RedisServer server;
  const Versions versions({Make(Algorithm::kTokenBucket, 300, 86'400'000'000)});
  std::atomic<int> admitted{0};
  std::vector<std::unique_ptr<Storage>> gateways;
  for (int i = 0; i < 3; ++i) gateways.push_back(Open(server.url("deadline_ms=30000&connections=2")));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 6; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 10; ++round) {
        Questions questions = QuestionsFor(versions, kTwenty);
        questions.AskAll(*gateways[i % 3]);
        for (size_t n = 0; n < questions.size(); ++n)
          admitted += questions.status(n) == Status::kOk && questions.charges(n)[0].outcome.allowed;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // Of a key's askings 60 times as many as in kTwenty: 600, 300, 180, 60 and 60.
  EXPECT_EQ(admitted, 300 + 300 + 180 + 60 + 60);
}

}  // namespace
}  // namespace ratel::test
