// Replays the vectors through the C ABI, rl.h alone: on the embedded store, on a storage of our own, on a Redis and on a Redis Cluster, with
// the time as an argument and from a clock of our own; on a Redis also with what follows each other asked together. README.md describes the form.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "ratel/rl.h"
#if RATEL_REDIS
#include "redis/cluster.hpp"
#include "redis/server.hpp"
#endif

namespace {

using nlohmann::json;

uint64_t Number(const json& text) { return std::stoull(text.get<std::string>()); }

/// A string of a vector: as it stands, as hex, or repeated.
std::string Bytes(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  std::string out;
  if (value.contains("hex")) {
    const auto hex = value["hex"].get<std::string>();
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
      out.push_back(static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return out;
  }
  const auto part = value["repeat"].get<std::string>();
  for (uint64_t n = value["times"].get<uint64_t>(); n > 0; --n) out += part;
  return out;
}

rl_str Borrow(const std::string& text) { return {text.data(), text.size()}; }
std::string Copy(rl_str text) { return text.size == 0 ? "" : std::string(text.data, text.size); }

/// The instant of the step under way: what the clock tells, and what the storage dates its entries with.
struct Now {
  uint64_t ns = 0;
};

uint64_t TellNow(void* self) { return static_cast<Now*>(self)->ns; }

/// A storage as a host might write it: a map, a mutex, and rl_step under the mutex.
class MapStorage {
 public:
  explicit MapStorage(const Now* now) : now_(now) {}

  rl_storage Table() {
    rl_storage table{};
    table.struct_size = sizeof table;
    table.self = this;
    table.apply = [](void* self, rl_op* op, rl_cell* cells, uint32_t count) {
      return static_cast<MapStorage*>(self)->Apply(op, cells, count);
    };
    table.forget = [](void* self, rl_str key) { return static_cast<MapStorage*>(self)->Forget(key); };
    table.sweep = [](void* self, uint64_t cutoff_ns, uint64_t* dropped) {
      return static_cast<MapStorage*>(self)->Sweep(cutoff_ns, dropped);
    };
    table.count = [](void* self, uint64_t* keys) {
      *keys = static_cast<MapStorage*>(self)->held_.size();
      return rl_status{RL_OK};
    };
    return table;
  }

 private:
  struct Held {
    std::string bytes;
    uint64_t expires_ns;
  };

  rl_status Apply(rl_op* op, rl_cell* cells, uint32_t count) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (uint32_t i = 0; i < count; ++i) {
      const auto found = held_.find(Copy(cells[i].key));
      cells[i].state = found == held_.end() ? nullptr : found->second.bytes.data();
      cells[i].state_size = found == held_.end() ? 0 : found->second.bytes.size();
    }
    const rl_status status = rl_step(op, cells, count);
    if (status != RL_OK) return status;
    for (uint32_t i = 0; i < count; ++i) Write(cells[i]);
    return RL_OK;
  }

  void Write(const rl_cell& cell) {
    if (cell.write == 0) return;
    if (cell.new_size == 0) {
      held_.erase(Copy(cell.key));
    } else {
      held_[Copy(cell.key)] = {std::string(static_cast<const char*>(cell.new_state), cell.new_size),
                               now_->ns + cell.ttl_ns};
    }
  }

  rl_status Forget(rl_str key) {
    const std::lock_guard<std::mutex> lock(mutex_);
    held_.erase(Copy(key));
    return RL_OK;
  }

  rl_status Sweep(uint64_t cutoff_ns, uint64_t* dropped) {
    const std::lock_guard<std::mutex> lock(mutex_);
    *dropped = std::erase_if(held_, [&](const auto& entry) { return entry.second.expires_ns <= cutoff_ns; });
    return RL_OK;
  }

  const Now* now_;
  std::mutex mutex_;
  std::map<std::string, Held> held_;
};

/// A request with the bytes it borrows.
class Request {
 public:
  Request(const json& form, const rl_registry* registry, uint64_t now_ns) {
    request_.now_ns = now_ns;
    if (form.contains("cost")) request_.cost = form["cost"].get<int64_t>();
    if (form.contains("rule")) {
      const std::string name = Bytes(form["rule"]);
      EXPECT_EQ(rl_rule_id(registry, Borrow(name), &request_.rule, nullptr), RL_OK) << name;
    }
    Take(form, "method", request_.method);
    Take(form, "path", request_.path);
    Take(form, "user", request_.user);
    Take(form, "api_key", request_.api_key);
    Take(form, "ip", request_.ip);
    Take(form, "key", request_.key);
    TakeAttributes(form);
  }
  Request(Request&&) = default;

  const rl_request& get() const { return request_; }

 private:
  rl_str Keep(const json& value) {
    bytes_.push_back(std::make_unique<std::string>(Bytes(value)));
    return Borrow(*bytes_.back());
  }
  void Take(const json& form, const char* name, rl_str& into) {
    if (form.contains(name)) into = Keep(form[name]);
  }
  void TakeAttributes(const json& form) {
    if (!form.contains("attributes")) return;
    for (const json& one : form["attributes"]) attributes_.push_back({Keep(one["name"]), Keep(one["value"])});
    request_.attributes = attributes_.data();
    request_.attribute_count = static_cast<uint32_t>(attributes_.size());
  }

  rl_request request_ = RL_REQUEST_INIT;
  std::vector<std::unique_ptr<std::string>> bytes_;
  std::vector<rl_attribute> attributes_;
};

constexpr const char* kSources[] = {"exact",     "leased",      "cached_denial", "local_fallback",
                                    "fail_open", "fail_closed", "no_rule",       "action"};
constexpr const char* kReasons[] = {"none", "limited", "never_fits", "blocked", "store"};

json Told(const rl_registry* registry, const rl_decision& d) {
  return {{"status", rl_status_name(d.status)},
          {"allowed", d.allowed == 1},
          {"source", kSources[d.source]},
          {"reason", kReasons[d.reason]},
          {"shadow_denied", (d.flags & RL_DECISION_SHADOW_DENIED) != 0},
          {"peeked", (d.flags & RL_DECISION_PEEKED) != 0},
          {"rule", Copy(rl_rule_name(registry, d.rule))},
          {"limit_name", Copy(rl_limit_name(registry, d.limit_id))},
          {"limit_count", d.limit_count},
          {"generation", d.generation},
          {"cost", d.cost},
          {"limit", d.limit},
          {"window_ns", std::to_string(d.window_ns)},
          {"capacity", d.capacity},
          {"remaining", d.remaining},
          {"retry_after_ns", std::to_string(d.retry_after_ns)},
          {"reset_after_ns", std::to_string(d.reset_after_ns)},
          {"delay_ns", std::to_string(d.delay_ns)}};
}

/// What is different, one line each; empty when all that is expected is so.
std::string Differences(const json& expected, const json& told) {
  std::string out;
  for (const auto& [name, value] : expected.items()) {
    const json have = told.contains(name) ? told[name] : json();
    if (have != value) out += "  " + name + ": expected " + value.dump() + ", told " + have.dump() + "\n";
  }
  return out;
}

/// Calls again with room enough.
template <class Call>
std::string Text(Call call) {
  uint64_t needed = 0;
  rl_status status = call(nullptr, 0, &needed);
  if (status == RL_OK) return "";
  EXPECT_EQ(status, RL_E_BUFFER_TOO_SMALL);
  std::string text(needed, '\0');
  EXPECT_EQ(call(text.data(), text.size(), &needed), RL_OK);
  return text;
}

const std::map<std::string, uint32_t>& Forms() {
  static const std::map<std::string, uint32_t> forms = {
      {"x", RL_HEADERS_X},
      {"reset_delta", RL_HEADERS_RESET_DELTA},
      {"retry_after", RL_HEADERS_RETRY_AFTER},
      {"draft_11", RL_HEADERS_DRAFT_11},
      {"draft_8", RL_HEADERS_DRAFT_8},
      {"draft_7", RL_HEADERS_DRAFT_7},
      {"draft_6", RL_HEADERS_DRAFT_6},
      {"none", RL_HEADERS_NONE},
  };
  return forms;
}

class Config {
 public:
  Config() { EXPECT_EQ(rl_config_create(&config_, nullptr), RL_OK); }
  ~Config() { rl_config_destroy(config_); }
  Config(const Config&) = delete;
  Config& operator=(const Config&) = delete;

  /// The rules of a vector or of a step: an object, or a text in `rules_text`.
  rl_status Load(const json& holder, rl_error* error) {
    const std::string text =
        holder.contains("rules_text") ? holder["rules_text"].get<std::string>() : holder["rules"].dump();
    return rl_config_load_text(config_, Borrow(text), Borrow(std::string("vector")), error);
  }
  rl_config* get() const { return config_; }

 private:
  rl_config* config_ = nullptr;
};

enum class Store { kEmbedded, kHost, kRedis, kRedisTogether, kCluster };
enum class Time { kArgument, kClock };

/// One vector on one registry.
class Replay {
 public:
  Replay(const json& vector, Store store, Time time)
      : vector_(vector), store_(store), by_clock_(time == Time::kClock), storage_(&now_) {
    base_ = Number(vector_["base"]);
    now_.ns = base_;
    Config config;
    rl_error error = RL_ERROR_INIT;
    EXPECT_EQ(config.Load(vector_, &error), RL_OK) << error.path << ": " << error.message;
    if (store == Store::kHost) {
      const rl_storage table = storage_.Table();
      EXPECT_EQ(rl_config_set_storage(config.get(), &table, nullptr), RL_OK);
    }
    if (IsRemote()) UseRedis(config.get());
    if (by_clock_) {
      rl_clock clock{};
      clock.struct_size = sizeof clock;
      clock.self = &now_;
      clock.now_ns = TellNow;
      EXPECT_EQ(rl_config_set_clock(config.get(), &clock, nullptr), RL_OK);
    }
    EXPECT_EQ(rl_registry_create(config.get(), &registry_, &error), RL_OK) << error.message;
  }
  ~Replay() { rl_registry_destroy(registry_); }
  Replay(const Replay&) = delete;
  Replay& operator=(const Replay&) = delete;

  /// Stops at the first step that goes wrong: what follows it means nothing.
  void Run() {
    if (registry_ == nullptr) return;
    const json& steps = vector_["steps"];
    for (size_t index = 0; index < steps.size();) {
      if (store_ == Store::kRedisTogether && steps[index]["op"] == "allow") {
        const size_t first = index;
        while (index < steps.size() && steps[index]["op"] == "allow") ++index;
        if (!Together(first, index)) return;
        continue;
      }
      const json& step = steps[index];
      now_.ns = base_ + Number(step["at"]);
      if (!IsRight(index, Step(index, step))) return;
      ++index;
    }
  }

 private:
  struct Decided {
    json request;
    rl_decision decision;
  };

  /// An empty Redis that decides at the caller's time and keeps its keys through a timeline that passes in no time.
  void UseRedis([[maybe_unused]] rl_config* config) const {
#if RATEL_REDIS
    const std::string options = "deadline_ms=20000&time=caller&ttl_margin_ms=3600000";
    const std::string url =
        store_ == Store::kCluster ? EmptyCluster().url(options + "&slot=rule") : EmptyServer().unix_url(options);
    EXPECT_EQ(rl_config_use_redis(config, Borrow(url), nullptr), RL_OK);
    EXPECT_EQ(rl_config_set_secret(config, Borrow(std::string("a secret of the tests")), nullptr), RL_OK);
#endif
  }

#if RATEL_REDIS
  static ratel::test::RedisServer& EmptyServer() {
    static ratel::test::RedisServer server;
    server.Do({"FLUSHALL"});
    return server;
  }
  static ratel::test::RedisCluster& EmptyCluster() {
    static ratel::test::RedisCluster cluster;
    cluster.FlushAll();
    return cluster;
  }
#endif
  bool IsRemote() const {
    return store_ == Store::kRedis || store_ == Store::kRedisTogether || store_ == Store::kCluster;
  }

  bool IsRight(size_t index, const std::string& wrong) const {
    if (wrong.empty()) return true;
    ADD_FAILURE() << vector_["name"].get<std::string>() << ", step " << index << " " << vector_["steps"][index].dump()
                  << "\n"
                  << wrong;
    return false;
  }

  /// The steps from `first` on, all of them "allow", by one rl_allow_many.
  bool Together(size_t first, size_t end) {
    const json& steps = vector_["steps"];
    std::vector<Request> kept;
    std::vector<rl_request> requests;
    for (size_t i = first; i < end; ++i)
      kept.emplace_back(RequestOf(steps[i]), registry_, base_ + Number(steps[i]["at"]));
    for (const Request& request : kept) requests.push_back(request.get());
    std::vector<rl_decision> decisions(requests.size(), rl_decision RL_DECISION_INIT);
    const rl_status status =
        rl_allow_many(registry_, requests.data(), static_cast<uint32_t>(requests.size()), decisions.data(), nullptr);
    for (size_t i = first; i < end; ++i) {
      const rl_decision& decision = decisions[i - first];
      decided_[i] = {RequestOf(steps[i]), decision};
      if (!IsRight(i, Compare(ExpectationOf(steps[i]), status != RL_OK ? status : decision.status, decision)))
        return false;
    }
    return true;
  }

  uint64_t NowArgument() const { return by_clock_ ? 0 : now_.ns; }

  std::string Step(size_t index, const json& step) {
    const auto op = step["op"].get<std::string>();
    if (op == "allow" || op == "peek") return Decide(index, step, op == "peek");
    if (op == "many") return Many(step);
    if (op == "repeat") return Repeat(step);
    if (op == "settle") return Settle(step);
    if (op == "reset") return Reset(step);
    if (op == "reload") return Reload(step);
    if (op == "load") return Load(step);
    if (op == "headers") return Headers(step);
    if (op == "problem") return Problem(step);
    if (op == "client_ip") return ClientIp(step);
    if (op == "evict_idle") return EvictIdle(step);
    if (op == "key_count") return KeyCount(step);
    if (op == "metrics") return Metrics(step);
    return "  unknown op " + op;
  }

  json RequestOf(const json& step) const {
    json request = vector_["defaults"]["request"];
    if (step.contains("request")) request.update(step["request"]);
    return request;
  }

  /// A step that is refused says its status itself, and nothing else is expected of it.
  json ExpectationOf(const json& step) const {
    const json own = step.value("expect", json::object());
    if (own.contains("status") && own["status"] != "RL_OK") return own;
    json expected = vector_["defaults"]["expect"];
    expected.update(own);
    return expected;
  }

  std::string Decide(size_t index, const json& step, bool peek) {
    const json form = RequestOf(step);
    const Request request(form, registry_, NowArgument());
    rl_decision decision = RL_DECISION_INIT;
    const rl_status status =
        peek ? rl_peek(registry_, &request.get(), &decision, nullptr) : Allow(form, request.get(), decision);
    decided_[index] = {form, decision};
    return Compare(ExpectationOf(step), status, decision);
  }

  /// By the clock, a request that is a rule and a key takes the short way.
  rl_status Allow(const json& form, const rl_request& request, rl_decision& decision) {
    if (!by_clock_ || !form.contains("rule") || !form.contains("key")) {
      return rl_allow(registry_, &request, &decision, nullptr);
    }
    return rl_allow_rule(registry_, request.rule, request.key.data, request.key.size, request.cost, 0, &decision);
  }

  std::string Compare(const json& expected, rl_status status, const rl_decision& decision) {
    json told = Told(registry_, decision);
    told["status"] = rl_status_name(status);
    if (status == RL_OK && decision.status != RL_OK) told["status"] = rl_status_name(decision.status);
    return Differences(expected, told);
  }

  std::string Many(const json& step) {
    std::vector<Request> kept;
    std::vector<rl_request> requests;
    for (const json& form : step["requests"]) kept.emplace_back(form, registry_, NowArgument());
    for (const Request& request : kept) requests.push_back(request.get());
    std::vector<rl_decision> decisions(requests.size(), rl_decision RL_DECISION_INIT);
    const rl_status status =
        rl_allow_many(registry_, requests.data(), static_cast<uint32_t>(requests.size()), decisions.data(), nullptr);
    if (status != RL_OK) return std::string("  status ") + rl_status_name(status);
    std::string wrong;
    for (size_t i = 0; i < decisions.size(); ++i)
      wrong += Compare(step["expect"][i], decisions[i].status, decisions[i]);
    return wrong;
  }

  std::string Repeat(const json& step) {
    const uint64_t every = Number(step["every"]);
    uint64_t allowed = 0;
    for (uint64_t n = step["times"].get<uint64_t>(); n > 0; --n) {
      const Request request(step["request"], registry_, NowArgument());
      rl_decision decision = RL_DECISION_INIT;
      EXPECT_EQ(rl_allow(registry_, &request.get(), &decision, nullptr), RL_OK);
      allowed += decision.allowed;
      now_.ns += every;
    }
    return Differences(step["expect"], {{"allowed_count", allowed}});
  }

  std::string Settle(const json& step) {
    const Decided& earlier = decided_.at(step["of"].get<size_t>());
    const Request request(earlier.request, registry_, NowArgument());
    rl_decision out = RL_DECISION_INIT;
    const rl_status status =
        rl_settle(registry_, &request.get(), &earlier.decision, step["actual"].get<int64_t>(), &out, nullptr);
    return Compare(step["expect"], status, out);
  }

  std::string Reset(const json& step) {
    const Request request(step["request"], registry_, NowArgument());
    return Differences(step["expect"], {{"status", rl_status_name(rl_reset(registry_, &request.get(), nullptr))}});
  }

  std::string Reload(const json& step) {
    Config config;
    rl_status status = config.Load(step, nullptr);
    if (status == RL_OK) status = rl_registry_reload(registry_, config.get(), nullptr);
    const json told = {{"status", rl_status_name(status)}, {"generation", rl_registry_generation(registry_)}};
    return Differences(step["expect"], told);
  }

  std::string Load(const json& step) {
    Config config;
    rl_error error = RL_ERROR_INIT;
    rl_status status = config.Load(step, &error);
    rl_registry* other = nullptr;
    if (status == RL_OK) status = rl_registry_create(config.get(), &other, &error);
    rl_registry_destroy(other);
    const std::string wrong = Differences(step["expect"], {{"status", rl_status_name(status)}});
    if (status != RL_OK && error.message[0] == '\0') return wrong + "  refused without a message";
    return wrong.empty() ? "" : wrong + "  " + error.message;
  }

  std::string Headers(const json& step) {
    uint32_t flags = 0;
    for (const json& form : step["forms"]) flags |= Forms().at(form.get<std::string>());
    const rl_decision& decision = decided_.at(step["of"].get<size_t>()).decision;
    const std::string told = Text([&](char* buffer, uint64_t capacity, uint64_t* needed) {
      return rl_decision_headers(registry_, &decision, flags, buffer, capacity, needed, nullptr);
    });
    std::string expected;
    for (const json& line : step["expect"]["lines"]) expected += line.get<std::string>() + "\r\n";
    return told == expected ? "" : "  expected\n" + expected + "  told\n" + told;
  }

  std::string Problem(const json& step) {
    const rl_decision& decision = decided_.at(step["of"].get<size_t>()).decision;
    if (step["expect"]["status_name"] != "RL_OK") {
      uint64_t needed = 0;
      const rl_status status = rl_decision_problem(registry_, &decision, nullptr, 0, &needed, nullptr);
      return Differences(step["expect"], {{"status_name", rl_status_name(status)}});
    }
    const json told = json::parse(Text([&](char* buffer, uint64_t capacity, uint64_t* needed) {
      return rl_decision_problem(registry_, &decision, buffer, capacity, needed, nullptr);
    }));
    return Differences(step["expect"]["members"], told);
  }

  std::string ClientIp(const json& step) {
    const auto lines = [](const json& list) {
      std::vector<std::string> out;
      for (const json& line : list) out.push_back(Bytes(line));
      return out;
    };
    const auto borrow = [](const std::vector<std::string>& some) {
      std::vector<rl_str> out;
      for (const std::string& one : some) out.push_back(Borrow(one));
      return out;
    };
    const std::string peer = Bytes(step["peer"]);
    const auto xff_lines = lines(step["x_forwarded_for"]), forwarded_lines = lines(step["forwarded"]);
    const auto xff = borrow(xff_lines), forwarded = borrow(forwarded_lines);
    const std::string ip = Text([&](char* buffer, uint64_t capacity, uint64_t* needed) {
      return rl_client_ip(registry_, Borrow(peer), xff.data(), static_cast<uint32_t>(xff.size()), forwarded.data(),
                          static_cast<uint32_t>(forwarded.size()), buffer, capacity, needed, nullptr);
    });
    return Differences(step["expect"], {{"ip", ip}});
  }

  std::string EvictIdle(const json& step) {
    uint64_t evicted = 0;
    if (IsRemote()) return "";  // Redis drops by itself what is as new, and does not count ours
    if (rl_registry_evict_idle(registry_, base_ + Number(step["cutoff"]), &evicted, nullptr) != RL_OK)
      return "  not evicted";
    return Differences(step["expect"], {{"evicted", evicted}});
  }

  std::string KeyCount(const json& step) {
    uint64_t keys = 0;
    if (IsRemote()) return "";
    if (rl_registry_key_count(registry_, &keys, nullptr) != RL_OK) return "  not counted";
    return Differences(step["expect"], {{"keys", keys}});
  }

  std::string Metrics(const json& step) {
    rl_metrics m{};
    m.struct_size = sizeof m;
    if (rl_metrics_get(registry_, &m, nullptr) != RL_OK) return "  no metrics";
    const json totals = {{"requests", m.requests}, {"allowed", m.allowed},
                         {"denied", m.denied},     {"never_fits", m.never_fits},
                         {"blocked", m.blocked},   {"shadow_denied", m.shadow_denied},
                         {"no_rule", m.no_rule},   {"unknown_client", m.unknown_client}};
    std::string wrong = Differences(step["expect"]["totals"], totals);
    for (const auto& [name, expected] : step["expect"]["rules"].items()) wrong += RuleMetrics(name, expected);
    return wrong;
  }

  std::string RuleMetrics(const std::string& name, const json& expected) {
    uint32_t id = 0;
    rl_rule_metrics m{};
    m.struct_size = sizeof m;
    if (rl_rule_id(registry_, Borrow(name), &id, nullptr) != RL_OK) return "  no rule " + name;
    if (rl_metrics_rule(registry_, id, &m, nullptr) != RL_OK) return "  no metrics of " + name;
    const json told = {{"allowed", m.allowed},
                       {"denied", m.denied},
                       {"never_fits", m.never_fits},
                       {"shadow_denied", m.shadow_denied},
                       {"cost_allowed", m.cost_allowed}};
    const std::string wrong = Differences(expected, told);
    return wrong.empty() ? "" : "  " + name + "\n" + wrong;
  }

  const json& vector_;
  Store store_;
  bool by_clock_;
  uint64_t base_ = 0;
  Now now_;
  MapStorage storage_;
  rl_registry* registry_ = nullptr;
  std::map<size_t, Decided> decided_;
};

using Case = std::tuple<const char*, Store, Time>;

class Vectors : public ::testing::TestWithParam<Case> {};

TEST_P(Vectors, Replay) {
  const auto& [name, store, time] = GetParam();
  std::ifstream file(std::string(RATEL_SOURCE_DIR "/tests/vectors/") + name + ".json");
  ASSERT_TRUE(file.is_open());
  const json document = json::parse(file);
  ASSERT_FALSE(document["vectors"].empty());
  for (const json& vector : document["vectors"]) Replay(vector, store, time).Run();
}

std::string NameOf(const ::testing::TestParamInfo<Case>& info) {
  const auto& [name, store, time] = info.param;
  return std::string(name) +
         (store == Store::kEmbedded        ? "_embedded"
          : store == Store::kHost          ? "_host"
          : store == Store::kRedis         ? "_redis"
          : store == Store::kRedisTogether ? "_redis_together"
                                           : "_cluster") +
         (time == Time::kArgument ? "_argument" : "_clock");
}

const auto kFiles = ::testing::Values("worked", "buckets", "windows", "several", "clock", "settle", "reload", "keys",
                                      "matching", "client_ip", "fields", "loading", "traces");
const auto kTimes = ::testing::Values(Time::kArgument, Time::kClock);

INSTANTIATE_TEST_SUITE_P(All, Vectors,
                         ::testing::Combine(kFiles, ::testing::Values(Store::kEmbedded, Store::kHost), kTimes), NameOf);
#if RATEL_REDIS
INSTANTIATE_TEST_SUITE_P(Redis, Vectors, ::testing::Combine(kFiles, ::testing::Values(Store::kRedis), kTimes), NameOf);
INSTANTIATE_TEST_SUITE_P(RedisTogether, Vectors,
                         ::testing::Combine(kFiles, ::testing::Values(Store::kRedisTogether),
                                            ::testing::Values(Time::kArgument)),
                         NameOf);
INSTANTIATE_TEST_SUITE_P(Cluster, Vectors, ::testing::Combine(kFiles, ::testing::Values(Store::kCluster), kTimes),
                         NameOf);
#endif

}  // namespace
