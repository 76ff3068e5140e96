#include <gtest/gtest.h>

#include <string>

#include "rules/build.hpp"

namespace ratel::test {
namespace {

std::string Reported(const RuleSet& set) {
  std::string text;
  for (const Unreachable& pair : FindUnreachable(set)) {
    text += set.rules[pair.rule].name + "<" + set.rules[pair.because_of].name + " ";
  }
  return text;
}

TEST(Semantics7Unreachable, RulesThatDifferAreReachable) {
  EXPECT_EQ(Reported(SetOf({RuleBuilder("both", "/a").Methods({"GET", "POST"}),
                            RuleBuilder("get", "/a").Methods({"GET"}), RuleBuilder("any", "/a/"),
                            RuleBuilder("slash", "/a/").Exact(), RuleBuilder("literal", "/a").Literal(),
                            RuleBuilder("longer", "/ab").Literal(), RuleBuilder("param", "/{x}"),
                            RuleBuilder("when", "/a").When({{"k", "v"}}), RuleBuilder("other", "/a").When({{"k", "w"}}),
                            RuleBuilder("all-get", "").Methods({"GET"}), RuleBuilder("default", "").Default()})),
            "");
}

TEST(Semantics7Unreachable, TheLaterOfTwoEqualRulesIsReported) {
  EXPECT_EQ(
      Reported(SetOf({RuleBuilder("z", "/a"), RuleBuilder("b", "/x"), RuleBuilder("a", "/a"), RuleBuilder("c", "/a")})),
      "a<z c<z ");
  EXPECT_EQ(Reported(SetOf({RuleBuilder("one", "/a/{x}/b"), RuleBuilder("two", "/a/{y}/b")})), "two<one ");
  EXPECT_EQ(Reported(SetOf({RuleBuilder("one", "/a/"), RuleBuilder("two", "/a")})), "two<one ");
  EXPECT_EQ(Reported(SetOf({RuleBuilder("one", ""), RuleBuilder("two", "/"), RuleBuilder("three", "/").Literal()})),
            "two<one three<one ");
}

TEST(Semantics7Unreachable, CaseCountsUnlessItIsIgnored) {
  RuleSet set = SetOf({RuleBuilder("one", "/A"), RuleBuilder("two", "/a")});
  EXPECT_EQ(Reported(set), "");
  set.ignore_case = true;
  EXPECT_EQ(Reported(set), "two<one ");
}

TEST(Semantics7Unreachable, MethodsTakenOneByOne) {
  EXPECT_EQ(Reported(SetOf({RuleBuilder("both", "/a").Methods({"GET", "POST"}),
                            RuleBuilder("get", "/a").Methods({"GET"}), RuleBuilder("post", "/a").Methods({"POST"})})),
            "both<get ");
}

TEST(Semantics7Unreachable, ALiteralBehindItsOwnPrefix) {
  EXPECT_EQ(Reported(SetOf({RuleBuilder("literal", "/a/").Literal(), RuleBuilder("prefix", "/a")})), "literal<prefix ");
  EXPECT_EQ(Reported(SetOf({RuleBuilder("literal", "/a/").Literal().Methods({"GET"}), RuleBuilder("prefix", "/a")})),
            "literal<prefix ");
  EXPECT_EQ(Reported(SetOf({RuleBuilder("literal", "/a/").Literal(), RuleBuilder("prefix", "/a").Methods({"GET"})})),
            "");
}

TEST(Semantics7Unreachable, ADefaultBesideARuleForEverything) {
  RuleSet set = SetOf({RuleBuilder("default", "").Default(), RuleBuilder("everything", "/")});
  EXPECT_EQ(Reported(set), "default<everything ");
  set.match_all = true;
  EXPECT_EQ(Reported(set), "default<everything ");
}

TEST(Semantics7Unreachable, UnderMatchAllEqualRulesBothApply) {
  RuleSet set = SetOf({RuleBuilder("one", "/a"), RuleBuilder("two", "/a")});
  set.match_all = true;
  EXPECT_EQ(Reported(set), "");
}

}  // namespace
}  // namespace ratel::test
