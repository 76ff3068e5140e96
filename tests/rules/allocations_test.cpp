// The decision path allocates nothing.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "core/forwarded.hpp"
#include "rules/allocations.hpp"
#include "rules/build.hpp"
#include "rules/key.hpp"
#include "rules/path.hpp"

namespace ratel::test {
namespace {

template <class Work>
size_t AllocationsOf(Work work) {
  const size_t before = Allocations();
  work();
  return Allocations() - before;
}

TEST(DecisionPathAllocations, TheCounterCounts) {
  EXPECT_GE(AllocationsOf([] { EXPECT_EQ(std::string(1000, 'x').size(), 1000u); }), 1u);
}

TEST(DecisionPathAllocations, Path) {
  const std::string raw = "/a/./%41;x/" + std::string(100'000, '/') + "?q";
  std::vector<char> buffer(raw.size() + 1);
  std::string_view normal;
  EXPECT_EQ(AllocationsOf([&] { normal = NormalizePath(raw, buffer); }), 0u);
  EXPECT_EQ(normal, "/a/A/");
}

TEST(DecisionPathAllocations, Match) {
  RuleSet set = SetOf({RuleBuilder("a", "/a/{x}").When({{"plan", "pro"}}), RuleBuilder("b", "/a/b").Methods({"POST"}),
                       RuleBuilder("c", "/a/b/c").Exact(), RuleBuilder("d", "/a/").Literal()});
  set.ignore_case = true;
  const Matcher matcher = Matcher::Compile(set);
  const AttributeView attribute{"plan", "pro"};
  const MatchQuery query{"post", "/A/B/C", {&attribute, 1}};
  uint32_t rule = 0;
  std::array<uint32_t, Matcher::kMaxMatches> out{};
  size_t count = 0;
  EXPECT_EQ(AllocationsOf([&] {
              rule = matcher.Match(query);
              count = matcher.MatchAll(query, out);
            }),
            0u);
  EXPECT_EQ(rule, 2u);
  EXPECT_EQ(count, 4u);
}

TEST(DecisionPathAllocations, Keys) {
  const KeyedHasher hasher = KeyedHasher::FromSecret("0123456789abcdef");
  const std::string user(100'000, 'u');
  Identity identity;
  identity.user = user;
  identity.ip = "[2001:1db8:1111:2222:3333:4444:5555:6666]:443";
  const Scope both = {{ScopePart::kUser, ""}, {ScopePart::kIp, ""}};
  const Scope ip = {{ScopePart::kIp, ""}};
  size_t override_size = 0;
  EXPECT_EQ(AllocationsOf([&] {
              const KeyBuilder builder(hasher, identity, 128);
              builder.Build(both);
              override_size = builder.Build(ip).override_value.size();
            }),
            0u);
  EXPECT_EQ(override_size, 39u);
}

TEST(DecisionPathAllocations, ProxyWalk) {
  std::string line = "for=198.51.100.7";
  for (int i = 0; i < 10'000; ++i) line += ", for=\"10.0.0.2:80\";proto=https";
  const std::array<std::string_view, 2> lines = {"for=1.1.1.1", line};
  const std::array<Network, 1> trusted = {*Network::Parse("10.0.0.0/8")};
  std::optional<Address> client;
  EXPECT_EQ(AllocationsOf([&] { client = ClientAddress("10.0.0.1", {}, lines, trusted); }), 0u);
  EXPECT_EQ(client, Address::Parse("198.51.100.7"));
}

}  // namespace
}  // namespace ratel::test
