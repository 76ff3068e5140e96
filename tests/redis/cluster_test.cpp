// The storage on a Redis Cluster while all is well, and while slots move.
#include "redis/cluster.hpp"

#include <atomic>
#include <set>
#include <thread>

#include "redis/certificates.hpp"
#include "redis/load.hpp"
#include "redis/support.hpp"
#include "storage/redis/exchange.hpp"
#include "storage/redis/key_client.hpp"
#include "storage/redis/slot.hpp"

namespace ratel::test {
namespace {

/// A charge whose keys lie under a tag of their own.
Charge Tagged(uint32_t group, uint64_t key = 1) {
  Charge charge = ChargeFor(Hourly(), 0, key);
  charge.group = group;
  return charge;
}

uint16_t SlotOfGroup(uint32_t group) { return redis::SlotOf(redis::KeyName({}, Tagged(group))); }

/// Shared by the tests that leave it as it was.
RedisCluster& Shared() {
  static RedisCluster cluster;
  cluster.FlushAll();
  return cluster;
}

TEST(Cluster, EachKeyIsFoundOnTheNodeOfItsSlot) {
  RedisCluster& cluster = Shared();
  const auto storage = Open(cluster.url(kPatient));
  constexpr uint32_t kGroups = 300;
  for (uint32_t group = 0; group < kGroups; ++group) {
    Charge charge = Tagged(group);
    ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk) << group;
  }
  std::set<size_t> used;
  for (uint32_t group = 0; group < kGroups; ++group) {
    const std::string key = redis::KeyName({}, Tagged(group));
    const size_t owner = RedisCluster::FirstOwner(SlotOfGroup(group));
    used.insert(owner);
    EXPECT_EQ(cluster.node(owner).Do({"EXISTS", key}), "1") << key;
  }
  EXPECT_EQ(used.size(), RedisCluster::kMasters);
  for (size_t i = 0; i < RedisCluster::kMasters; ++i)
    EXPECT_EQ(cluster.node(i).Info("errorstats", "errorstat_MOVED"), "") << "the map was right from the start";
}

TEST(Cluster, ForgetsAndKeepsItsNumbersUnderOneKey) {
  RedisCluster& cluster = Shared();
  const auto storage = Open(cluster.url(kPatient));
  Charge charges[] = {Tagged(5, 1), Tagged(5, 2)};
  Operation operation{charges, kStart};
  ASSERT_EQ(storage->Apply(operation), Status::kOk);
  EXPECT_TRUE(Eventually([&] { return cluster.Keys().size() == 3; }))
      << "two states, and the numbers on their own node";
  operation.mode = Mode::kForget;
  ASSERT_EQ(storage->Apply(operation), Status::kOk);
  EXPECT_EQ(cluster.Keys(), std::vector<std::string>{"rl:numbers"});
}

TEST(Cluster, AStateUnderNumbersOfAnotherGatewayIsConverted) {
  // Whatever slot the state lies in: the numbers are looked up on another node.
  RedisCluster& cluster = Shared();
  const auto one = Open(cluster.url(kPatient));
  const auto two = Open(cluster.url(kPatient));
  const Versions other({Make(Algorithm::kFixedWindow, 50, 3'600'000'000)});
  for (uint32_t group = 0; group < 12; ++group) {
    Charge charge = Tagged(group);
    charge.cost = 30;
    ASSERT_EQ(ApplyOne(*one, charge), Status::kOk);
    charge = ChargeFor(other, 0, 1);
    charge.group = group;
    ASSERT_TRUE(Eventually([&] { return ApplyOne(*two, charge) == Status::kOk; }));
    EXPECT_EQ(charge.outcome.remaining, 50u - 31) << group;
  }
}

TEST(Cluster, LimitsInDifferentSlotsAreRefusedByTheServer) {
  const auto storage = Open(Shared().url(kPatient));
  const Heard heard(*storage);
  Charge charges[] = {Tagged(1, 1), Tagged(2, 2)};
  Operation operation{charges, kStart};
  EXPECT_EQ(storage->Apply(operation), Status::kStore);
  EXPECT_TRUE(heard.Mentions("CROSSSLOT")) << heard.all();
}

long long ScriptCalls(RedisCluster& cluster) {
  long long calls = 0;
  for (size_t i = 0; i < RedisCluster::kMasters; ++i) {
    const std::string line = cluster.node(i).Info("commandstats", "cmdstat_evalsha");
    if (!line.empty()) calls += std::stoll(line.substr(line.find('=') + 1));
  }
  return calls;
}

/// Asks for these together, and each has to be answered.
void AskAll(Storage& storage, std::vector<Charge>& charges) {
  std::vector<Operation> operations;
  std::vector<Status> statuses(charges.size(), Status::kInternal);
  for (Charge& charge : charges) operations.push_back({{&charge, 1}, kStart});
  storage.ApplyMany(operations, statuses);
  for (size_t i = 0; i < charges.size(); ++i) EXPECT_EQ(statuses[i], Status::kOk) << i;
}

TEST(Cluster, WhatLiesInOneSlotSharesCallsAndIsAnsweredInOrder) {
  RedisCluster& cluster = Shared();
  const auto storage = Open(cluster.url(kPatient));
  constexpr uint32_t kGroups = 30;
  const auto all = [] {
    std::vector<Charge> charges;
    for (uint64_t i = 0; i < 10; ++i) {
      for (uint32_t group = 0; group < kGroups; ++group) charges.push_back(Tagged(group, 100 * group + i / 2));
    }
    return charges;
  };
  std::vector<Charge> warm = all();
  AskAll(*storage, warm);
  const long long before = ScriptCalls(cluster);
  std::vector<Charge> charges = all();
  AskAll(*storage, charges);
  EXPECT_EQ(ScriptCalls(cluster) - before, kGroups) << "a call for each slot";
  for (uint64_t i = 0; i < 10; ++i) {
    for (uint32_t group = 0; group < kGroups; ++group)
      ASSERT_EQ(charges[i * kGroups + group].outcome.remaining, 1'000'000 - 3 - i % 2) << i << " of " << group;
  }
}

TEST(Cluster, OneNodeThatIsDownDoesNotHoldUpTheFirstMap) {
  RedisCluster& cluster = Shared();
  const std::string dead = "127.0.0.1:" + std::to_string(FreePort());
  for (int i = 0; i < 5; ++i) {
    const auto storage = Open("redis+cluster://" + dead + ",127.0.0.1:" + std::to_string(cluster.node(1).port()) + "," +
                              dead + "?" + std::string(kPatient));
    Charge charge = Tagged(7);
    EXPECT_EQ(ApplyOne(*storage, charge), Status::kOk);
  }
}

TEST(Cluster, NobodyToAskAndAServerThatIsNone) {
  RedisServer server({}, false);
  const auto storage = Open("redis+cluster://127.0.0.1:" + std::to_string(server.port()) + "?deadline_ms=1000");
  const Heard heard(*storage);
  Charge charge = Tagged(7);
  EXPECT_EQ(ApplyOne(*storage, charge), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("Connection refused"); })) << heard.all();
  server.Start();
  EXPECT_TRUE(Eventually([&] { return heard.Mentions("cluster support disabled"); })) << heard.all();
  EXPECT_EQ(ApplyOne(*storage, charge), Status::kStore);
}

TEST(Tls, OnlyATrustedServerAmongSeveralIsSpokenTo) {
  const auto url = [](const RedisCluster& cluster) {
    std::string text = cluster.url("deadline_ms=5000&time=caller");
    return text.replace(0, 5, "rediss");
  };
  if (!redis::ParseUrl("rediss://h")) GTEST_SKIP() << "a build without TLS";
  const RedisServer folder({}, false);
  const Certificates files(folder.folder());
  RedisCluster cluster(
      {"--tls-cluster", "yes", "--tls-cert-file", files.File("server.pem"), "--tls-key-file", files.File("server.key"),
       "--tls-ca-cert-file", files.File("ca.pem"), "--tls-auth-clients", "optional"},
      false);
  const auto storage = Open(url(cluster) + "&ca=" + files.File("ca.pem"));
  const Heard heard(*storage);
  for (uint32_t group = 0; group < 30; ++group) {
    Charge charge = Tagged(group);
    ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk) << heard.all();
  }
  size_t nodes = 0;
  for (size_t i = 0; i < RedisCluster::kMasters; ++i) nodes += !cluster.node(i).Keys().empty();
  EXPECT_EQ(nodes, RedisCluster::kMasters);
  const auto distrusting = Open(url(cluster) + "&ca=" + files.File("other.pem"));
  const Heard why(*distrusting);
  Charge charge = Tagged(1);
  EXPECT_EQ(ApplyOne(*distrusting, charge), Status::kStore);
  EXPECT_TRUE(Eventually([&] { return why.Mentions("not trusted"); })) << why.all();
}

long long Seen(RedisCluster& cluster, std::string_view error) {
  long long sum = 0;
  for (size_t i = 0; i < RedisCluster::kMasters; ++i) {
    const std::string count = cluster.node(i).Info("errorstats", "errorstat_" + std::string(error));
    if (!count.empty()) sum += std::stoll(count.substr(count.find('=') + 1));
  }
  return sum;
}

TEST(Cluster, ASlotThatMovesUnderLoadLosesAndDoublesNothing) {
  RedisCluster cluster({}, false);
  const auto storage = Open(cluster.url("deadline_ms=20000&time=caller&ttl_margin_ms=3600000&connections=2"));
  const Heard heard(*storage);
  // Two limits of one request in one slot, so that TRYAGAIN is met: the second begins while the slot moves.
  constexpr uint32_t kGroup = 4711;
  const uint16_t slot = SlotOfGroup(kGroup);
  const size_t from = RedisCluster::FirstOwner(slot);
  const size_t to = (from + 1) % RedisCluster::kMasters;
  const std::vector<Charge> charges = {Tagged(kGroup, 1), Tagged(kGroup, 2)};
  Load load(*storage, charges, 4);
  const auto progress = [&] {
    const uint64_t before = load.done();
    return Eventually([&] { return load.done() > before + 200; });
  };
  ASSERT_TRUE(progress());
  cluster.BeginMove(slot, from, to);
  ASSERT_TRUE(progress()) << "as long as all keys are there, they are served there";
  // One of the two keys goes ahead: TRYAGAIN until the other follows, ASK until the slot has moved.
  const std::string first = redis::KeyName({}, charges[0]);
  const std::string second = redis::KeyName({}, charges[1]);
  const std::string port = std::to_string(cluster.node(to).port());
  EXPECT_EQ(cluster.node(from).Do({"MIGRATE", "127.0.0.1", port, first, "0", "5000"}), "OK");
  EXPECT_TRUE(Eventually([&] { return Seen(cluster, "TRYAGAIN") > 0; }));
  EXPECT_EQ(cluster.node(from).Do({"MIGRATE", "127.0.0.1", port, second, "0", "5000"}), "OK");
  ASSERT_TRUE(progress());
  EXPECT_GT(Seen(cluster, "ASK"), 0);
  cluster.EndMove(slot, to);
  ASSERT_TRUE(progress());
  EXPECT_TRUE(Eventually([&] { return Seen(cluster, "MOVED") > 0; }));
  ASSERT_TRUE(progress());
  load.Stop();
  EXPECT_EQ(load.failed(), 0u) << heard.all();
  EXPECT_EQ(Spent(*storage, charges[0]), load.admitted());
  EXPECT_EQ(Spent(*storage, charges[1]), load.admitted());
}

TEST(Cluster, WhatSharesCallsIsAnsweredWhileItsSlotMoves) {
  RedisCluster cluster({}, false);
  const auto storage = Open(cluster.url(kPatient));
  constexpr uint32_t kGroup = 4711;
  constexpr uint64_t kKeys = 20;
  const uint16_t slot = SlotOfGroup(kGroup);
  const size_t from = RedisCluster::FirstOwner(slot);
  const size_t to = (from + 1) % RedisCluster::kMasters;
  uint64_t rounds = 0;
  const auto ask = [&] {
    std::vector<Charge> charges;
    for (uint64_t i = 0; i < 2 * kKeys; ++i) charges.push_back(Tagged(kGroup, i % kKeys));
    AskAll(*storage, charges);
    ++rounds;
    for (uint64_t i = 0; i < kKeys; ++i)
      EXPECT_EQ(charges[kKeys + i].outcome.remaining, 1'000'000 - 2 * rounds) << "key " << i << ", round " << rounds;
  };
  ask();
  cluster.BeginMove(slot, from, to);
  ask();
  // Some have gone, others have not.
  const std::string port = std::to_string(cluster.node(to).port());
  for (uint64_t key = 0; key < kKeys; key += 2) {
    const std::string name = redis::KeyName({}, Tagged(kGroup, key));
    ASSERT_EQ(cluster.node(from).Do({"MIGRATE", "127.0.0.1", port, name, "0", "5000"}), "OK");
  }
  ask();
  EXPECT_GT(Seen(cluster, "TRYAGAIN") + Seen(cluster, "ASK"), 0);
  cluster.MoveKeys(slot, from, to);
  ask();
  cluster.EndMove(slot, to);
  ask();
  EXPECT_GT(Seen(cluster, "MOVED"), 0);
  ask();
  for (uint64_t key = 0; key < kKeys; ++key) EXPECT_EQ(Spent(*storage, Tagged(kGroup, key)), 2 * rounds);
}

TEST(Cluster, AStormOfMovedIsFollowedWithoutOneOfOurs) {
  RedisCluster cluster({}, false);
  const auto storage = Open(cluster.url(kPatient));
  // Slots of node 0, each with a key, all of which go to node 1 behind our back.
  std::vector<uint32_t> groups;
  for (uint32_t group = 0; groups.size() < 200; ++group) {
    if (RedisCluster::FirstOwner(SlotOfGroup(group)) == 0) groups.push_back(group);
  }
  for (const uint32_t group : groups) {
    Charge charge = Tagged(group);
    ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk);
  }
  std::set<uint16_t> slots;
  for (const uint32_t group : groups) slots.insert(SlotOfGroup(group));
  for (const uint16_t slot : slots) {
    cluster.BeginMove(slot, 0, 1);
    cluster.MoveKeys(slot, 0, 1);
    cluster.EndMove(slot, 1);
  }
  for (int round = 0; round < 3; ++round) {
    for (const uint32_t group : groups) {
      Charge charge = Tagged(group);
      ASSERT_EQ(ApplyOne(*storage, charge), Status::kOk);
    }
  }
  for (const uint32_t group : groups) EXPECT_EQ(Spent(*storage, Tagged(group)), 4u);
  long long asked = 0;
  for (size_t i = 0; i < RedisCluster::kMasters; ++i) {
    const std::string stats = cluster.node(i).Info("commandstats", "cmdstat_cluster|slots");
    if (!stats.empty()) asked += std::stoll(stats.substr(stats.find('=') + 1));
  }
  EXPECT_LE(Seen(cluster, "MOVED"), static_cast<long long>(slots.size())) << "each slot is learned once";
  EXPECT_LE(asked, 20) << "the map was asked for a few times, not once for each of " << slots.size() << " slots";
}

class ExactlyInACluster : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, ExactlyInACluster, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(ExactlyInACluster, TheLimitFromManyProcesses) {
  RedisCluster& cluster = Shared();
  const Versions versions({Make(GetParam(), 200, 86'400'000'000)});
  EXPECT_EQ(AdmittedByProcesses(4, cluster.url("deadline_ms=30000"), versions, 100), 200);
}

TEST(Cluster, AKeyIsReadAndWrittenWhereItsSlotIs) {
  RedisCluster& cluster = Shared();
  auto client = redis::KeyClient::Make(*redis::ParseUrl(cluster.url("")));
  ASSERT_TRUE(client);
  std::set<size_t> used;
  for (const std::string key : {"rules", "rules-1", "rules-2", "rules-3", "rules-4", "rules-5"}) {
    ASSERT_FALSE((*client)->Set(key, "of " + key).has_value()) << key;
    const size_t owner = RedisCluster::FirstOwner(redis::SlotOf(key));
    used.insert(owner);
    EXPECT_EQ(cluster.node(owner).Do({"GET", key}), "of " + key);
    const auto got = (*client)->Get(key);
    ASSERT_TRUE(got) << key;
    EXPECT_EQ(*got, "of " + key);
  }
  EXPECT_EQ(used.size(), RedisCluster::kMasters);
}

}  // namespace
}  // namespace ratel::test
