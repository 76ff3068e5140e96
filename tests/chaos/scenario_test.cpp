// What may break between gateways and their Redis, each fault under traffic: what is answered meanwhile, how much is admitted above the limit, and that all of it
// ends by itself.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "chaos/gateways.hpp"
#include "chaos/names.hpp"
#include "chaos/relay.hpp"
#include "redis/server.hpp"

namespace ratel::test {
namespace {

using std::chrono::milliseconds;

constexpr uint64_t kLimit = 400;
constexpr int kGateways = 4;
/// What the fallbacks of all gateways together admit: each has its share of the limit, once in the window of a day.
constexpr uint64_t kShares = kLimit;

bool Long() { return std::getenv("RATEL_CHAOS") != nullptr; }

struct World {
  Gateways* gateways = nullptr;
  RedisServer server;
  FaultyRelay relay{server.port()};
  std::thread helper;

  explicit World(std::vector<std::string> arguments) : server(std::move(arguments)) {}
  ~World() {
    if (helper.joinable()) helper.join();
  }
  void DropConnections() { server.Do({"CLIENT", "KILL", "TYPE", "normal"}); }
};

/// Whether some answers are other than exact while it is broken. kUnlessSpent: a denial writes nothing, so when the budget is spent all may go on exactly.
enum class Noticed { kNever, kPerhaps, kUnlessSpent, kSurely };

struct Scenario {
  const char* name;
  uint64_t forgotten;  ///< units that the store may forget each time it breaks
  uint64_t shares;     ///< what the fallbacks may admit, once in the window
  std::function<void(World&)> breaks;
  std::function<void(World&)> mends = [](World&) {};
  std::string options = "deadline_ms=20";
  bool through_relay = false;
  std::string_view host = "127.0.0.1";
  const char* policy = "local";
  const char* tier = "none";
  std::vector<std::string> arguments = {};
  std::function<void(World&)> prepares = [](World&) {};  ///< before there is any gateway
  bool anonymous = false;                                ///< gateways give no user and no password
  Noticed noticed = Noticed::kSurely;
  int since = 6;  ///< the first Redis that can fail so
};

void PrintTo(const Scenario& scenario, std::ostream* out) { *out << scenario.name; }

// A server that is there and answers: its machine may still be slow, and that must not count as a fault.
constexpr const char* kPatient = "deadline_ms=20000";

void Overwrite(World& world) {
  for (const std::string& key : world.server.Keys()) {
    world.server.Do({"DEL", key});
    world.server.Do({"SET", key, "not a state"});
  }
}

void Shorten(World& world) {
  for (const std::string& key : world.server.Keys()) {
    if (world.server.Do({"TYPE", key}) != "string") continue;
    const std::string held = world.server.Do({"GET", key});
    world.server.Do({"SET", key, held.substr(0, held.size() / 2)});
  }
}

void MakeLists(World& world) {
  for (const std::string& key : world.server.Keys()) {
    world.server.Do({"DEL", key});
    world.server.Do({"RPUSH", key, "1", "2"});
  }
}

void PutOneClockAhead(World& world) { world.gateways->PutFirstClockAhead(std::chrono::hours(1)); }

/// Keys of somebody else in the file that a server reads at its start, so many that it takes a while.
void WriteMuch(World& world) {
  world.server.Do({"EVAL", "for i = 1, 3000 do redis.call('SET', 'filling:' .. i, string.rep('x', 100)) end", "0"});
  world.server.Do({"BGREWRITEAOF"});
  Eventually([&] {
    return world.server.Info("persistence", "aof_rewrite_in_progress") == "0" &&
           world.server.Info("persistence", "aof_rewrite_scheduled") == "0";
  });
}

bool IsLoading(RedisServer& server) { return server.Info("persistence", "loading") == "1"; }

void StartAndLoad(World& world) {
  world.server.Kill();
  world.server.Start();
  EXPECT_TRUE(IsLoading(world.server));
}

/// A folder lies where the server's file would.
void FailToSave(World& world) {
  std::filesystem::create_directory(world.server.folder() + "/blocked");
  world.server.Do({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
  world.server.Do({"CONFIG", "SET", "save", "3600 1"});
  world.server.Do({"BGSAVE"});
  Eventually([&] { return world.server.Info("persistence", "rdb_last_bgsave_status") == "err"; });
}

void DropAgainAndAgain(World& world) {
  for (int i = 0; i < 20; ++i) {
    world.DropConnections();
    std::this_thread::sleep_for(milliseconds(10));
  }
}

void KeepBusy(World& world) {
  world.server.Do({"CONFIG", "SET", "lua-time-limit", "20"});
  world.helper = std::thread([&] { world.server.Do({"EVAL", "while true do end", "0"}); });
}

void Unbusy(World& world) {
  Eventually([&] { return world.server.Do({"SCRIPT", "KILL"}) == "OK"; });
  world.helper.join();
}

const std::vector<Scenario>& Scenarios() {
  static const std::vector<Scenario> scenarios = {
      {.name = "ScriptFlush",
       .forgotten = 0,
       .shares = 0,
       .breaks =
           [](World& world) {
             world.server.Do({"SCRIPT", "FLUSH"});
           },
       .options = kPatient,
       .noticed = Noticed::kNever},
      {.name = "FlushAll",
       .forgotten = kLimit,
       .shares = 0,
       .breaks = [](World& world) { world.server.Do({"FLUSHALL"}); },
       .options = kPatient,
       .noticed = Noticed::kNever},
      {.name = "KilledAndStartedEmpty",
       .forgotten = kLimit,
       .shares = kShares,
       .breaks = [](World& world) { world.server.Kill(); },
       .mends = [](World& world) { world.server.Start(); }},
      {.name = "KilledAndStartedFromItsFile",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.server.Kill(); },
       .mends = [](World& world) { world.server.Start(); },
       .arguments = {"--appendonly", "yes", "--appendfsync", "always"}},
      {.name = "Stopped",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.server.Pause(); },
       .mends = [](World& world) { world.server.Resume(); }},
      {.name = "StoppedUnderClosed",
       .forgotten = 0,
       .shares = 0,
       .breaks = [](World& world) { world.server.Pause(); },
       .mends = [](World& world) { world.server.Resume(); },
       .policy = "closed"},
      {.name = "StoppedWithLeasesOut",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.server.Pause(); },
       .mends = [](World& world) { world.server.Resume(); },
       .tier = "leases"},
      {.name = "Busy", .forgotten = 0, .shares = kShares, .breaks = KeepBusy, .mends = Unbusy},
      {.name = "ConnectionsDropped",
       .forgotten = 0,
       .shares = kShares,
       .breaks = DropAgainAndAgain,
       .noticed = Noticed::kPerhaps},
      {.name = "SlowReplies",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.relay.Become(Mood::kSlow); },
       .mends = [](World& world) { world.relay.Become(Mood::kPass); },
       .through_relay = true},
      {.name = "RepliesCut",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.relay.Become(Mood::kCut); },
       .mends = [](World& world) { world.relay.Become(Mood::kPass); },
       .through_relay = true},
      {.name = "BytesVanish",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.relay.Become(Mood::kSwallow); },
       .mends = [](World& world) { world.relay.Become(Mood::kPass); },
       .through_relay = true},
      {.name = "Loading",
       .forgotten = 0,
       .shares = kShares,
       .breaks = [](World& world) { world.relay.Become(Mood::kRefuse, "LOADING Redis is loading the dataset"); },
       .mends = [](World& world) { world.relay.Become(Mood::kPass); },
       .through_relay = true},
      {.name = "LoadingItsFile",
       .forgotten = 0,
       .shares = kShares,
       .breaks = StartAndLoad,
       .mends = [](World& world) { EXPECT_TRUE(Eventually([&] { return !IsLoading(world.server); })); },
       .arguments = {"--appendonly", "yes", "--appendfsync", "always", "--key-load-delay", "1000",
                     "--loading-process-events-interval-bytes", "1024"},
       .prepares = WriteMuch,
       .anonymous = true,
       .since = 7},
      {.name = "NameNotFound",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             name_is_known = false;
             world.DropConnections();
           },
       .mends = [](World&) { name_is_known = true; },
       .host = kName},
      {.name = "PasswordAdded",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "requirepass", "one"});
             world.server.password = "one";
             world.DropConnections();
           },
       .mends =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "requirepass", ""});
           },
       .anonymous = true},
      {.name = "UserLosesItsRights",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"ACL", "SETUSER", "limiter", "-evalsha"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"ACL", "SETUSER", "limiter", "+evalsha"});
           }},
      {.name = "WrongPassword",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"ACL", "SETUSER", "limiter", "resetpass", ">two"});
             world.server.Do({"CLIENT", "KILL", "USER", "limiter"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"ACL", "SETUSER", "limiter", "resetpass", ">one"});
           }},
      {.name = "OutOfMemory",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "maxmemory", "1"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "maxmemory", "0"});
           },
       .noticed = Noticed::kUnlessSpent},
      {.name = "ReadOnly",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"REPLICAOF", "127.0.0.1", "1"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"REPLICAOF", "NO", "ONE"});
           },
       .noticed = Noticed::kUnlessSpent},
      {.name = "ReplicaWithoutItsMaster",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "replica-serve-stale-data", "no"});
             world.server.Do({"REPLICAOF", "127.0.0.1", "1"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"REPLICAOF", "NO", "ONE"});
           }},
      {.name = "TooFewReplicas",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "min-replicas-to-write", "1"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "min-replicas-to-write", "0"});
           },
       .noticed = Noticed::kUnlessSpent,
       .since = 7},
      {.name = "CannotSave",
       .forgotten = 0,
       .shares = kShares,
       .breaks =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "stop-writes-on-bgsave-error", "yes"});
           },
       .mends =
           [](World& world) {
             world.server.Do({"CONFIG", "SET", "stop-writes-on-bgsave-error", "no"});
           },
       .arguments = {"--dbfilename", "blocked"},
       .prepares = FailToSave,
       .noticed = Noticed::kUnlessSpent},
      {.name = "ForeignValues",
       .forgotten = kLimit,
       .shares = 0,
       .breaks = Overwrite,
       .options = kPatient,
       .noticed = Noticed::kNever},
      {.name = "CutValues",
       .forgotten = kLimit,
       .shares = 0,
       .breaks = Shorten,
       .options = kPatient,
       .noticed = Noticed::kNever},
      {.name = "OtherTypes",
       .forgotten = kLimit,
       .shares = 0,
       .breaks = MakeLists,
       .options = kPatient,
       .noticed = Noticed::kNever},
      {.name = "OneClockAnHourAhead",
       .forgotten = 0,
       .shares = 0,
       .breaks = PutOneClockAhead,
       .options = kPatient,
       .noticed = Noticed::kNever},
      // An hour of a day's limit comes back early, once.
      {.name = "OneClockAnHourAheadByTheCallersTime",
       .forgotten = kLimit / 24 + 1,
       .shares = 0,
       .breaks = PutOneClockAhead,
       .options = "deadline_ms=20000&time=caller",
       .noticed = Noticed::kNever},
  };
  return scenarios;
}

class Chaos : public testing::TestWithParam<Scenario> {};
INSTANTIATE_TEST_SUITE_P(Faults, Chaos, testing::ValuesIn(Scenarios()),
                         [](const auto& each) { return std::string(each.param.name); });

std::string UrlOf(const World& world, const Scenario& scenario) {
  const int port = scenario.through_relay ? world.relay.port() : world.server.port();
  return std::string("redis://") + (scenario.anonymous ? "" : "limiter:one@") + std::string(scenario.host) + ":" +
         std::to_string(port) + "/0?" + scenario.options;
}

TEST_P(Chaos, IsOutlived) {
  const Scenario& scenario = GetParam();
  if (scenario.since > 6 && std::stoi(RedisServer().Info("server", "redis_version")) < scenario.since)
    GTEST_SKIP() << "since Redis " << scenario.since;
  World world(scenario.arguments);
  // A server that is started again knows no users.
  const auto add_user = [&] { world.server.Do({"ACL", "SETUSER", "limiter", "on", ">one", "~*", "+@all"}); };
  add_user();
  scenario.prepares(world);
  Gateways gateways(kGateways, RulesOf(kLimit, kGateways, scenario.policy, scenario.tier), UrlOf(world, scenario));
  world.gateways = &gateways;
  ASSERT_TRUE(Eventually([&] { return gateways.AllExact() && gateways.allowed() >= kLimit / 2; })) << scenario.name;

  const int times = Long() ? 3 : 1;
  milliseconds longest_until_exact{0};
  for (int time = 0; time < times; ++time) {
    gateways.Enter(kDuring);
    scenario.breaks(world);
    std::this_thread::sleep_for(milliseconds(Long() ? 3000 : 300));
    if (scenario.noticed >= Noticed::kUnlessSpent) {
      const bool may_be_spent = scenario.noticed == Noticed::kUnlessSpent;
      ASSERT_TRUE(Eventually([&] { return gateways.AnyInexact() || (may_be_spent && gateways.AllDenied()); }))
          << scenario.name << " broke nothing";
    }
    scenario.mends(world);
    add_user();
    const auto mended = std::chrono::steady_clock::now();
    gateways.Enter(kAfter);
    ASSERT_TRUE(Eventually([&] { return gateways.AllExact(); })) << scenario.name << " is not recovered from";
    longest_until_exact = std::max(longest_until_exact,
                                   std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - mended));
  }
  // Until the budget is spent and all know it.
  EXPECT_TRUE(Eventually([&] { return gateways.AllDenied(); })) << scenario.name;
  gateways.Stop();

  const uint64_t above = gateways.allowed() > kLimit ? gateways.allowed() - kLimit : 0;
  const uint64_t bound = scenario.forgotten * static_cast<uint64_t>(times) + scenario.shares;
  const Answers during = gateways.answers(kDuring);
  std::printf("| %s | %s | %.1f | %llu of %llu | %lld |\n", scenario.name, during.ToText().c_str(),
              static_cast<double>(during.longest.count()) / 1000.0, static_cast<unsigned long long>(above),
              static_cast<unsigned long long>(bound), static_cast<long long>(longest_until_exact.count()));
  EXPECT_LE(above, bound) << scenario.name;
  const bool closed = std::string_view(scenario.policy) == "closed";
  EXPECT_EQ(during.by_source[closed ? RL_SOURCE_LOCAL_FALLBACK : RL_SOURCE_FAIL_CLOSED], 0u) << during.ToText();
  EXPECT_EQ(during.by_source[RL_SOURCE_FAIL_OPEN], 0u) << during.ToText();
  if (scenario.noticed == Noticed::kNever) {
    EXPECT_EQ(during.by_source[RL_SOURCE_EXACT], during.allowed + during.denied) << during.ToText();
  }
}

}  // namespace
}  // namespace ratel::test
