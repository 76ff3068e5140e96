// What lies in Redis: how much, for how long, under which names, and what becomes of values that are not ours.
#include <unistd.h>

#include <functional>
#include <random>
#include <set>

#include "redis/support.hpp"
#include "storage/redis/state.hpp"

namespace ratel::test {
namespace {

constexpr Micros kMinute = 60'000'000;

RedisServer& Server() {
  static RedisServer server;
  return server;
}

/// An empty server, and a storage on it.
std::unique_ptr<Storage> Fresh(std::string_view options = kPatient) {
  Server().Do({"FLUSHALL"});
  return Open(Server().unix_url(options));
}

/// The one key there is, but for what numbers stand for.
std::string OnlyKey() {
  std::string key;
  for (const std::string& one : Server().Keys()) {
    if (one == "rl:numbers") continue;
    EXPECT_TRUE(key.empty()) << "more than one key";
    key = one;
  }
  return key;
}

bool Take(Storage& storage, const Versions& versions, Micros now, uint16_t version = 0, uint64_t cost = 1) {
  Charge charge = ChargeFor(versions, version, 1, cost);
  EXPECT_EQ(ApplyOne(storage, charge, now), Status::kOk);
  return charge.outcome.allowed;
}

uint64_t Remaining(Storage& storage, const Versions& versions, Micros now, uint16_t version = 0) {
  Charge charge = ChargeFor(versions, version, 1);
  EXPECT_EQ(ApplyOne(storage, charge, now, Mode::kPeek), Status::kOk);
  return charge.outcome.remaining;
}

class StoredState : public testing::TestWithParam<Algorithm> {
 protected:
  bool is_log() const { return GetParam() == Algorithm::kSlidingLog; }
};
INSTANTIATE_TEST_SUITE_P(All, StoredState, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(StoredState, ADenialWritesNothing) {
  const auto storage = Fresh();
  const Versions versions({Make(GetParam(), 3, kMinute)});
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Take(*storage, versions, kStart));
  ASSERT_FALSE(Take(*storage, versions, kStart));
  const std::string dump = Server().Do({"DUMP", OnlyKey()});
  const std::string offset = Server().Do({"INFO", "persistence"});
  for (int i = 0; i < 10; ++i) ASSERT_FALSE(Take(*storage, versions, kStart + 1));
  EXPECT_EQ(Server().Do({"DUMP", OnlyKey()}), dump);
  const auto changes = [](const std::string& info) {
    return info.substr(info.find("rdb_changes_since_last_save"), 40);
  };
  EXPECT_EQ(changes(Server().Do({"INFO", "persistence"})), changes(offset));
}

TEST_P(StoredState, AKeyLivesAsLongAsItsStateAndNoLonger) {
  // B177, B201: whatever the cost, the expiry is set with the value and covers the state.
  const auto storage = Fresh("deadline_ms=20000&time=caller&ttl_margin_ms=0");
  const Versions versions({Make(GetParam(), 5, kMinute)});
  for (const uint64_t cost : {1, 4, 5}) {
    // The last one's is the first value of its key.
    if (cost == 5) Server().Do({"FLUSHALL"});
    Charge charge = ChargeFor(versions, 0, 1, cost);
    ASSERT_EQ(ApplyOne(*storage, charge, kStart), Status::kOk);
    ASSERT_TRUE(charge.outcome.allowed);
    const auto need = static_cast<long long>((charge.outcome.reset_at - kStart) / 1000);
    const long long left = Server().Integer({"PTTL", OnlyKey()});
    EXPECT_LE(left, need + 1);
    EXPECT_GT(left, need - 10'000);
  }
}

TEST_P(StoredState, AMissingExpiryIsSetAgain) {
  const auto storage = Fresh();
  const Versions versions({Make(GetParam(), 5, kMinute)});
  ASSERT_TRUE(Take(*storage, versions, kStart));
  ASSERT_EQ(Server().Do({"PERSIST", OnlyKey()}), "1");
  ASSERT_TRUE(Take(*storage, versions, kStart));
  EXPECT_GT(Server().Integer({"PTTL", OnlyKey()}), 0);
}

TEST_P(StoredState, ByTheServersTimeAStateEndsWithItsKey) {
  const auto storage = Fresh("deadline_ms=20000");
  const Versions versions({Make(GetParam(), 2, 200'000)});
  const auto fill = [&] {
    int taken = 0;
    for (int i = 0; i < 10; ++i) taken += Take(*storage, versions, 0);
    return taken;
  };
  EXPECT_GE(fill(), 2);
  EXPECT_LE(Server().Integer({"PTTL", OnlyKey()}), 401);
  for (int i = 0; i < 500 && !OnlyKey().empty(); ++i) usleep(10'000);
  EXPECT_EQ(OnlyKey(), "");
  EXPECT_GE(fill(), 2);
}

TEST_P(StoredState, TheServersTimeIsWhatIsToldAndUsed) {
  const auto storage = Fresh("deadline_ms=20000");
  const Versions versions({Make(GetParam(), 5, 3'600'000'000)});
  Charge charge = ChargeFor(versions, 0, 1);
  // A gateway whose clock is wrong by years.
  Operation operation{{&charge, 1}, 17, Mode::kSpend};
  ASSERT_EQ(storage->Apply(operation), Status::kOk);
  EXPECT_GT(operation.now, Micros{1'700'000'000'000'000});
  EXPECT_GT(charge.outcome.reset_at, operation.now);
}

TEST_P(StoredState, ACallersClockThatIsAnHourAheadMintsNothingAndLocksForNoMoreThanAWindow) {
  const auto storage = Fresh();
  const Versions versions({Make(GetParam(), 5, kMinute)});
  constexpr Micros kHour = 3'600'000'000;
  int admitted = 0;
  for (const Micros now : {kStart, kStart + kHour, kStart}) {
    for (int i = 0; i < 20; ++i) admitted += Take(*storage, versions, now);
  }
  EXPECT_EQ(admitted, 10) << "one more bucket";
  EXPECT_TRUE(Take(*storage, versions, kStart + 2 * kMinute));
}

TEST_P(StoredState, ValuesThatAreNotOursCountAsNoneAndAreReplaced) {
  const auto storage = Fresh();
  const Versions versions({Make(GetParam(), 5, kMinute)});
  ASSERT_TRUE(Take(*storage, versions, kStart));
  const std::string key = OnlyKey();
  const std::string own = is_log() ? "" : Server().Do({"GET", key});
  std::vector<std::function<void()>> spoil = {
      [&] {
        Server().Do({"SET", key, "not a state"});
      },
      [&] {
        Server().Do({"SET", key, ""});
      },
      [&] {
        Server().Do({"SET", key, "12345678901234567"});
      },
      [&] {
        Server().Do({"SET", key, std::string(300, 'x')});
      },
      [&] {
        Server().Do({"HSET", key, "a", "b"});
      },
      [&] {
        Server().Do({"SADD", key, "a"});
      },
      [&] {
        Server().Do({"ZADD", key, "1", "a"});
      },
      [&] {
        Server().Do({"XADD", key, "*", "a", "b"});
      },
      [&] {
        Server().Do({"RPUSH", key, "a"});
      },
      [&] {
        Server().Do({"RPUSH", key, "a", "b", "c"});
      },
      [&] {
        Server().Do({"RPUSH", key, "1:0", "b"});
      },
      [&] {
        Server().Do({"RPUSH", key, "99999999999999999999:0", "1", "2"});
      },
  };
  if (!own.empty()) {
    std::string cut = own.substr(0, own.size() - 1);
    std::string wild = own.substr(0, 3) + std::string(own.size() - 3, '\xff');
    std::string none = own.substr(0, 3) + std::string(own.size() - 3, '\0');
    for (const std::string& value : {cut, wild, none, own + "x"})
      spoil.emplace_back([&, value] { Server().Do({"SET", key, value}); });
  } else {
    const std::string meta = Server().Do({"LINDEX", key, "0"});
    const std::string past_all = meta.substr(0, meta.find(':')) + ":5";
    spoil.emplace_back([&, past_all] { Server().Do({"RPUSH", key, past_all, std::to_string(kStart), "4"}); });
    spoil.emplace_back([&, meta] { Server().Do({"RPUSH", key, meta, std::to_string(kStart), "1.5"}); });
    for (const auto& [at, sum] : {std::pair{"x", "y"}, std::pair{"1", ""}, std::pair{"", "1"}}) {
      spoil.emplace_back([&, meta, at = std::string(at), sum = std::string(sum)] {
        Server().Do({"RPUSH", key, meta, at, sum, at, sum});
      });
    }
  }
  for (size_t i = 0; i < spoil.size(); ++i) {
    SCOPED_TRACE("value " + std::to_string(i));
    Server().Do({"DEL", key});
    spoil[i]();
    EXPECT_EQ(Remaining(*storage, versions, kStart), 5u);
    ASSERT_TRUE(Take(*storage, versions, kStart, 0, 5));
    ASSERT_FALSE(Take(*storage, versions, kStart));
    EXPECT_EQ(Server().Do({"TYPE", key}), is_log() ? "list" : "string");
    EXPECT_GT(Server().Integer({"PTTL", key}), 0);
  }
}

TEST_P(StoredState, AGatewayWithOtherNumbersConvertsWhatItMeets) {
  // Two processes during a rollout: neither knows the other's rules, but for what stands in Redis.
  Server().Do({"FLUSHALL"});
  const auto old_one = Open(Server().unix_url(kPatient));
  const auto new_one = Open(Server().unix_url(kPatient));
  const Versions old_rules({Make(GetParam(), 10, kMinute)});
  const Versions new_rules({Make(GetParam(), 100, kMinute)});
  ReferenceStorage reference;
  const Versions both({old_rules[0], new_rules[0]});
  std::mt19937_64 random(7);
  Micros now = kStart;
  for (int i = 0; i < 300; ++i) {
    now += random() % 3'000'000;
    const bool is_new = random() % 2 == 0;
    const uint64_t cost = 1 + random() % 12;
    Charge charge = ChargeFor(is_new ? new_rules : old_rules, 0, 1, cost);
    Charge expected = ChargeFor(both, is_new ? 1 : 0, 1, cost);
    ASSERT_EQ(ApplyOne(is_new ? *new_one : *old_one, charge, now), Status::kOk);
    ApplyOne(reference, expected, now);
    ASSERT_TRUE(SameAnswer(charge.outcome, expected.outcome)) << "step " << i;
  }
}

TEST_P(StoredState, NumbersThatNobodyKnowsStartNew) {
  const auto storage = Fresh();
  const Versions old_rules({Make(GetParam(), 10, kMinute)});
  const Versions new_rules({Make(GetParam(), 7, kMinute)});
  ASSERT_TRUE(Take(*storage, old_rules, kStart, 0, 10));
  Server().Do({"DEL", "rl:numbers"});
  const auto other = Open(Server().unix_url(kPatient));
  EXPECT_EQ(Remaining(*other, new_rules, kStart), 7u);
  ASSERT_TRUE(Take(*other, new_rules, kStart, 0, 7));
  ASSERT_FALSE(Take(*other, new_rules, kStart));
}

TEST(Stored, WhatFingerprintsStandForIsWrittenDown) {
  const auto storage = Fresh();
  const Versions versions({Make(Algorithm::kTokenBucket, 60, kMinute, 10)});
  ASSERT_TRUE(Take(*storage, versions, kStart));
  EXPECT_EQ(Server().Integer({"HLEN", "rl:numbers"}), 1);
  EXPECT_NE(Server().Do({"DUMP", "rl:numbers"}).find("1 60 60000000 10"), std::string::npos);
}

TEST(Stored, KeysOfOneIdentityShareATagAndTellNothingElse) {
  const auto storage = Fresh("deadline_ms=20000&prefix=shop");
  const Versions versions({Make(Algorithm::kTokenBucket, 60, kMinute)});
  std::vector<Charge> charges = {ChargeFor(versions, 0, 1), ChargeFor(versions, 0, 2), ChargeFor(versions, 0, 3)};
  charges[0].group = charges[1].group = 4711;
  charges[2].group = 11;
  Operation operation{charges, 0, Mode::kSpend};
  ASSERT_EQ(storage->Apply(operation), Status::kOk);
  std::vector<std::string> tags;
  for (const std::string& key : Server().Keys()) {
    if (key == "shop:numbers") continue;
    ASSERT_EQ(key.size(), 4u + 5 + 22) << key;
    ASSERT_EQ(key.substr(0, 5), "shop{");
    tags.push_back(key.substr(5, 3));
  }
  ASSERT_EQ(tags.size(), 3u);
  EXPECT_EQ(std::set<std::string>(tags.begin(), tags.end()).size(), 2u);
}

TEST(Stored, AStateTakesLessThanAHashOfTwoFieldsAndALogLessThanASortedSet) {
  const auto storage = Fresh();
  const auto size_of = [](const std::string& key) { return Server().Integer({"MEMORY", "USAGE", key}); };
  for (const Algorithm algorithm : kAlgorithms) {
    SCOPED_TRACE(ToText(algorithm));
    Server().Do({"FLUSHALL"});
    const Versions versions({Make(algorithm, 100, kMinute)});
    for (int i = 0; i < 10; ++i) ASSERT_TRUE(Take(*storage, versions, kStart + static_cast<Micros>(i)));
    const std::string key = OnlyKey();
    // The same name, so that the values are compared.
    const std::string peer = "peer" + key.substr(4);
    if (algorithm == Algorithm::kSlidingLog) {
      for (int i = 0; i < 10; ++i) {
        const std::string at = std::to_string(kStart + static_cast<Micros>(i));
        Server().Do({"ZADD", peer, at, at + "-a1b2c3"});
      }
    } else {
      Server().Do({"HSET", peer, "tokens", "99.123456", "ts", "1800000000.123456"});
    }
    Server().Do({"PEXPIRE", peer, "60000"});
    RecordProperty(ToText(algorithm), std::to_string(size_of(key)) + "/" + std::to_string(size_of(peer)));
    EXPECT_LT(size_of(key), size_of(peer));
  }
}

TEST(Stored, ALogHoldsNoMoreThanItsLimit) {
  const auto storage = Fresh();
  const Versions versions({Make(Algorithm::kSlidingLog, 20, 1'000'000)});
  for (int i = 0; i < 500; ++i) {
    Take(*storage, versions, kStart + static_cast<Micros>(i) * 30'000);
    ASSERT_LE(Server().Integer({"LLEN", OnlyKey()}), 1 + 2 * 21);
  }
}

TEST(Stored, SumsOfALogStartAnewBeforeTheyLeaveWhatADoubleHolds) {
  const auto storage = Fresh();
  const Versions versions({Make(Algorithm::kSlidingLog, 20, 1'000'000)});
  ASSERT_TRUE(Take(*storage, versions, kStart));
  const std::string key = OnlyKey();
  const std::string meta = Server().Do({"LINDEX", key, "0"});
  const std::string print = meta.substr(0, meta.find(':'));
  Server().Do({"DEL", key});
  const std::string base = "4503599627370495";
  Server().Do({"RPUSH", key, print + ":" + base, std::to_string(kStart), "4503599627370497"});
  EXPECT_EQ(Remaining(*storage, versions, kStart), 18u);
  ASSERT_TRUE(Take(*storage, versions, kStart + 1, 0, 3));
  EXPECT_EQ(Server().Do({"LINDEX", key, "0"}), print + ":0");
  EXPECT_EQ(Server().Do({"LINDEX", key, "-1"}), "5");
  EXPECT_EQ(Remaining(*storage, versions, kStart + 1), 15u);
}

TEST(Stored, StatesSurviveTheirBytes) {
  std::mt19937_64 random(5);
  for (const Algorithm algorithm : kAlgorithms) {
    if (algorithm == Algorithm::kSlidingLog) continue;
    for (int i = 0; i < 2000; ++i) {
      const Numbers numbers =
          Make(algorithm, 1 + random() % (random() % 2 == 0 ? 20 : 1'000'000), 1 + random() % kMinute);
      State state;
      for (int n = 0; n < 5; ++n)
        Step(numbers, state, numbers.TickOf(kStart + random() % kMinute), 1 + random() % numbers.capacity, Spend::kYes);
      const std::string bytes = redis::Pack(numbers, state);
      if (state == State{}) {
        ASSERT_EQ(bytes, "");
        continue;
      }
      ASSERT_LE(bytes.size(), 18u);
      const auto packed = redis::Unpack(algorithm, bytes);
      ASSERT_TRUE(packed);
      ASSERT_EQ(packed->fingerprint, redis::Fingerprint(numbers));
      ASSERT_EQ(redis::ToState(numbers, *packed), state);
      const auto read = redis::NumbersFromText(redis::ToText(numbers.spec));
      ASSERT_TRUE(read);
      ASSERT_EQ(read->spec, numbers.spec);
    }
  }
}

TEST(Stored, ForgettingDropsTheKey) {
  const auto storage = Fresh();
  const Versions versions({Make(Algorithm::kTokenBucket, 60, kMinute)});
  ASSERT_TRUE(Take(*storage, versions, kStart));
  Charge charge = ChargeFor(versions, 0, 1);
  ASSERT_EQ(ApplyOne(*storage, charge, kStart, Mode::kForget), Status::kOk);
  EXPECT_EQ(OnlyKey(), "");
}

}  // namespace
}  // namespace ratel::test
