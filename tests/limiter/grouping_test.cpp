// A store that keeps states in several places: all charges of a request have one group, and a state has the same one whoever comes to it.
#include <map>
#include <random>
#include <utility>

#include "limiter/support.hpp"

namespace ratel::test {
namespace {

class GroupedStorage final : public Storage {
 public:
  explicit GroupedStorage(Grouping grouping) : grouping_(grouping), inner_(MakeMemoryStorage({})) {}
  Status Apply(Operation& operation) noexcept override {
    for (const Charge& charge : operation.charges) {
      EXPECT_EQ(charge.group, operation.charges.front().group) << "one place for all";
      const auto [entry, is_new] = groups.try_emplace({charge.key.low, charge.key.high}, charge.group);
      EXPECT_EQ(entry->second, charge.group) << "a state does not move";
    }
    ++operations;
    return inner_->Apply(operation);
  }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }
  Grouping grouping() const noexcept override { return grouping_; }

  std::map<std::pair<uint64_t, uint64_t>, uint32_t> groups;
  int operations = 0;

 private:
  const Grouping grouping_;
  std::unique_ptr<Storage> inner_;
};

struct Grouped {
  Grouped(std::string_view text, Grouping grouping) {
    Registry::Options options;
    options.rules = Rules(text);
    auto made = std::make_unique<GroupedStorage>(grouping);
    storage = made.get();
    options.storage = std::move(made);
    options.fallback = MakeMemoryStorage({});
    registry = Registry::Create(std::move(options));
  }
  size_t distinct() const {
    std::map<uint32_t, int> found;
    for (const auto& [key, group] : storage->groups) ++found[group];
    return found.size();
  }
  GroupedStorage* storage = nullptr;
  std::unique_ptr<Registry> registry;
};

/// Every way in which a request can come to a state: by path or by rule, with a key, with parts left out, to look, to settle, to reset.
void Wander(Grouped& grouped, int steps) {
  std::mt19937 random(7);
  const auto any = [&](std::initializer_list<std::string_view> of) { return *(of.begin() + random() % of.size()); };
  for (int step = 0; step < steps; ++step) {
    const AttributeView tenant{"tenant", any({"acme", "globex", ""})};
    Request request;
    request.method = "GET";
    request.path = any({"/a", "/a/b", "/c"});
    if (random() % 3 == 0) request.rule = 1 + static_cast<uint32_t>(random() % grouped.registry->RuleCount());
    request.identity.user = any({"alice", "bob", "", "192.0.2.1"});
    request.identity.api_key = any({"k1", ""});
    request.identity.ip = any({"192.0.2.1", "::ffff:192.0.2.1", "198.51.100.7", "", "nonsense"});
    if (random() % 4 != 0) request.identity.attributes = {&tenant, 1};
    if (random() % 4 == 0) {
      request.identity.has_key = true;
      request.identity.key = any({"alice", "acme", "192.0.2.1", ""});
    }
    request.now_ns = kStart;
    Decision decision;
    ASSERT_EQ(grouped.registry->Allow(request, decision), Status::kOk);
    Decision other;
    if (random() % 4 == 0) {
      ASSERT_EQ(grouped.registry->Peek(request, other), Status::kOk);
    }
    if (random() % 4 == 0 && decision.allowed && decision.limit_count != 0) {
      ASSERT_EQ(grouped.registry->Settle(request, decision, 0, other), Status::kOk);
    }
    if (random() % 8 == 0) {
      ASSERT_EQ(grouped.registry->Reset(request), Status::kOk);
    }
  }
}

constexpr std::string_view kSharing = R"({"version": 1, "rules": [
  {"name": "one", "path": "/a", "limits": [
    {"name": "t", "scope": "attribute:tenant", "limit": 1000, "window": "1h"},
    {"name": "u", "scope": ["attribute:tenant", "user"], "limit": 100, "window": "1h"},
    {"name": "i", "scope": ["ip", "attribute:tenant", "user"], "limit": 50, "window": "1h", "shadow": true}]},
  {"name": "two", "path": "/c", "limits": [
    {"name": "a", "scope": ["user", "ip"], "limit": 100, "window": "1h"},
    {"name": "b", "scope": ["ip", "user"], "limit": 100, "window": "1m"}]}]})";

TEST(GroupingTest, StatesOfOneRequestLieTogetherAndStayWhereTheyAre) {
  Grouped grouped(kSharing, Grouping::kShared);
  EXPECT_TRUE(grouped.registry->Check(Rules(kSharing)).empty());
  Wander(grouped, 4000);
  EXPECT_GT(grouped.storage->operations, 4000);
  EXPECT_GE(grouped.distinct(), 10u) << "not all in one place";
}

TEST(GroupingTest, UnderMatchAllAsWell) {
  std::string text(kSharing);
  text.replace(text.find("\"rules\""), 0, "\"match\": \"all\", ");
  text.replace(text.find("\"/c\""), 4, "\"/\"");
  text.replace(text.find("[\"user\", \"ip\"]"), 14, "[\"attribute:tenant\", \"ip\"]");
  text.replace(text.find("[\"ip\", \"user\"]"), 14, "\"attribute:tenant\"");
  Grouped grouped(text, Grouping::kShared);
  EXPECT_TRUE(grouped.registry->Check(Rules(text)).empty());
  Wander(grouped, 2000);
  EXPECT_GE(grouped.distinct(), 3u);
}

constexpr std::string_view kApart = R"({"version": 1, "rules": [
  {"name": "one", "path": "/", "limits": [
    {"name": "u", "scope": "user", "limit": 1000, "window": "1h"},
    {"name": "g", "scope": "global", "limit": 1000, "window": "1h"}]},
  {"name": "two", "path": "/c", "limits": [{"name": "i", "scope": "ip", "limit": 1000, "window": "1h"}]}]})";

TEST(GroupingTest, LimitsThatShareNothingAreRefusedUnlessTheyMayLieByRule) {
  Grouped refused(kSharing, Grouping::kShared);
  ASSERT_EQ(refused.registry->Check(Rules(kApart)).size(), 1u);
  Grouped by_rule(kApart, Grouping::kSharedOrByRule);
  EXPECT_TRUE(by_rule.registry->Check(Rules(kApart)).empty());
  Wander(by_rule, 2000);
  EXPECT_GE(by_rule.distinct(), 4u) << "one place for the rule that shares nothing, many for the other";
  EXPECT_TRUE(Registry::Check(Rules(kApart), *MakeMemoryStorage({}), "").empty()) << "one place is one place";
}

}  // namespace
}  // namespace ratel::test
