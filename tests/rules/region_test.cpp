// The share of a region: what it is, that all of them together are no more than the whole, and what cannot be shared.
#include "rules/region.hpp"

#include <gtest/gtest.h>

namespace ratel {
namespace {

RuleSet SetOf(uint64_t limit, std::vector<Region> regions, uint64_t burst = 0, Micros window = 60'000'000) {
  RuleSet set;
  set.regions = std::move(regions);
  Rule rule;
  rule.name = "orders";
  Limit one;
  one.name = "orders";
  one.scope = {{ScopePart::kUser, ""}};
  one.spec = {Algorithm::kTokenBucket, limit, window, burst};
  one.overrides.push_back({"vip", {Algorithm::kTokenBucket, 10 * limit, window, 0}, {}});
  rule.limits.push_back(one);
  set.rules.push_back(rule);
  return set;
}

uint64_t ShareOf(RuleSet set, std::string_view region) {
  TakeShare(set, region);
  EXPECT_EQ(set.region, region);
  return set.rules[0].limits[0].spec.limit;
}

TEST(Region, HasItsWeightsShareRoundedDown) {
  const RuleSet set = SetOf(101, {{"ap", 2}, {"eu", 5}, {"us", 3}}, 33);
  EXPECT_EQ(ShareOf(set, "eu"), 50u);
  EXPECT_EQ(ShareOf(set, "us"), 30u);
  EXPECT_EQ(ShareOf(set, "ap"), 20u);
  EXPECT_EQ(ShareOf(set, ""), 101u);
  RuleSet eu = set;
  TakeShare(eu, "eu");
  EXPECT_EQ(eu.rules[0].limits[0].spec.burst, 16u);
  EXPECT_EQ(eu.rules[0].limits[0].spec.window, 60'000'000u);
  EXPECT_EQ(eu.rules[0].limits[0].overrides[0].spec.limit, 505u);
}

TEST(Region, TogetherTheyAreNeverMoreThanTheLimitButForTheLeastOfOne) {
  const std::vector<Region> regions = {{"a", 1}, {"b", 7}, {"c", 999'983}, {"d", 13}, {"e", 1'000'000}};
  for (uint64_t limit = 1; limit < 20'000; limit += 1 + limit / 7) {
    const RuleSet set = SetOf(limit, regions, 0, 997'000'000);
    uint64_t sum = 0;
    uint64_t of_one = 0;
    for (const Region& region : regions) {
      const uint64_t share = ShareOf(set, region.name);
      EXPECT_GE(share, 1u);
      (share == 1 ? of_one : sum) += share;
    }
    EXPECT_LE(sum, limit);
    EXPECT_LE(of_one, regions.size());
  }
}

TEST(Region, AGlobalRuleIsWhole) {
  RuleSet set = SetOf(100, {{"eu", 1}, {"us", 1}});
  set.rules[0].is_global = true;
  EXPECT_EQ(ShareOf(set, "eu"), 100u);
}

TEST(Region, WhatCannotBeShared) {
  RuleSet set = SetOf(100, {{"eu", 1}, {"us", 3}});
  EXPECT_TRUE(FindRegionFaults(set, "eu").empty());
  EXPECT_TRUE(FindRegionFaults(set, "").empty());
  ASSERT_EQ(FindRegionFaults(set, "ap").size(), 1u);
  EXPECT_NE(FindRegionFaults(set, "ap")[0].message.find("eu, us"), std::string::npos);
  set.rules[0].cost = 26;
  EXPECT_EQ(FindRegionFaults(set, "eu").size(), 1u) << "the share holds 25";
  EXPECT_TRUE(FindRegionFaults(set, "us").empty());
  set.rules[0].is_global = true;
  EXPECT_TRUE(FindRegionFaults(set, "eu").empty());
}

}  // namespace
}  // namespace ratel
