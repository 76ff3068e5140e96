#include "config/diff.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "config/reader.hpp"

namespace ratel {
namespace {

using Kind = Change::Kind;

RuleSet Load(const std::string& text) {
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddText(text, "t.yaml"));
  for (const Error& fault : builder.faults()) ADD_FAILURE() << fault.path << ": " << fault.message;
  return builder.rules();
}

RuleSet OneRule(const std::string& keys) { return Load("rules: [{name: a, path: /a, " + keys + "}]"); }

std::vector<Kind> KindsOf(const std::vector<Change>& changes) {
  std::vector<Kind> kinds;
  for (const Change& change : changes) kinds.push_back(change.kind);
  return kinds;
}

std::string TextOf(const RuleSet& before, const RuleSet& after) { return ToText(Diff(before, after)); }

TEST(Diff, OfEqualSetsIsEmpty) {
  const RuleSet set = OneRule("scope: user, limit: 5, window: 1s, overrides: {alice: {limit: 6}}");
  EXPECT_TRUE(Diff(set, set).empty());
  EXPECT_EQ(ToText(std::vector<Change>()), "");
  EXPECT_EQ(ToJson({}), "[]");
}

TEST(Diff, DoesNotMindFilesAndPlaces) {
  RuleSet before = Load("rules: [{name: a, path: /a, action: block}, {name: b, path: /b, action: block}]");
  RuleSet after = Load("# moved\n\nrules: [{name: b, path: /b, action: block}, {name: a, path: /a, action: block}]");
  after.rules[0].file = "other.yaml";
  EXPECT_TRUE(Diff(before, after).empty());
}

TEST(Diff, ChangedNumbersCarryOver) {
  const std::string text =
      TextOf(OneRule("scope: user, limit: 10, window: 1m"), OneRule("scope: user, limit: 20, window: 1m, burst: 30"));
  EXPECT_EQ(text, "~ rule a, limit a: limit 10 per 1m -> 20 per 1m, burst 30: counts carry over\n");
}

TEST(Diff, AnotherAlgorithmOrScopeStartsNew) {
  const RuleSet before = OneRule("scope: user, limit: 10, window: 1m");
  EXPECT_EQ(TextOf(before, OneRule("scope: user, limit: 10, window: 1m, algorithm: sliding_log")),
            "~ rule a, limit a: algorithm token_bucket -> sliding_log: counts start new\n");
  EXPECT_EQ(TextOf(before, OneRule("scope: [user, ip], limit: 9, window: 1m")),
            "~ rule a, limit a: scope user -> user,ip; limit 10 per 1m -> 9 per 1m: counts start new\n");
  EXPECT_EQ(KindsOf(Diff(before, OneRule("scope: ip, limit: 10, window: 1m"))),
            std::vector<Kind>{Kind::kLimitStartsNew});
}

TEST(Diff, CountsOverrides) {
  const RuleSet before =
      OneRule("scope: user, limit: 1, window: 1s, overrides: {a: {limit: 2}, b: {limit: 3}, c: {limit: 4}}");
  const RuleSet after = OneRule(
      "scope: user, limit: 1, window: 1s, overrides: {c: {limit: 4}, b: {limit: 9}, d: {limit: 5}, e: {limit: 6}}");
  EXPECT_EQ(TextOf(before, after), "~ rule a, limit a: overrides: 2 added, 1 changed, 1 removed: counts carry over\n");
}

TEST(Diff, TellsWhatARuleDoesOtherwise) {
  const RuleSet before = Load("rules: [{name: a, path: /a, scope: user, limit: 5, window: 1s}]");
  const RuleSet after = Load(
      R"(rules: [{name: a, path: /b, method: [PUT, GET], when: {plan: "p\nq"}, path_match: exact, cost: 2, shadow: true,
                                on_store_error: open, local_tier: denials, scope: user, limit: 5, window: 1s}])");
  EXPECT_EQ(TextOf(before, after),
            "~ rule a: covers any /a -> GET,PUT /b when plan=\"p\\x0Aq\"; path_match prefix -> exact; cost 1 -> 2; "
            "shadow off -> on; "
            "on_store_error local -> open; local_tier none -> denials\n");
}

TEST(Diff, GoesThroughTheNewSetAndTellsRemovalsLast) {
  const RuleSet before = Load(R"(
rules:
  - {name: gone, path: /gone, action: block}
  - name: a
    path: /a
    limits:
      - {name: x, scope: user, limit: 1, window: 1s}
      - {name: y, scope: ip, limit: 1, window: 1s}
)");
  const RuleSet after = Load(R"(
match: all
rules:
  - {name: new, path: /new, method: POST, action: block}
  - name: a
    path: /a
    limits:
      - {name: x, scope: user, limit: 1, window: 1s, shadow: true}
      - {name: z, scope: global, limit: 7, window: 1d}
default: {action: block}
)");
  EXPECT_EQ(TextOf(before, after),
            "~ setting: match most_specific -> all\n"
            "+ rule new: POST /new\n"
            "~ rule a, limit x: shadow off -> on: counts carry over\n"
            "+ rule a, limit z: 7 per 1d, token_bucket by global: starts new\n"
            "+ rule default: the default\n"
            "- rule gone: any /gone: its counts are left to expire\n"
            "- rule a, limit y: 1 per 1s, token_bucket by ip: its counts are left to expire\n");
}

TEST(Diff, TellsEverySetting) {
  const RuleSet before = Load("rules: []");
  const RuleSet after = Load(R"(
match: all
ignore_case: true
trusted_proxies: [10.0.0.0/8]
client_ip_from: forwarded
ipv6_prefix: 56
max_keys: 5
instances: 2
local_factor: 0.5
lease_life: 250ms
lease_units: 50
headers: off
)");
  EXPECT_EQ(TextOf(before, after),
            "~ setting: match most_specific -> all\n"
            "~ setting: ignore_case off -> on\n"
            "~ setting: trusted_proxies: other networks (0 -> 1)\n"
            "~ setting: client_ip_from any -> forwarded\n"
            "~ setting: ipv6_prefix 64 -> 56: IPv6 clients have other keys and start new\n"
            "~ setting: max_keys 0 -> 5: in force with the next start\n"
            "~ setting: instances 1 -> 2\n"
            "~ setting: local_factor 1 -> 0.5\n"
            "~ setting: lease_life 1s -> 250ms\n"
            "~ setting: lease_units 10000 -> 50\n"
            "~ setting: headers x_ratelimit+retry_after -> off\n");
  EXPECT_TRUE(Diff(before, Load("headers: {x_ratelimit: true, retry_after: true}")).empty())
      << "the default, written out";
}

TEST(Diff, JsonHasAllFields) {
  const auto json = nlohmann::json::parse(ToJson(Diff(OneRule("scope: user, limit: 10, window: 1m"), Load(R"(
match: all
rules: [{name: b, path: /a, when: {plan: "\"x\"\\"}, action: block}])"))));
  ASSERT_EQ(json.size(), 3u);
  EXPECT_EQ(json[0].at("kind"), "setting_changed");
  EXPECT_EQ(json[1].at("kind"), "rule_added");
  EXPECT_EQ(json[1].at("rule"), "b");
  EXPECT_EQ(json[1].at("limit"), "");
  EXPECT_EQ(json[1].at("detail"), "any /a when plan=\"\\\"x\\\"\\\\\"");
  EXPECT_EQ(json[2].at("kind"), "rule_removed");
}

}  // namespace
}  // namespace ratel
