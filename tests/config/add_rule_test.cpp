// Rules made in code pass the same checks as rules of a file.
#include <gtest/gtest.h>

#include "config/reader.hpp"

namespace ratel {
namespace {

Limit MakeLimit(Scope scope = {{ScopePart::kUser, {}}}) {
  Limit limit;
  limit.scope = std::move(scope);
  limit.spec = {Algorithm::kTokenBucket, 5, 1'000'000, 0};
  return limit;
}

Rule MakeRule(std::string name, std::string path = "/a") {
  Rule rule;
  rule.name = std::move(name);
  rule.path = std::move(path);
  rule.limits.push_back(MakeLimit());
  return rule;
}

std::vector<std::string> PathsOfFaults(Rule rule) {
  std::vector<Error> faults;
  ValidateRule(rule, "r", faults);
  std::vector<std::string> paths;
  for (const Error& fault : faults) paths.push_back(fault.path);
  return paths;
}

using Paths = std::vector<std::string>;

TEST(AddRule, TakesAGoodRule) {
  RuleSetBuilder builder;
  Rule rule = MakeRule("a");
  rule.methods = {"*"};
  rule.when = {{"z", "1"}, {"a", "2"}};
  ASSERT_TRUE(builder.AddRule(rule));
  const Rule& added = builder.rules().rules.at(0);
  EXPECT_EQ(added.limits[0].name, "a");
  EXPECT_TRUE(added.methods.empty());
  EXPECT_EQ(added.when[0].attribute, "a");
  EXPECT_TRUE(builder.Check());
}

TEST(AddRule, FaultsNameTheRuleAsFile) {
  RuleSetBuilder builder;
  Rule rule = MakeRule("a");
  rule.limits[0].spec.window = 0;
  EXPECT_FALSE(builder.AddRule(rule));
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_EQ(builder.faults()[0].file, "<rule>");
  EXPECT_EQ(builder.faults()[0].path, "limits[0].window");
  EXPECT_EQ(builder.faults()[0].position.line, 0u);
  EXPECT_TRUE(builder.rules().rules.empty());
}

TEST(AddRule, NamesAndTheDefaultAreUnique) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddText("default: {action: block}\nrules: [{name: a, path: /x, action: block}]", "a.yaml"));
  EXPECT_FALSE(builder.AddRule(MakeRule("a")));
  EXPECT_NE(builder.faults().at(0).message.find("a.yaml:2"), std::string::npos);
  Rule second = MakeRule("b", "");
  second.is_default = true;
  EXPECT_FALSE(builder.AddRule(second));
  EXPECT_NE(builder.faults().at(0).message.find("a.yaml:1"), std::string::npos);
  EXPECT_TRUE(builder.AddRule(MakeRule("c")));
  EXPECT_FALSE(builder.AddRule(MakeRule("c")));
}

TEST(AddRule, CheckFindsARuleThatIsNeverReached) {
  RuleSetBuilder builder;
  ASSERT_TRUE(builder.AddRule(MakeRule("a")));
  ASSERT_TRUE(builder.AddRule(MakeRule("b")));
  EXPECT_FALSE(builder.Check());
  ASSERT_EQ(builder.faults().size(), 1u);
  EXPECT_NE(builder.faults()[0].message.find("\"a\""), std::string::npos);
}

TEST(AddRule, AddsManyWithoutQuadraticSteps) {
  RuleSetBuilder builder;
  for (int i = 0; i < 100'000; ++i) {
    const std::string number = std::to_string(i);
    ASSERT_TRUE(builder.AddRule(MakeRule(number, "/" + number)));
  }
  EXPECT_TRUE(builder.Check());
}

TEST(ValidateRule, ChecksNames) {
  for (const char* name : {"", "a\"b", "a\\b", "a\nb", "\xC3\xA9", "\xFF"})
    EXPECT_EQ(PathsOfFaults(MakeRule(name)), Paths{"r.name"}) << name;
  EXPECT_EQ(PathsOfFaults(MakeRule(std::string(128, 'x'))), Paths{});
  EXPECT_EQ(PathsOfFaults(MakeRule(std::string(129, 'x'))), Paths{"r.name"});
}

TEST(ValidateRule, ChecksNumbers) {
  Rule rule = MakeRule("a");
  rule.cost = 0;
  rule.limits[0].spec.limit = 0;
  rule.limits[0].spec.window = kMaxWindow + 1;
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.cost", "r.limits[0].limit", "r.limits[0].window"}));
  rule = MakeRule("a");
  rule.limits[0].spec.limit = UINT64_MAX;
  rule.limits[0].spec.burst = UINT64_MAX;
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.limits[0].limit", "r.limits[0].burst"}));
}

TEST(ValidateRule, ChecksTheAlgorithmAndItsBurst) {
  Rule rule = MakeRule("a");
  rule.limits[0].spec.algorithm = static_cast<Algorithm>(9);
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits[0].algorithm"});
  rule.limits[0].spec = {Algorithm::kSlidingLog, 5, 1'000'000, 10};
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits[0].burst"});
}

TEST(ValidateRule, ChecksScopes) {
  Rule rule = MakeRule("a");
  rule.limits[0].scope = {};
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits[0].scope"});
  rule.limits[0].scope = {{ScopePart::kUser, {}}, {ScopePart::kGlobal, {}}, {ScopePart::kUser, {}}};
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.limits[0].scope[1]", "r.limits[0].scope[2]"}));
  rule.limits[0].scope = {{ScopePart::kAttribute, "a,b"}};
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits[0].scope"});
}

TEST(ValidateRule, ChecksOverrides) {
  Rule rule = MakeRule("a");
  rule.limits[0].scope = {{ScopePart::kIp, {}}};
  const LimitSpec good = {Algorithm::kTokenBucket, 6, 1'000'000, 0};
  rule.limits[0].overrides = {{"192.0.2.1", good, {}},
                              {"::FFFF:192.0.2.1", good, {}},
                              {"nobody", good, {}},
                              {"192.0.2.2", {Algorithm::kSlidingLog, 6, 1'000'000, 0}, {}},
                              {"192.0.2.3", {Algorithm::kTokenBucket, 0, 1, 0}, {}}};
  EXPECT_EQ(PathsOfFaults(rule),
            (Paths{"r.limits[0].overrides[\"::FFFF:192.0.2.1\"]", "r.limits[0].overrides[\"nobody\"]",
                   "r.limits[0].overrides[\"192.0.2.2\"]", "r.limits[0].overrides[\"192.0.2.3\"].limit"}));
}

TEST(ValidateRule, ChecksActionsAndDefaults) {
  Rule rule = MakeRule("a");
  rule.action = Action::kBlock;
  rule.shadow = true;
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.action", "r.shadow"}));
  rule = MakeRule("a");
  rule.limits.clear();
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits"});
  rule = MakeRule("a");
  rule.is_default = true;
  rule.methods = {"GET"};
  rule.when = {{"plan", "pro"}};
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.method", "r.path", "r.when"}));
  rule = MakeRule("a");
  rule.limits.assign(33, MakeLimit());
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.limits"});
  rule = MakeRule("a");
  rule.methods.assign(65, "GET");
  rule.when.assign(33, {"plan", "pro"});
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.method", "r.when"}));
}

TEST(ValidateRule, ChecksEnums) {
  Rule rule = MakeRule("a");
  rule.path_match = static_cast<PathMatch>(3);
  rule.on_store_error = static_cast<OnStoreError>(200);
  rule.local_tier = static_cast<LocalTier>(3);
  rule.action = static_cast<Action>(255);
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.path_match", "r.on_store_error", "r.local_tier", "r.action"}));
}

TEST(ValidateRule, TakesAnyBytesWithoutHarm) {
  Rule rule = MakeRule("a", "/\xFF\xFE");
  EXPECT_EQ(PathsOfFaults(rule), Paths{});
  rule.path = std::string("/a\0b", 4);
  EXPECT_EQ(PathsOfFaults(rule), Paths{"r.path"});
  rule = MakeRule("a");
  rule.when = {{"\xFF", std::string("\0", 1)}, {"plan", ""}, {"x", "1"}, {"x", "2"}};
  EXPECT_EQ(PathsOfFaults(rule), (Paths{"r.when[\"\\xFF\"]", "r.when[\"plan\"]", "r.when[\"x\"]"}));
}

TEST(ParseScope, ReadsParts) {
  EXPECT_EQ(*ParseScope("user"), (Scope{{ScopePart::kUser, {}}}));
  EXPECT_EQ(*ParseScope("attribute:tenant,api_key,ip"),
            (Scope{{ScopePart::kAttribute, "tenant"}, {ScopePart::kApiKey, {}}, {ScopePart::kIp, {}}}));
  EXPECT_EQ(*ParseScope("global"), (Scope{{ScopePart::kGlobal, {}}}));
  for (const char* text : {"", "users", "user,", "user ip", "attribute"}) EXPECT_FALSE(ParseScope(text).ok()) << text;
  EXPECT_NE(ParseScope("users").error().message.find("did you mean \"user\"?"), std::string::npos);
}

TEST(ParseScope, ReadsWhatToTextWrites) {
  const Scope scope = {{ScopePart::kAttribute, "tenant"}, {ScopePart::kIp, {}}};
  EXPECT_EQ(*ParseScope(ToText(scope)), scope);
}

}  // namespace
}  // namespace ratel
