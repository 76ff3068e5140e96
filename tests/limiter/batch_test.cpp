// Many requests in one call: a batch may be quicker than one request after the other, but it says and counts the same.
#include <array>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

std::string Text(const Decision& d) {
  std::ostringstream out;
  out << "status " << static_cast<int>(d.status) << " allowed " << d.allowed << " source " << static_cast<int>(d.source)
      << " reason " << static_cast<int>(d.reason) << " shadow_denied " << d.shadow_denied << " peeked " << d.peeked
      << " rule " << d.rule << " limit_id " << d.limit_id << " limit_count " << d.limit_count << " generation "
      << d.generation << " now " << d.now_ns << " cost " << d.cost << " limit " << d.limit << " window " << d.window_ns
      << " capacity " << d.capacity << " remaining " << d.remaining << " retry " << d.retry_after_ns << " reset "
      << d.reset_after_ns << " delay " << d.delay_ns;
  return out.str();
}

constexpr std::array kPaths = {
    "/token_bucket", "/leaky_bucket", "/fixed_window", "/sliding_log",       "/sliding_counter",
    "/two",          "/costly",       "/blocked",      "/unlimited",         "/elsewhere",
    "/deep",         "/deep/er",      "/deep/er/and",  "/deep/er/and/deeper"};

std::string Limits(int count) {
  std::string text = "    limits:\n";
  for (int i = 0; i < count; ++i)
    text +=
        "      - {name: l" + std::to_string(i) + ", scope: user, limit: " + std::to_string(5 + i) + ", window: 1m}\n";
  return text;
}

/// Rules of all kinds. Under `match: all` the deepest path has 70 limits, more than a request may have.
std::string RulesOfAllKinds(bool match_all) {
  std::string text = match_all ? "match: all\nrules:\n" : "rules:\n";
  for (const std::string algorithm : kAlgorithms) {
    text += "  - {name: " + algorithm + ", path: /" + algorithm + ", scope: user, algorithm: " + algorithm +
            ", limit: 5, window: 1s, on_store_error: open}\n";
  }
  text += R"(
  - {name: costly, path: /costly, scope: ip, limit: 10, window: 1s, cost: 3, on_store_error: closed}
  - {name: blocked, path: /blocked, action: block}
  - {name: unlimited, path: /unlimited, action: unlimited}
  - name: two
    path: /two
    on_store_error: closed
    limits:
      - {name: mine, scope: user, algorithm: sliding_log, limit: 4, window: 1s}
      - {name: all, scope: global, algorithm: leaky_bucket, limit: 20, window: 1s}
      - {name: trial, scope: user, algorithm: fixed_window, limit: 2, window: 1s, shadow: true}
)";
  for (const char* path : {"/deep", "/deep/er", "/deep/er/and", "/deep/er/and/deeper"}) {
    text += std::string("  - name: deep") + std::to_string(std::string_view(path).size()) + "\n    path: " + path +
            "\n    on_store_error: open\n" + Limits(match_all ? 16 : 15);
  }
  return text + "  - name: deepest\n    path: /deep/er/and/deeper\n    method: POST\n    on_store_error: closed\n" +
         Limits(6);
}

class Requests {
 public:
  explicit Requests(unsigned seed) : random_(seed) {}

  size_t Below(size_t end) { return std::uniform_int_distribution<size_t>(0, end - 1)(random_); }

  /// Rarely anything that is refused.
  Request Next(uint32_t rules) {
    static constexpr const char* kUsers[] = {"alice", "bob", "carol", ""};
    Request request;
    request.method = Below(2) == 0 ? "GET" : "POST";
    request.path = kPaths[Below(kPaths.size())];
    request.identity.user = kUsers[Below(4)];
    if (Below(4) != 0) request.identity.ip = "192.0.2.1";
    if (Below(3) == 0) request.cost = static_cast<int64_t>(Below(7));
    if (Below(3) == 0) request.rule = 1 + static_cast<uint32_t>(Below(rules));
    if (Below(30) == 0) request.rule = 4711;
    if (Below(3) == 0) request.now_ns = kStart + Below(50) * (kSecond / 10);
    if (Below(30) == 0) request.now_ns = UINT64_MAX;
    return request;
  }

 private:
  std::mt19937 random_;
};

void BatchesAnswerAsAlone(bool match_all, Store store) {
  const std::string text = RulesOfAllKinds(match_all);
  Fixture alone(text, store);
  Fixture together(text, store);
  Requests random(20);
  for (int round = 0; round < 60; ++round) {
    SCOPED_TRACE(round);
    const uint64_t now = round % 20 == 19 ? UINT64_MAX : kStart + random.Below(50) * (kSecond / 10);
    for (Fixture* f : {&alone, &together}) {
      f->now = now;
      f->failing = round % 5 == 4;
    }
    std::vector<Request> requests(random.Below(150));
    for (Request& request : requests) request = random.Next(together.registry->RuleCount());
    std::vector<Decision> out(requests.size());
    together.registry->AllowMany(requests, out);
    for (size_t i = 0; i < requests.size(); ++i) {
      Decision decision;
      EXPECT_EQ(alone.registry->Allow(requests[i], decision), decision.status);
      ASSERT_EQ(Text(out[i]), Text(decision))
          << "request " << i << " of " << requests.size() << ", " << requests[i].path << ", rule " << requests[i].rule;
    }
    ASSERT_EQ(ToPrometheus(together.registry->Metrics(true)), ToPrometheus(alone.registry->Metrics(true)));
  }
}

TEST(Batch, AnswersAndCountsAsOneAfterTheOther) {
  for (const Store store : {Store::kEmbedded, Store::kRemote, Store::kNameless}) {
    for (const bool match_all : {false, true}) {
      SCOPED_TRACE(testing::Message() << "store " << static_cast<int>(store) << ", match all " << match_all);
      BatchesAnswerAsAlone(match_all, store);
    }
  }
}

TEST(Batch, WhatTheStoreCannotTellOfOneIsNoMatterToTheOthers) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f("rules:\n  - {name: api, path: /, scope: user, limit: 100, window: 1s, on_store_error: open}\n", store);
    f.failing = true;
    f.controls.spends_in_spite = 3;
    std::vector<Request> requests(100);
    for (size_t i = 0; i < requests.size(); ++i) {
      requests[i].path = "/";
      requests[i].cost = i % 5 == 0 ? 3 : 1;
    }
    std::vector<Decision> out(requests.size());
    f.registry->AllowMany(requests, out);
    for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i].source, i % 5 == 0 ? Source::kExact : Source::kFailOpen);
  }
}

/// Where errands run on the host's threads alone, whoever only ever asks in batches lends one as well.
TEST(Batch, LendsItsThreadToErrands) {
  Fixture f(
      "instances: 4\nrules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 40, window: 1h}\n",
      Store::kHost);
  f.failing = true;
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(f.Ask("GET", "/", "u").allowed);
  f.failing = false;
  Request request;
  request.path = "/";
  request.identity.user = "somebody else";
  std::array<Decision, 1> out;
  f.registry->AllowMany({&request, 1}, out);
  EXPECT_EQ(f.registry->Metrics(false).reported_back, 5u);
}

}  // namespace
}  // namespace ratel::test
