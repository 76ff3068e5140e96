#include "config/reader.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "config/node.hpp"
#include "report/headers.hpp"

namespace ratel {
namespace {

namespace fs = std::filesystem;

RuleSet Load(std::string_view text) {
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddText(text, "t.yaml"));
  for (const Error& fault : builder.faults())
    ADD_FAILURE() << fault.position.line << ": " << fault.path << ": " << fault.message;
  return builder.rules();
}

std::vector<Error> FaultsOf(std::string_view text) {
  RuleSetBuilder builder;
  EXPECT_FALSE(builder.AddText(text, "t.yaml"));
  EXPECT_TRUE(builder.rules().rules.empty());
  return builder.faults();
}

LimitSpec Spec(Algorithm algorithm, uint64_t limit, Micros window, uint64_t burst = 0) {
  return {algorithm, limit, window, burst};
}

constexpr Micros kSecond = 1'000'000;

TEST(Reader, AByteOrderMarkIsNoPartOfTheText) {
  const RuleSet set = Load("\xEF\xBB\xBFversion: 1\nignore_case: true\nrules: []\n");
  EXPECT_TRUE(set.ignore_case);
}

TEST(Reader, TakesEveryKey) {
  const RuleSet set = Load(R"(
version: 1
match: all
ignore_case: true
trusted_proxies: [10.0.0.0/8]
client_ip_from: forwarded
ipv6_prefix: 56
max_keys: 1000
instances: 4
local_factor: 1.5
lease_life: 20ms
lease_units: 7
headers: {x_ratelimit: true, retry_after: false, reset: delta, ietf: draft-11}
rules:
  - name: create-order
    method: [PUT, POST]
    path: /orders/{id}
    path_match: exact
    when: {region: eu, plan: pro}
    scope: user
    algorithm: leaky_bucket
    limit: 5
    window: 1s
    burst: 10
    overrides: {alice: {limit: 50, burst: 100}}
    cost: 2
    shadow: true
    on_store_error: closed
    local_tier: leases
    action: limit
default: {scope: ip, limit: 100, window: 1m}
)");
  EXPECT_TRUE(set.match_all);
  EXPECT_TRUE(set.ignore_case);
  ASSERT_EQ(set.trusted_proxies.size(), 1u);
  EXPECT_TRUE(set.trusted_proxies[0].Contains(*Address::Parse("10.1.2.3")));
  EXPECT_EQ(set.client_ip_from, ForwardedField::kForwarded);
  EXPECT_EQ(set.ipv6_prefix, 56u);
  EXPECT_EQ(set.max_keys, 1000u);
  EXPECT_EQ(set.instances, 4u);
  EXPECT_EQ(set.local_factor, 1.5);
  EXPECT_EQ(set.lease_life, 20'000u);
  EXPECT_EQ(set.lease_units, 7u);
  EXPECT_EQ(set.headers.forms, kHeadersX | kHeadersResetDelta | kHeadersDraft11);

  ASSERT_EQ(set.rules.size(), 2u);
  const Rule& rule = set.rules[0];
  EXPECT_EQ(rule.name, "create-order");
  EXPECT_EQ(rule.methods, (std::vector<std::string>{"POST", "PUT"}));
  EXPECT_EQ(rule.path, "/orders/{id}");
  EXPECT_EQ(rule.path_match, PathMatch::kExact);
  EXPECT_EQ(rule.when, (std::vector<Condition>{{"plan", "pro"}, {"region", "eu"}}));
  EXPECT_EQ(rule.cost, 2u);
  EXPECT_TRUE(rule.shadow);
  EXPECT_EQ(rule.on_store_error, OnStoreError::kClosed);
  EXPECT_EQ(rule.local_tier, LocalTier::kLeases);
  EXPECT_EQ(rule.action, Action::kLimit);
  EXPECT_EQ(rule.file, "t.yaml");
  EXPECT_EQ(rule.position.line, 15u);
  EXPECT_EQ(rule.position.column, 5u);
  ASSERT_EQ(rule.limits.size(), 1u);
  EXPECT_EQ(rule.limits[0].name, "create-order");
  EXPECT_EQ(rule.limits[0].spec, Spec(Algorithm::kLeakyBucket, 5, kSecond, 10));
  ASSERT_EQ(rule.limits[0].overrides.size(), 1u);
  EXPECT_EQ(rule.limits[0].overrides[0].value, "alice");
  EXPECT_EQ(rule.limits[0].overrides[0].spec, Spec(Algorithm::kLeakyBucket, 50, kSecond, 100));
  EXPECT_EQ(rule.limits[0].overrides[0].position.line, 25u);

  EXPECT_TRUE(set.rules[1].is_default);
  EXPECT_EQ(set.rules[1].name, "default");
}

TEST(Reader, HasTheDocumentedDefaults) {
  const RuleSet set = Load("rules: [{name: a, scope: user, limit: 5, window: 1s}]");
  EXPECT_FALSE(set.match_all);
  EXPECT_FALSE(set.ignore_case);
  EXPECT_EQ(set.ipv6_prefix, 64u);
  EXPECT_EQ(set.max_keys, 0u);
  EXPECT_EQ(set.instances, 1u);
  EXPECT_EQ(set.local_factor, 1.0);
  EXPECT_EQ(set.lease_life, 1'000'000u);
  EXPECT_EQ(set.lease_units, 10'000u);
  EXPECT_EQ(set.headers.forms, 0u);
  const Rule& rule = set.rules.at(0);
  EXPECT_TRUE(rule.methods.empty());
  EXPECT_EQ(rule.path, "");
  EXPECT_EQ(rule.path_match, PathMatch::kPrefix);
  EXPECT_EQ(rule.cost, 1u);
  EXPECT_FALSE(rule.shadow);
  EXPECT_EQ(rule.on_store_error, OnStoreError::kLocal);
  EXPECT_EQ(rule.local_tier, LocalTier::kNone);
  EXPECT_EQ(rule.action, Action::kLimit);
  EXPECT_EQ(rule.limits.at(0).spec, Spec(Algorithm::kTokenBucket, 5, kSecond, 0));
}

TEST(Reader, NamesLimitsByScopeAndNeverByNumbers) {
  const RuleSet set = Load(R"(
rules:
  - name: one
    path: /one
    limits: [{scope: ip, limit: 5, window: 1s}]
  - name: several
    path: /several
    limits:
      - {scope: ip, limit: 5, window: 1s}
      - {scope: [user, ip], limit: 5, window: 1m}
      - {scope: ip, limit: 50, window: 1h}
      - {scope: ip, limit: 500, window: 1d, name: ip-2}
      - {scope: "attribute:tenant", limit: 5, window: 1s}
)");
  EXPECT_EQ(set.rules[0].limits[0].name, "one");
  std::vector<std::string> names;
  for (const Limit& limit : set.rules[1].limits) names.push_back(limit.name);
  EXPECT_EQ(names, (std::vector<std::string>{"ip", "user,ip", "ip-3", "ip-2", "attribute:tenant"}));
}

TEST(Reader, OverridesTakeTheRestFromTheLimitWhateverTheOrderOfKeys) {
  const RuleSet set = Load(R"(
rules:
  - overrides: {alice: {window: 1m}, bob: {burst: 7}}
    name: a
    scope: user
    algorithm: token_bucket
    limit: 5
    window: 1s
)");
  const std::vector<Override>& overrides = set.rules.at(0).limits.at(0).overrides;
  ASSERT_EQ(overrides.size(), 2u);
  EXPECT_EQ(overrides[0].spec, Spec(Algorithm::kTokenBucket, 5, 60 * kSecond));
  EXPECT_EQ(overrides[1].spec, Spec(Algorithm::kTokenBucket, 5, kSecond, 7));
}

TEST(Reader, CutsAddressesOfOverridesAsThoseOfRequests) {
  const RuleSet set = Load(R"(
rules:
  - name: a
    scope: ip
    limit: 5
    window: 1s
    overrides: {"2001:DB8:1:2:3::4": {limit: 6}, "::ffff:192.0.2.1": {limit: 7}}
ipv6_prefix: 48
)");
  const std::vector<Override>& overrides = set.rules.at(0).limits.at(0).overrides;
  EXPECT_EQ(overrides.at(0).value, "2001:db8:1::");
  EXPECT_EQ(overrides.at(1).value, "192.0.2.1");
}

TEST(Reader, HeaderFormsAreOnesThatTheReportTakes) {
  struct Case {
    const char* text;
    uint32_t forms;
  };
  for (const Case& c : {Case{"headers: off", kHeadersNone},
                        {"headers: \"off\"", kHeadersNone},
                        {"headers: {}", kHeadersDefault},
                        {"headers: {reset: delta}", kHeadersX | kHeadersResetDelta | kHeadersRetryAfter},
                        {"headers: {x_ratelimit: false, reset: delta}", kHeadersRetryAfter},
                        {"headers: {x_ratelimit: false, retry_after: false}", kHeadersNone},
                        {"headers: {x_ratelimit: false, retry_after: false, ietf: draft-6}", kHeadersDraft6},
                        {"headers: {ietf: draft-7}", kHeadersX | kHeadersRetryAfter | kHeadersDraft7},
                        {"headers: {ietf: draft-8}", kHeadersX | kHeadersRetryAfter | kHeadersDraft8},
                        {"headers: {ietf: draft-11}", kHeadersX | kHeadersRetryAfter | kHeadersDraft11},
                        {"headers: {ietf: off}", kHeadersDefault}}) {
    const RuleSet set = Load(c.text);
    EXPECT_EQ(set.headers.forms, c.forms) << c.text;
    EXPECT_TRUE(IsValidHeaderForms(set.headers.forms)) << c.text;
  }
}

TEST(Reader, TakesJsonEscapes) {
  const RuleSet set =
      Load(R"({"rules": [{"name": "a\u002db", "path": "\/x", "scope": "user", "limit": 1, "window": "1s",
    "overrides": {"\u00e9\ud83d\ude00\\ud83d\\ude00": {"limit": 2}, "\"\b\f\n\r\t": {"limit": 3}}}]})");
  const Rule& rule = set.rules.at(0);
  EXPECT_EQ(rule.name, "a-b");
  EXPECT_EQ(rule.path, "/x");
  EXPECT_EQ(rule.limits[0].overrides.at(0).value, "\xC3\xA9\xF0\x9F\x98\x80\\ud83d\\ude00");
  EXPECT_EQ(rule.limits[0].overrides.at(1).value, "\"\b\f\n\r\t");
}

TEST(Reader, ReportsAllFaultsInFileOrder) {
  const std::vector<Error> faults = FaultsOf(R"(
rules:
  - name: a
    scope: user
    limit: 0
    window: 60
default: {action: blok}
mach: all
)");
  ASSERT_EQ(faults.size(), 4u);
  EXPECT_EQ(faults[0].path, "rules[0].limit");
  EXPECT_EQ(faults[0].position.line, 5u);
  EXPECT_EQ(faults[0].position.column, 12u);
  EXPECT_EQ(faults[1].path, "rules[0].window");
  EXPECT_EQ(faults[2].path, "default.action");
  EXPECT_NE(faults[2].message.find("did you mean \"block\"?"), std::string::npos);
  EXPECT_EQ(faults[3].path, "mach");
  for (const Error& fault : faults) {
    EXPECT_EQ(fault.file, "t.yaml");
    EXPECT_EQ(fault.status, Status::kConfig);
  }
}

TEST(Reader, KeepsTheReportBounded) {
  std::string text = "rules:\n";
  for (int i = 0; i < 5000; ++i) text += "  - {bad: 1}\n";
  EXPECT_EQ(FaultsOf(text).size(), 1000u);
}

TEST(Reader, ExcerptsAreShortAndOnOneLine) {
  const std::vector<Error> faults =
      FaultsOf("rules: [{name: a, path: \"x\\n" + std::string(10'000, 'y') + "\", action: block}]");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_LT(faults[0].message.size(), 200u);
  EXPECT_EQ(faults[0].message.find('\n'), std::string::npos);
}

TEST(Reader, RefusesTextsAboveTheBounds) {
  const std::vector<Error> large = FaultsOf(std::string(kMaxTextBytes + 1, ' '));
  ASSERT_EQ(large.size(), 1u);
  EXPECT_NE(large[0].message.find("64 MiB"), std::string::npos);
  const std::vector<Error> deep = FaultsOf("rules: " + std::string(100'000, '['));
  ASSERT_EQ(deep.size(), 1u);
  EXPECT_NE(deep[0].message.find("32 levels"), std::string::npos);
  const std::vector<Error> many = FaultsOf("rules: [" + std::string(2 * kMaxNodes + 2, ',') + "]");
  ASSERT_EQ(many.size(), 1u);
}

TEST(Reader, LoadsAHundredThousandRules) {
  std::string text = "rules:\n";
  for (int i = 0; i < 100'000; ++i) {
    const std::string n = std::to_string(i);
    text += "  - {name: r" + n + ", path: /p/" + n + ", scope: user, limit: 5, window: 1m}\n";
  }
  EXPECT_EQ(Load(text).rules.size(), 100'000u);
}

TEST(Reader, FindsManyEqualNamesAndOverridesWithoutQuadraticSteps) {
  std::string text = "rules:\n  - name: a\n    scope: user\n    limit: 5\n    window: 1m\n    overrides:\n";
  for (int i = 0; i < 100'000; ++i) text += "      u" + std::to_string(i) + ": {limit: 6}\n";
  EXPECT_EQ(Load(text).rules[0].limits[0].overrides.size(), 100'000u);
}

TEST(RuleSetBuilder, KeepsWhatItHadWhenATextIsBad) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText("match: all\nrules: [{name: a, action: block}]", "a.yaml"));
  EXPECT_FALSE(builder.AddText(
      "ignore_case: true\nrules: [{name: b, path: /b, action: block}, {name: a, path: /c, action: block}]", "b.yaml"));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_NE(builder.faults()[0].message.find("a.yaml:2"), std::string::npos);
  EXPECT_EQ(builder.rules().rules.size(), 1u);
  EXPECT_TRUE(builder.rules().match_all);
  EXPECT_FALSE(builder.rules().ignore_case);
  ASSERT_TRUE(builder.AddText("rules: [{name: b, path: /b, action: block}]", "b.yaml"));
  EXPECT_TRUE(builder.faults().empty());
  EXPECT_EQ(builder.rules().rules.size(), 2u);
}

TEST(RuleSetBuilder, ASettingHasOneValueInAllTexts) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText("instances: 2\nlocal_factor: 0.0000001\nmatch: most_specific", "a.yaml"));
  EXPECT_TRUE(builder.AddText("instances: 2", "b.yaml"));
  EXPECT_FALSE(builder.AddText("instances: 3", "c.yaml"));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_EQ(builder.faults()[0].file, "c.yaml");
  EXPECT_EQ(builder.faults()[0].position.column, 12u);
  EXPECT_NE(builder.faults()[0].message.find("a.yaml:1"), std::string::npos);
  EXPECT_FALSE(builder.AddText("match: all", "d.yaml")) << "a default that was written out counts as given";
  EXPECT_FALSE(builder.AddText("local_factor: 0.0000002", "e.yaml"));
  EXPECT_EQ(builder.rules().instances, 2u);
}

TEST(RuleSetBuilder, ALeaseLivesNeitherForeverNorForNothing) {
  for (const char* life : {"9ms", "61s"}) {
    RuleSetBuilder builder;
    EXPECT_FALSE(builder.AddText(std::string("lease_life: ") + life, "a.yaml"));
    ASSERT_EQ(builder.faults().size(), 1u);
    EXPECT_NE(builder.faults()[0].message.find("10ms to 1m"), std::string::npos) << builder.faults()[0].message;
  }
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddText("lease_life: 1m", "a.yaml"));
  EXPECT_FALSE(builder.AddText("lease_units: 0", "b.yaml"));
}

TEST(RuleSetBuilder, ALatePrefixIsAFaultWhereAddressesWereCutAlready) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText(
      R"(rules: [{name: a, scope: ip, limit: 1, window: 1s, overrides: {"2001:db8::1": {limit: 2}}}])", "a.yaml"));
  EXPECT_FALSE(builder.AddText("ipv6_prefix: 48", "b.yaml"));
  EXPECT_TRUE(builder.AddText("ipv6_prefix: 64", "b.yaml"));
}

TEST(RuleSetBuilder, ANewRuleThatHidesAnOlderOneIsAFaultOfTheNewOne) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText("default: {action: block}", "a.yaml"));
  EXPECT_FALSE(builder.AddText("rules: [{name: everything, action: unlimited}]", "b.yaml"));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_EQ(builder.faults()[0].file, "b.yaml");
  EXPECT_EQ(builder.faults()[0].path, "rules[0]");
  EXPECT_NE(builder.faults()[0].message.find("a.yaml:1"), std::string::npos);
}

TEST(RuleSetBuilder, ClearForgetsEverything) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText("match: all\nrules: [{name: a, action: block}]", "a.yaml"));
  builder.Clear();
  EXPECT_TRUE(builder.rules().rules.empty());
  EXPECT_FALSE(builder.rules().match_all);
  EXPECT_TRUE(builder.AddText("match: most_specific\nrules: [{name: a, action: block}]", "a.yaml"));
}

TEST(RuleSetBuilder, ReadsAFolderAsOne) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddPath(std::string(RATEL_SOURCE_DIR) + "/tests/data/config/good/folder"));
  ASSERT_EQ(builder.rules().rules.size(), 2u);
  EXPECT_EQ(builder.rules().rules[0].name, "orders");
  EXPECT_EQ(builder.rules().rules[0].limits[0].overrides[0].value, "2001:db8::");
  EXPECT_EQ(builder.rules().rules[1].name, "search");
}

class Folder : public testing::Test {
 protected:
  void SetUp() override {
    path_ = fs::temp_directory_path() / ("ratel_reader_" + std::to_string(::getpid()) + "_" +
                                         testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(path_);
  }
  void TearDown() override { fs::remove_all(path_); }
  void Write(const std::string& name, const std::string& text) { std::ofstream(path_ / name) << text; }
  std::string Path(const std::string& name = {}) const {
    return name.empty() ? path_.string() : (path_ / name).string();
  }

  fs::path path_;
};

TEST_F(Folder, WithoutRuleFilesIsAFault) {
  Write("notes.txt", "rules: []");
  RuleSetBuilder builder;
  EXPECT_FALSE(builder.AddPath(Path()));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_EQ(builder.faults()[0].status, Status::kIo);
}

TEST_F(Folder, WhatCannotBeReadIsAFault) {
  RuleSetBuilder builder;
  EXPECT_FALSE(builder.AddPath(Path("missing.yaml")));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_EQ(builder.faults()[0].status, Status::kIo);
  EXPECT_EQ(builder.faults()[0].file, Path("missing.yaml"));
  EXPECT_FALSE(builder.AddPath("/dev/zero"));
  EXPECT_EQ(builder.faults().at(0).message, "not a regular file");
}

// Field case B168: a folder as Kubernetes mounts it holds everything twice, once under a dot name.
TEST_F(Folder, OfAMountedConfigMapIsReadOnce) {
  fs::create_directories(path_ / "..2024_01_01");
  std::ofstream(path_ / "..2024_01_01" / "rules.yaml") << "rules: [{name: a, action: block}]";
  fs::create_directory_symlink("..2024_01_01", path_ / "..data");
  fs::create_symlink("..data/rules.yaml", path_ / "rules.yaml");
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddPath(Path()));
  EXPECT_EQ(builder.rules().rules.size(), 1u);
}

// Field case B174: a limit without its window is an error, not a rule that is left out.
TEST(Reader, AMissingWindowIsAFault) {
  const std::vector<Error> faults = FaultsOf("rules: [{name: a, scope: user, limit: 5}]");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].path, "rules[0].window");
}

// Field case B171: a text where a list of limits is due.
TEST(Reader, ATextInPlaceOfLimitsIsAFault) {
  const std::vector<Error> faults = FaultsOf("rules: [{name: a, limits: 5 per minute}]");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].path, "rules[0].limits");
}

// Field case B051: half a request per minute is one per two minutes, never a truncated number.
TEST(Reader, AFractionOfALimitIsAFault) {
  const std::vector<Error> faults = FaultsOf("rules: [{name: a, scope: user, limit: 0.5, window: 1m}]");
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].path, "rules[0].limit");
}

}  // namespace
}  // namespace ratel
