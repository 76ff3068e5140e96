#include "rules/shared_scope.hpp"

#include <gtest/gtest.h>

#include "rules/build.hpp"

namespace ratel::test {
namespace {

Scope ScopeOf(std::string_view text) {
  Scope scope;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    if (part == "user") {
      scope.push_back({ScopePart::kUser, {}});
    } else if (part == "api_key") {
      scope.push_back({ScopePart::kApiKey, {}});
    } else if (part == "ip") {
      scope.push_back({ScopePart::kIp, {}});
    } else if (part == "global") {
      scope.push_back({ScopePart::kGlobal, {}});
    } else {
      scope.push_back({ScopePart::kAttribute, std::string(part)});
    }
  }
  return scope;
}

/// A rule with one limit for each scope, named "1", "2" ...
Rule With(Rule rule, const std::vector<std::string>& scopes) {
  for (const std::string& scope : scopes) {
    Limit limit;
    limit.name = std::to_string(rule.limits.size() + 1);
    limit.scope = ScopeOf(scope);
    rule.limits.push_back(limit);
  }
  return rule;
}

/// What each rule's limits share, "-" for nothing, joined by blanks.
std::string Shared(const RuleSet& set) {
  std::string text;
  for (const SharedScope& shared : FindSharedScopes(set))
    text += (text.empty() ? "" : " ") + (shared.scope.empty() ? "-" : ToText(shared.scope));
  return text;
}

std::string SharedOf(const std::vector<std::string>& scopes) {
  return Shared(SetOf({With(RuleBuilder("r", "/a"), scopes)}));
}

TEST(SharedScope, OneLimitOrOneScopeSharesAllOfIt) {
  EXPECT_EQ(SharedOf({"user"}), "user");
  EXPECT_EQ(SharedOf({"tenant,user"}), "attribute:tenant,user");
  EXPECT_EQ(SharedOf({"user", "user", "user"}), "user");
  EXPECT_EQ(SharedOf({"global"}), "global");
  EXPECT_EQ(SharedOf({"global", "global"}), "global");
}

TEST(SharedScope, ThePartsThatAllHave) {
  EXPECT_EQ(SharedOf({"tenant", "tenant,user"}), "attribute:tenant");
  EXPECT_EQ(SharedOf({"user,tenant", "tenant,user"}), "user,attribute:tenant");
  EXPECT_EQ(SharedOf({"user,ip,tenant", "ip,user", "ip,api_key,user"}), "user,ip");
  EXPECT_EQ(SharedOf({"tenant", "region"}), "-");
  EXPECT_EQ(SharedOf({"user", "ip"}), "-");
  EXPECT_EQ(SharedOf({"user,ip", "ip,tenant", "tenant,user"}), "-");
}

TEST(SharedScope, GlobalIsNoPart) {
  EXPECT_EQ(SharedOf({"global", "user"}), "-");
  EXPECT_EQ(SharedOf({"global,user", "global,ip"}), "-");
  EXPECT_EQ(SharedOf({"global,user", "user"}), "user");
}

TEST(SharedScope, RulesOfWhichOneAppliesAreApart) {
  EXPECT_EQ(Shared(SetOf({With(RuleBuilder("a", "/a"), {"user"}), With(RuleBuilder("b", "/"), {"ip"}),
                          RuleBuilder("c", "/c"), With(RuleBuilder("d", "").Default(), {"global"})})),
            "user ip - global");
}

TEST(SharedScope, UnderMatchAllThoseThatCanMeetShare) {
  const auto shared = [](std::vector<Rule> rules) {
    RuleSet set = SetOf(std::move(rules));
    set.match_all = true;
    return Shared(set);
  };
  const Rule user = With(RuleBuilder("user", "/a"), {"user"});
  EXPECT_EQ(shared({user, With(RuleBuilder("other", "/b"), {"ip"})}), "user ip") << "paths that differ";
  EXPECT_EQ(shared({user, With(RuleBuilder("other", "/"), {"ip"})}), "- -");
  EXPECT_EQ(shared({user, With(RuleBuilder("other", "/{x}/y"), {"ip,user"})}), "user user");
  EXPECT_EQ(shared({user, With(RuleBuilder("other", "/b").Literal(), {"ip"})}), "- -") << "to be on the safe side";
  EXPECT_EQ(shared({user, With(RuleBuilder("other", "").Default(), {"ip"})}), "user ip") << "the default applies alone";
  EXPECT_EQ(shared({With(RuleBuilder("get", "/a").Methods({"GET"}), {"user"}),
                    With(RuleBuilder("put", "/a").Methods({"PUT"}), {"ip"})}),
            "user ip");
  EXPECT_EQ(shared({With(RuleBuilder("pro", "/a").When({{"plan", "pro"}}), {"user"}),
                    With(RuleBuilder("free", "/a").When({{"plan", "free"}}), {"ip"})}),
            "user ip");
  EXPECT_EQ(shared({With(RuleBuilder("exact", "/a").Exact(), {"user"}), With(RuleBuilder("deep", "/a/b"), {"ip"})}),
            "user ip");
  EXPECT_EQ(shared({With(RuleBuilder("x", "/x"), {"user,ip"}), With(RuleBuilder("y", "/y"), {"tenant,user"}),
                    With(RuleBuilder("all", "/"), {"user"}), RuleBuilder("no-limits", "/")}),
            "user user user -")
      << "through a third one";
}

TEST(SharedScope, TheNameIsTheFirstOfThoseThatCanMeet) {
  RuleSet set = SetOf({With(RuleBuilder("z", "/a"), {"user"}), With(RuleBuilder("m", "/"), {"ip"}),
                       With(RuleBuilder("b", "/a/{x}"), {"global"})});
  set.match_all = true;
  for (const SharedScope& shared : FindSharedScopes(set)) EXPECT_EQ(shared.name, "b");
  set.match_all = false;
  EXPECT_EQ(FindSharedScopes(set)[0].name, "z");
}

TEST(SharedScope, WhatIsRefusedIsNamed) {
  Rule rule = With(RuleBuilder("checkout", "/a"), {"user", "user,ip", "ip"});
  rule.file = "rules.yaml";
  rule.limits[2].position = {7, 9};
  RuleSet set = SetOf({rule, With(RuleBuilder("fine", "/b"), {"user"})});
  std::vector<Error> faults = FindUnshared(set);
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].status, Status::kConfig);
  EXPECT_EQ(faults[0].file, "rules.yaml");
  EXPECT_EQ(faults[0].position.line, 7u);
  for (const char* part : {"rule \"checkout\"", "limit \"1\" (user)", "limit \"3\" (ip)", "slot=rule"})
    EXPECT_NE(faults[0].message.find(part), std::string::npos) << faults[0].message;
  set = SetOf({With(RuleBuilder("one", "/a"), {"user"}), With(RuleBuilder("two", "/"), {"ip"})});
  EXPECT_TRUE(FindUnshared(set).empty());
  set.match_all = true;
  faults = FindUnshared(set);
  ASSERT_EQ(faults.size(), 1u);
  for (const char* part : {"match: all", "of rule \"one\"", "of rule \"two\""})
    EXPECT_NE(faults[0].message.find(part), std::string::npos) << faults[0].message;
}

}  // namespace
}  // namespace ratel::test
