#include "rules/matcher.hpp"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "rules/build.hpp"
#include "rules/path.hpp"
#include "rules/text_key.hpp"

namespace ratel::test {
namespace {

// B147, B150
TEST(Semantics7Rules, PrefixKeepsToSegmentBorders) {
  const RuleSet set = SetOf({RuleBuilder("api", "/api"), RuleBuilder("foo", "/v1/petstore")});
  for (const char* path : {"/api", "/api/", "/api/x", "/api/x/y/"}) EXPECT_EQ(Matched(set, "GET", path), "api") << path;
  for (const char* path : {"/apix", "/ap", "/", "/x/api", "/API"}) EXPECT_EQ(Matched(set, "GET", path), "-") << path;
  EXPECT_EQ(Matched(set, "GET", "/v1/petstore/something"), "foo");
  EXPECT_EQ(Matched(set, "GET", "/v1/petstores"), "-");
}

TEST(Semantics7Rules, ASlashAtThePrefixsEndMeansNothing) {
  const RuleSet set = SetOf({RuleBuilder("api", "/api/")});
  EXPECT_EQ(Matched(set, "GET", "/api"), "api");
  EXPECT_EQ(Matched(set, "GET", "/api/x"), "api");
}

TEST(Semantics7Rules, ExactIsTheWholePath) {
  const RuleSet set = SetOf(
      {RuleBuilder("bare", "/login").Exact(), RuleBuilder("slash", "/in/").Exact(), RuleBuilder("root", "/").Exact()});
  EXPECT_EQ(Matched(set, "GET", "/login"), "bare");
  EXPECT_EQ(Matched(set, "GET", "/login/"), "-");
  EXPECT_EQ(Matched(set, "GET", "/login/x"), "-");
  EXPECT_EQ(Matched(set, "GET", "/in/"), "slash");
  EXPECT_EQ(Matched(set, "GET", "/in"), "-");
  EXPECT_EQ(Matched(set, "GET", "/"), "root");
  EXPECT_EQ(Matched(set, "GET", "/x"), "-");
}

TEST(Semantics7Rules, LiteralIsPlainStartsWith) {
  const RuleSet set = SetOf({RuleBuilder("v", "/api/v").Literal(), RuleBuilder("braces", "/t/{x}").Literal()});
  for (const char* path : {"/api/v", "/api/v1", "/api/v/x", "/api/v1/x"}) EXPECT_EQ(Matched(set, "GET", path), "v");
  EXPECT_EQ(Matched(set, "GET", "/api/"), "-");
  EXPECT_EQ(Matched(set, "GET", "/t/{x}/y"), "braces");
  EXPECT_EQ(Matched(set, "GET", "/t/5"), "-");
}

// B156
TEST(Semantics7Rules, AParameterStandsForOneSegment) {
  const RuleSet set = SetOf({RuleBuilder("user", "/user/{id}"), RuleBuilder("posts", "/user/{id}/posts")});
  EXPECT_EQ(Matched(set, "GET", "/user/1"), "user");
  EXPECT_EQ(Matched(set, "GET", "/user/2"), "user");
  EXPECT_EQ(Matched(set, "GET", "/user/2/other"), "user");
  EXPECT_EQ(Matched(set, "GET", "/user/2/posts/7"), "posts");
  EXPECT_EQ(Matched(set, "GET", "/user"), "-");
  EXPECT_EQ(Matched(set, "GET", "/user/"), "-");
}

// B159
TEST(Semantics7Rules, AnEscapedSlashIsNoSeparator) {
  const RuleSet set = SetOf({RuleBuilder("admin", "/admin"), RuleBuilder("one", "/{x}").Exact()});
  EXPECT_EQ(Matched(set, "GET", NormalizePath("/admin%2Fx")), "one");
  EXPECT_EQ(Matched(set, "GET", NormalizePath("/x/%2e%2e/admin")), "admin");
}

TEST(Semantics7Rules, TheLongestPathWins) {
  const RuleSet set = SetOf({RuleBuilder("everything", ""), RuleBuilder("api", "/api"),
                             RuleBuilder("orders", "/api/orders"), RuleBuilder("one", "/api/orders/{id}")});
  EXPECT_EQ(Matched(set, "GET", "/"), "everything");
  EXPECT_EQ(Matched(set, "GET", "/api/x"), "api");
  EXPECT_EQ(Matched(set, "GET", "/api/orders"), "orders");
  EXPECT_EQ(Matched(set, "GET", "/api/orders/5/items"), "one");
}

TEST(Semantics7Rules, LengthGoesBeforeLiteralSegments) {
  const RuleSet set = SetOf({RuleBuilder("literal", "/a/b"), RuleBuilder("deep", "/{x}/{y}/{z}")});
  EXPECT_EQ(Matched(set, "GET", "/a/b"), "literal");
  EXPECT_EQ(Matched(set, "GET", "/a/b/c"), "deep");
}

TEST(Semantics7Rules, ALiteralSegmentGoesBeforeAParameterFromTheLeft) {
  const RuleSet set =
      SetOf({RuleBuilder("left", "/a/{y}/c"), RuleBuilder("right", "/{x}/b/c"), RuleBuilder("none", "/{x}/{y}/{z}")});
  EXPECT_EQ(Matched(set, "GET", "/a/b/c"), "left");
  EXPECT_EQ(Matched(set, "GET", "/q/b/c"), "right");
  EXPECT_EQ(Matched(set, "GET", "/a/b/q"), "none");
}

TEST(Semantics7Rules, TheOtherBranchIsTakenWhenTheLiteralOneEnds) {
  const RuleSet set =
      SetOf({RuleBuilder("short", "/a/b"), RuleBuilder("long", "/{x}/{y}/c/d"), RuleBuilder("dead-end", "/a/b/c/e/f")});
  EXPECT_EQ(Matched(set, "GET", "/a/b/c/d"), "long");
  EXPECT_EQ(Matched(set, "GET", "/a/b/c/e"), "short");
  EXPECT_EQ(Matched(set, "GET", "/a/b/c/e/f/g"), "dead-end");
}

TEST(Semantics7Rules, ExactBeforePrefixBeforeLiteral) {
  const RuleSet set = SetOf({RuleBuilder("exact", "/a/b").Exact(), RuleBuilder("prefix", "/a/b"),
                             RuleBuilder("literal", "/a/b").Literal(), RuleBuilder("longer", "/a/bc").Literal()});
  EXPECT_EQ(Matched(set, "GET", "/a/b"), "exact");
  EXPECT_EQ(Matched(set, "GET", "/a/b/"), "prefix");
  EXPECT_EQ(Matched(set, "GET", "/a/b1"), "literal");
  EXPECT_EQ(Matched(set, "GET", "/a/bcd"), "longer");
}

TEST(Semantics7Rules, MethodsCompareInCapitals) {
  const RuleSet set = SetOf({RuleBuilder("write", "/a").Methods({"POST", "PUT"}), RuleBuilder("any", "/a")});
  EXPECT_EQ(Matched(set, "POST", "/a"), "write");
  EXPECT_EQ(Matched(set, "post", "/a"), "write");
  EXPECT_EQ(Matched(set, "Put", "/a"), "write");
  EXPECT_EQ(Matched(set, "GET", "/a"), "any");
  EXPECT_EQ(Matched(set, "", "/a"), "any");
  EXPECT_EQ(Matched(set, "POSTX", "/a"), "any");
}

TEST(Semantics7Rules, APathGoesBeforeAMethod) {
  const RuleSet set = SetOf({RuleBuilder("post", "/a").Methods({"POST"}), RuleBuilder("deep", "/a/b")});
  EXPECT_EQ(Matched(set, "POST", "/a/b"), "deep");
  EXPECT_EQ(Matched(set, "POST", "/a/c"), "post");
}

TEST(Semantics7Rules, AMethodThatFailsFallsThroughToAShorterPath) {
  const RuleSet set = SetOf({RuleBuilder("create", "/a/b").Methods({"POST"}), RuleBuilder("rest", "/a")});
  EXPECT_EQ(Matched(set, "GET", "/a/b"), "rest");
}

TEST(Semantics7Rules, FewerMethodsAreMoreSpecific) {
  const RuleSet set =
      SetOf({RuleBuilder("both", "/a").Methods({"GET", "POST"}), RuleBuilder("get", "/a").Methods({"GET"})});
  EXPECT_EQ(Matched(set, "GET", "/a"), "get");
  EXPECT_EQ(Matched(set, "POST", "/a"), "both");
}

TEST(Semantics7Rules, ConditionsRestrictARule) {
  const RuleSet set = SetOf({RuleBuilder("all", "/a"), RuleBuilder("pro", "/a").When({{"plan", "pro"}}),
                             RuleBuilder("pro-eu", "/a").When({{"plan", "pro"}, {"region", "eu"}})});
  EXPECT_EQ(Matched(set, "GET", "/a"), "all");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "free"}}), "all");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "pro"}}), "pro");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"region", "eu"}}), "all");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"region", "eu"}, {"plan", "pro"}}), "pro-eu");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "PRO"}}), "all");
}

TEST(Semantics7Rules, AMethodGoesBeforeConditions) {
  const RuleSet set =
      SetOf({RuleBuilder("get", "/a").Methods({"GET"}), RuleBuilder("pro", "/a").When({{"plan", "pro"}})});
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "pro"}}), "get");
  EXPECT_EQ(Matched(set, "PUT", "/a", {{"plan", "pro"}}), "pro");
}

TEST(Semantics7Rules, ConditionsThatFailFallThrough) {
  const RuleSet set = SetOf({RuleBuilder("pro", "/a/b").When({{"plan", "pro"}}), RuleBuilder("rest", "/a")});
  EXPECT_EQ(Matched(set, "GET", "/a/b"), "rest");
  EXPECT_EQ(Matched(set, "GET", "/a/b", {{"plan", "pro"}}), "pro");
}

TEST(Semantics7Rules, OfAnAttributeGivenTwiceTheFirstCounts) {
  const RuleSet set = SetOf({RuleBuilder("pro", "/a").When({{"plan", "pro"}})});
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "free"}, {"plan", "pro"}}), "-");
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", "pro"}, {"plan", "free"}}), "pro");
}

TEST(Semantics7Rules, AnEmptyValueIsAValue) {
  const RuleSet set = SetOf({RuleBuilder("none", "/a").When({{"plan", ""}})});
  EXPECT_EQ(Matched(set, "GET", "/a", {{"plan", ""}}), "none");
  EXPECT_EQ(Matched(set, "GET", "/a"), "-");
}

TEST(Semantics7Rules, IgnoreCaseIsForPathsOnly) {
  RuleSet set = SetOf({RuleBuilder("orders", "/Api/ORDERS-of-the-long-kind/{id}"),
                       RuleBuilder("lit", "/Lit/Ab").Literal(), RuleBuilder("pro", "/x").When({{"Plan", "Pro"}})});
  EXPECT_EQ(Matched(set, "GET", "/api/orders-of-the-long-kind/1"), "-");
  set.ignore_case = true;
  EXPECT_EQ(Matched(set, "GET", "/aPi/oRders-of-the-long-kinD/1"), "orders");
  EXPECT_EQ(Matched(set, "GET", "/LIT/ABC"), "lit");
  EXPECT_EQ(Matched(set, "GET", "/lit/@b"), "-");
  EXPECT_EQ(Matched(set, "GET", "/x", {{"plan", "pro"}}), "-");
  EXPECT_EQ(Matched(set, "GET", "/X", {{"Plan", "Pro"}}), "pro");
}

TEST(Semantics7Rules, TheDefaultIsForWhatNothingElseCovers) {
  const RuleSet set = SetOf({RuleBuilder("rest", "").Default(), RuleBuilder("a", "/a")});
  EXPECT_EQ(Matched(set, "GET", "/b"), "rest");
  EXPECT_EQ(Matched(set, "GET", "/a"), "a");
  EXPECT_EQ(AllMatched(set, "GET", "/a"), "a");
  EXPECT_EQ(AllMatched(set, "GET", "/b"), "rest");
}

TEST(Semantics7Rules, NoRulesMatchNothing) {
  EXPECT_EQ(Matcher().Match({"GET", "/", {}}), Matcher::kNone);
  EXPECT_EQ(Matched({}, "GET", "/a/b"), "-");
  EXPECT_EQ(AllMatched({}, "GET", "/a/b"), "");
}

TEST(Semantics7Rules, MatchAllGivesEveryRuleMostSpecificFirst) {
  RuleSet set = SetOf({RuleBuilder("everything", ""), RuleBuilder("api", "/api"), RuleBuilder("ap", "/ap").Literal(),
                       RuleBuilder("get", "/api").Methods({"GET"}), RuleBuilder("one", "/{x}/{y}"),
                       RuleBuilder("orders", "/api/orders"), RuleBuilder("put", "/api").Methods({"PUT"})});
  set.match_all = true;
  EXPECT_EQ(AllMatched(set, "GET", "/api/orders"), "orders one get api ap everything");
  EXPECT_EQ(AllMatched(set, "GET", "/api/orders", {}, 3), "orders one get");
  EXPECT_EQ(AllMatched(set, "GET", "/api/orders", {}, 0), "");
}

TEST(Semantics7Rules, MatchAllGivesEqualRulesBoth) {
  RuleSet set = SetOf({RuleBuilder("b", "/a").When({{"k", "v"}}), RuleBuilder("a", "/a").When({{"k", "v"}})});
  set.match_all = true;
  EXPECT_EQ(AllMatched(set, "GET", "/a", {{"k", "v"}}), "a b");
}

TEST(Semantics7Rules, MatchAllGivesThoseOfEqualConditionsThoughOthersStandBetween) {
  RuleSet set = SetOf({RuleBuilder("get", "/a").Methods({"GET"}).When({{"k", "v"}}),
                       RuleBuilder("other", "/a").Methods({"GET"}).When({{"k", "w"}}),
                       RuleBuilder("both", "/a").Methods({"GET", "POST"}).When({{"k", "v"}})});
  set.match_all = true;
  EXPECT_EQ(AllMatched(set, "GET", "/a", {{"k", "v"}}), "get both");
}

TEST(Semantics7Rules, AMethodThatIsNamedTwiceCountsOnce) {
  RuleSet set = SetOf({RuleBuilder("twice", "/a").Methods({"GET", "GET"})});
  set.match_all = true;
  EXPECT_EQ(AllMatched(set, "GET", "/a"), "twice");
}

TEST(Semantics7Rules, ManyRulesForOneTenantEach) {
  std::vector<Rule> rules;
  for (int i = 0; i < 1000; ++i) {
    const std::string tenant = "tenant-" + std::to_string(i);
    rules.push_back(RuleBuilder(tenant, "/a").When({{"tenant", tenant}}));
  }
  const RuleSet set = SetOf(std::move(rules));
  const Matcher matcher = Matcher::Compile(set);
  for (uint32_t i = 0; i < 1000; ++i) {
    const AttributeView attribute{"tenant", set.rules[i].name};
    EXPECT_EQ(matcher.Match({"GET", "/a/x", {&attribute, 1}}), i);
  }
}

TEST(Semantics7Rules, PathsThatAreNotNormalDoNoHarm) {
  const RuleSet set = SetOf({RuleBuilder("one", "/{x}"), RuleBuilder("ab", "/a/b"), RuleBuilder("any", "/{x}/{y}/c")});
  for (const char* path : {"", "a", "a/b/c", "//", "//a//b//", "/a//b", "///c", "/a/b//"}) {
    EXPECT_NO_FATAL_FAILURE(Matched(set, "GET", path)) << path;
  }
  EXPECT_EQ(Matched(set, "GET", ""), "-");
}

/// Two texts of which the second is not what a rule says, though what tells texts apart in a hurry is the same of both.
void ExpectToldApart(const std::string& of_rule, const std::string& other) {
  for (const bool literal : {false, true}) {
    RuleBuilder one("one", "/" + of_rule);
    RuleBuilder same_size("same-size", "/" + std::string(of_rule.size(), 'x'));
    if (literal) {
      one.Literal();
      same_size.Literal();
    }
    const RuleSet set = SetOf({one, same_size, RuleBuilder("more", "/more")});
    EXPECT_EQ(Matched(set, "GET", "/" + of_rule), "one");
    EXPECT_EQ(Matched(set, "GET", "/" + other), "-");
  }
}

// Who knows the keys of long texts can make two meet: a word that is this number takes out all that was mixed in before.
TEST(Semantics7Rules, LongTextsWhoseKeysMeetAreToldApart) {
  std::string eraser;
  for (int shift = 0; shift < 64; shift += 8) eraser += static_cast<char>(0xd6e8feb86659fd93 >> shift);
  const std::string of_rule = "the-same-8" + std::string("abcdef") + eraser;
  const std::string other = "the-same-8" + std::string("ghijkl") + eraser;
  ASSERT_EQ(KeyOfText(of_rule, false), KeyOfText(other, false));
  ExpectToldApart(of_rule, other);
}

TEST(Semantics7Rules, TextsWhoseHashesMeetAreToldApart) {
  constexpr uint64_t kBelowTheRoot = 0;
  std::unordered_map<uint32_t, std::string> texts;
  for (int i = 0;; ++i) {
    const std::string text = "s" + std::to_string(i);
    const auto [at, is_new] = texts.emplace(HashOfKey(KeyOfText(text, false), kBelowTheRoot), text);
    if (is_new) continue;
    ExpectToldApart(at->second, text);
    const RuleSet of_tenants = SetOf({RuleBuilder("one", "/a").When({{"tenant", at->second}})});
    EXPECT_EQ(Matched(of_tenants, "GET", "/a", {{"tenant", at->second}}), "one");
    EXPECT_EQ(Matched(of_tenants, "GET", "/a", {{"tenant", text}}), "-");
    const RuleSet of_methods = SetOf({RuleBuilder("one", "/a").Methods({at->second})});
    EXPECT_EQ(Matched(of_methods, at->second, "/a"), "one");
    EXPECT_EQ(Matched(of_methods, text, "/a"), "-");
    return;
  }
}

std::string Explained(const RuleSet& set, std::string_view method, std::string_view path,
                      std::vector<AttributeView> attributes = {}) {
  std::string text;
  for (const Matcher::PassedOver& passed : Matcher::Compile(set).Explain({method, path, attributes})) {
    static constexpr const char* kWhy[] = {"method", "condition", "less-specific"};
    text += set.rules[passed.rule].name + ":" + kWhy[static_cast<int>(passed.why)] + " ";
  }
  return text;
}

TEST(Semantics7Rules, ExplainNamesThePassedOver) {
  RuleSet set =
      SetOf({RuleBuilder("deep", "/a/b").Methods({"PUT", "POST"}), RuleBuilder("pro", "/a").When({{"plan", "pro"}}),
             RuleBuilder("a", "/a"), RuleBuilder("get", "/a").Methods({"GET", "HEAD"}), RuleBuilder("all", ""),
             RuleBuilder("other", "/b"), RuleBuilder("rest", "").Default()});
  EXPECT_EQ(Explained(set, "GET", "/a/b"), "deep:method pro:condition a:less-specific all:less-specific ");
  EXPECT_EQ(Explained(set, "PUT", "/a", {{"plan", "pro"}}), "get:method a:less-specific all:less-specific ");
  set.match_all = true;
  EXPECT_EQ(Explained(set, "GET", "/a/b"), "deep:method pro:condition ");
}

}  // namespace
}  // namespace ratel::test
