// URLs: what they say, and that what is wrong is told without the password.
#include "storage/redis/options.hpp"

#include <gtest/gtest.h>

namespace ratel::redis {
namespace {

Options Good(std::string_view url) {
  const auto options = ParseUrl(url);
  EXPECT_TRUE(options.ok()) << url << ": " << (options.ok() ? "" : options.error().message);
  return options.ok() ? *options : Options();
}

TEST(Url, AllThatCanBeSaid) {
  const Options options = Good(
      "redis://me:p%40ss:word@[::1]:7000/"
      "3?deadline_ms=25&time=caller&prefix=shop&connections=2&batch=16&ttl_margin_ms=5");
  EXPECT_EQ(options.places.at(0).host, "::1");
  EXPECT_EQ(options.places.at(0).port, 7000);
  EXPECT_EQ(options.user, "me");
  EXPECT_EQ(options.password, "p@ss:word");
  EXPECT_EQ(options.database, 3u);
  EXPECT_EQ(options.deadline.count(), 25);
  EXPECT_FALSE(options.server_time);
  EXPECT_EQ(options.prefix, "shop");
  EXPECT_EQ(options.connections, 2u);
  EXPECT_EQ(options.batch, 16u);
  EXPECT_EQ(options.ttl_margin_ms, 5u);
  EXPECT_EQ(Shown(options), "redis://[::1]:7000/3");
}

TEST(Url, WhatIsLeftOut) {
  const Options options = Good("redis://cache.internal");
  EXPECT_EQ(options.places.at(0).host, "cache.internal");
  EXPECT_EQ(options.places.at(0).port, 6379);
  EXPECT_EQ(options.user, "");
  EXPECT_EQ(options.database, 0u);
  EXPECT_EQ(options.deadline.count(), 10);
  EXPECT_TRUE(options.server_time);
  EXPECT_EQ(options.prefix, "rl");
  EXPECT_EQ(options.connections, 1u);
  EXPECT_EQ(options.batch, 64u);
  EXPECT_EQ(options.ttl_margin_ms, 0u);
  EXPECT_EQ(Good("redis://h?time=caller").ttl_margin_ms, 10'000u);
  EXPECT_EQ(Good("redis://:secret@h").password, "secret");
  EXPECT_EQ(Good("redis://h/").database, 0u);
}

TEST(Url, Sockets) {
  const Options options = Good("unix:///run/redis%20one.sock?db=2");
  EXPECT_EQ(options.places.at(0).path, "/run/redis one.sock");
  EXPECT_EQ(options.database, 2u);
  EXPECT_EQ(Shown(options), "unix:///run/redis one.sock?db=2");
  EXPECT_EQ(Good("unix://me:pw@/s").password, "pw");
}

TEST(Url, Clusters) {
  const Options options = Good("redis+cluster://me:pw@a:7000,[::1]:7001,c?slot=rule&connections=2");
  EXPECT_EQ(options.deployment, Deployment::kCluster);
  ASSERT_EQ(options.places.size(), 3u);
  EXPECT_EQ(options.places[0], (Place{"a", 7000, ""}));
  EXPECT_EQ(options.places[1], (Place{"::1", 7001, ""}));
  EXPECT_EQ(options.places[2], (Place{"c", 6379, ""}));
  EXPECT_EQ(options.password, "pw");
  EXPECT_TRUE(options.slot_by_rule);
  EXPECT_EQ(Shown(options), "redis+cluster://a:7000,[::1]:7001,c:6379");
  EXPECT_EQ(Shown(options, options.places[1]), "redis://[::1]:7001/0");
  EXPECT_FALSE(Good("redis+cluster://a/0?slot=scope").slot_by_rule);
}

TEST(Url, Sentinels) {
  const Options options =
      Good("redis+sentinel://me:pw@a,b:5000/the%20master/2?sentinel_user=watch&sentinel_password=s%2Fp");
  EXPECT_EQ(options.deployment, Deployment::kSentinel);
  ASSERT_EQ(options.places.size(), 2u);
  EXPECT_EQ(options.places[0], (Place{"a", 26379, ""}));
  EXPECT_EQ(options.places[1], (Place{"b", 5000, ""}));
  EXPECT_EQ(options.master, "the master");
  EXPECT_EQ(options.database, 2u);
  EXPECT_EQ(options.user, "me");
  EXPECT_EQ(options.sentinel_user, "watch");
  EXPECT_EQ(options.sentinel_password, "s/p");
  EXPECT_EQ(Shown(options), "redis+sentinel://a:26379,b:5000/the master");
  EXPECT_EQ(Good("redis+sentinel://a/m").database, 0u);
}

TEST(Url, WhatIsWrongIsSaid) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "redis://"},
      {"localhost:6379", "redis://"},
      {"http://h", "redis://"},
      {"redis://", "host is missing"},
      {"redis://h:0", "port"},
      {"redis://h:65536", "port"},
      {"redis://h:x", "port"},
      {"redis://::1", "brackets"},
      {"redis://[::1", "]"},
      {"redis://h/x", "database"},
      {"redis://me@h", "without a password"},
      {"redis://h?deadline_ms=0", "1 to 60000"},
      {"redis://h?deadline_ms=60001", "1 to 60000"},
      {"redis://h?deadline_ms=1.5", "whole number"},
      {"redis://h?time=local", "server or caller"},
      {"redis://h?prefix=a%20b", "prefix"},
      {"redis://h?prefix={a}", "braces"},
      {"redis://h?connections=65", "1 to 64"},
      {"redis://h?batch=0", "1 to 64"},
      {"redis://h?deadline=5", "unknown option \"deadline\""},
      {"redis://h?deadline_ms", "no value"},
      {"redis://h?db=1&db=2", "twice"},
      {"redis://h?ca=/x", "only rediss://"},
      {"redis://h?prefix=%4", "hex digits"},
      {"unix://relative", "slash"},
      {"unix:///", "1 to 107"},
      {"redis://a,b", "one host"},
      {"unix+cluster:///s", "redis+cluster://"},
      {"redis+ring://a", "redis+cluster://"},
      {"redis+cluster://", "host is missing"},
      {"redis+cluster://a,", "host is missing"},
      {"redis+cluster://a/1", "database 0"},
      {"redis+cluster://a?db=1", "database 0"},
      {"redis+cluster://a?slot=user", "scope or rule"},
      {"redis://a?slot=rule", "only redis+cluster://"},
      {"redis+sentinel://a", "master's name"},
      {"redis+sentinel://a/", "master's name"},
      {"redis+sentinel://a/m/x", "database"},
      {"redis+sentinel://a/m?sentinel_user=u", "sentinel_password"},
      {"redis://a?sentinel_password=p", "only redis+sentinel://"},
  };
  for (const auto& [url, part] : cases) {
    const auto options = ParseUrl(url);
    ASSERT_FALSE(options.ok()) << url;
    EXPECT_NE(options.error().message.find(part), std::string::npos) << url << ": " << options.error().message;
    EXPECT_TRUE(options.error().status == Status::kConfig || options.error().status == Status::kUnsupported);
  }
}

TEST(Url, APasswordIsNeverShown) {
  for (const char* url :
       {"redis://me:hush@", "redis://me:hush@h:0", "redis://me:hush%@h", "redis://me:hush@h?x=y", "redis://me:hush@a,b",
        "redis+cluster://me:hush@", "redis+sentinel://a/m?sentinel_password=hush&sentinel_password=hush",
        "rediss://me:hush@h?cert=a", "me:hush@h", "unix://me:hush@s"}) {
    const auto options = ParseUrl(url);
    ASSERT_FALSE(options.ok()) << url;
    EXPECT_EQ(options.error().message.find("hush"), std::string::npos) << options.error().message;
  }
  EXPECT_EQ(Shown(Good("redis://me:hush@h")).find("hush"), std::string::npos);
}

}  // namespace
}  // namespace ratel::redis
