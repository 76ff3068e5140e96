#include "rules/key.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace ratel {
namespace {

const KeyedHasher& Hasher() {
  static const KeyedHasher hasher = KeyedHasher::FromSecret("a secret for tests");
  return hasher;
}

const Scope kUser = {{ScopePart::kUser, ""}};
const Scope kApiKey = {{ScopePart::kApiKey, ""}};
const Scope kIp = {{ScopePart::kIp, ""}};
const Scope kGlobal = {{ScopePart::kGlobal, ""}};
const Scope kTenant = {{ScopePart::kAttribute, "tenant"}};
const Scope kUserAndKey = {{ScopePart::kUser, ""}, {ScopePart::kApiKey, ""}};
const Scope kUserAndIp = {{ScopePart::kUser, ""}, {ScopePart::kIp, ""}};

Identity Of(std::string_view user, std::string_view api_key = "", std::string_view ip = "") {
  Identity identity;
  identity.user = user;
  identity.api_key = api_key;
  identity.ip = ip;
  return identity;
}

Identity Keyed(std::string_view key) {
  Identity identity = Of("never looked at", "never", "203.0.113.250");
  identity.key = key;
  identity.has_key = true;
  return identity;
}

std::string HashOf(const Identity& identity, const Scope& scope, unsigned prefix = 64) {
  return ToHex(KeyBuilder(Hasher(), identity, prefix).Build(scope).hash);
}

std::string OverrideOf(const Identity& identity, const Scope& scope, unsigned prefix = 64) {
  const KeyBuilder builder(Hasher(), identity, prefix);
  return std::string(builder.Build(scope).override_value);
}

std::string ReadableOf(const Identity& identity, const Scope& scope) {
  return KeyBuilder(Hasher(), identity, 64).Readable(scope);
}

bool IsUnknown(const Identity& identity, const Scope& scope) {
  return KeyBuilder(Hasher(), identity, 64).Build(scope).unknown_client;
}

// B123
TEST(Semantics8Keys, AUserIsNeverAnAddress) {
  const Identity user = Of("127.0.0.1");
  const Identity anonymous = Of("", "", "127.0.0.1");
  EXPECT_NE(HashOf(user, kUser), HashOf(anonymous, kUser));
  EXPECT_NE(HashOf(Of(std::string_view("\x7f\0\0\1", 4)), kUser), HashOf(anonymous, kUser));
  EXPECT_EQ(OverrideOf(user, kUser), "127.0.0.1");
  EXPECT_EQ(OverrideOf(anonymous, kUser), "");
}

TEST(Semantics8Keys, PartsOfDifferentKindsNeverMeet) {
  Identity attribute = Of("", "", "");
  const AttributeView tenant{"tenant", "x"};
  attribute.attributes = {&tenant, 1};
  const std::set<std::string> hashes = {HashOf(Of("x"), kUser),         HashOf(Of("", "x"), kApiKey),
                                        HashOf(attribute, kTenant),     HashOf(Keyed("x"), kIp),
                                        HashOf(Of("x"), kGlobal),       HashOf(Of(""), kUser),
                                        HashOf(Keyed("x"), kUserAndIp), HashOf(Of("x"), kUserAndIp)};
  EXPECT_EQ(hashes.size(), 8u);
}

TEST(Semantics8Keys, NoUserNoKeyIsTheAddress) {
  const Identity anonymous = Of("", "", "192.0.2.1");
  EXPECT_EQ(HashOf(anonymous, kUser), HashOf(anonymous, kIp));
  EXPECT_EQ(HashOf(anonymous, kApiKey), HashOf(anonymous, kIp));
  EXPECT_EQ(HashOf(anonymous, kTenant), HashOf(anonymous, kIp));
  EXPECT_NE(HashOf(anonymous, kUser), HashOf(Of("", "", "192.0.2.2"), kUser));
  EXPECT_FALSE(IsUnknown(anonymous, kUser));
}

TEST(Semantics8Keys, NoUsableAddressIsUnknown) {
  for (const char* ip : {"", "unknown", "23189987", "localhost"}) {
    EXPECT_TRUE(IsUnknown(Of("", "", ip), kIp)) << ip;
    EXPECT_TRUE(IsUnknown(Of("", "", ip), kUser)) << ip;
    EXPECT_TRUE(IsUnknown(Of("", "k", ip), kUserAndKey)) << ip;
    EXPECT_FALSE(IsUnknown(Of("alice", "", ip), kUser)) << ip;
    EXPECT_FALSE(IsUnknown(Of("", "", ip), kGlobal)) << ip;
    EXPECT_EQ(HashOf(Of("", "", ip), kIp), HashOf(Of("", "", ""), kUser)) << ip;
    EXPECT_EQ(OverrideOf(Of("", "", ip), kIp), "") << ip;
  }
  EXPECT_NE(HashOf(Of("unknown"), kUser), HashOf(Of(""), kUser));
}

TEST(Semantics8Keys, AttributesThatAreMissingOrEmptyAreTheAddress) {
  Identity identity = Of("", "", "192.0.2.1");
  const std::vector<AttributeView> attributes = {{"region", "eu"}, {"tenant", ""}, {"tenant", "acme"}};
  identity.attributes = attributes;
  EXPECT_EQ(HashOf(identity, kTenant), HashOf(identity, kIp));
  const std::vector<AttributeView> given = {{"tenant", "acme"}, {"tenant", "other"}};
  identity.attributes = given;
  EXPECT_NE(HashOf(identity, kTenant), HashOf(identity, kIp));
  EXPECT_EQ(OverrideOf(identity, kTenant), "acme");
}

TEST(Semantics8Keys, CompositePartsKeepTheirBorders) {
  EXPECT_NE(HashOf(Of("a|b", "c"), kUserAndKey), HashOf(Of("a", "b|c"), kUserAndKey));
  EXPECT_NE(HashOf(Of("ab", "c"), kUserAndKey), HashOf(Of("a", "bc"), kUserAndKey));
  EXPECT_NE(HashOf(Of("a", "b"), kUserAndKey), HashOf(Of("b", "a"), kUserAndKey));
  const std::string one(1, '\1');
  EXPECT_NE(HashOf(Of("a" + one + "b", "c"), kUserAndKey), HashOf(Of("a", one + "bc"), kUserAndKey));
  EXPECT_EQ(HashOf(Of("a", "b"), kUserAndKey), HashOf(Of("a", "b", "192.0.2.1"), kUserAndKey));
  EXPECT_EQ(OverrideOf(Of("a", "b"), kUserAndKey), "");
}

TEST(Semantics8Keys, CompositesOfEveryLengthDiffer) {
  std::set<std::string> hashes;
  const std::string a(200, 'a');
  for (size_t first = 1; first < 140; ++first) {
    hashes.insert(HashOf(Of(a.substr(0, first), a.substr(0, 140 - first)), kUserAndKey));
  }
  EXPECT_EQ(hashes.size(), 139u);
}

TEST(Semantics8Keys, CompositesOfManyParts) {
  const std::vector<AttributeView> attributes = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  std::set<std::string> hashes;
  Scope scope;
  for (int i = 0; i < 40; ++i) {
    scope.push_back({ScopePart::kAttribute, std::string(1, static_cast<char>('a' + i % 3))});
    Identity identity = Of(std::string_view(), "", "192.0.2.1");
    identity.attributes = attributes;
    hashes.insert(HashOf(identity, scope));
  }
  EXPECT_EQ(hashes.size(), 40u);
}

// B126
TEST(Semantics8Keys, LongValuesEnterAsTheirHash) {
  std::set<std::string> hashes;
  for (size_t size : {size_t{1}, size_t{63}, size_t{64}, size_t{65}, size_t{128}, size_t{1'000'000}}) {
    const std::string user(size, 'u');
    EXPECT_EQ(HashOf(Of(user), kUser), HashOf(Of(user), kUser));
    hashes.insert(HashOf(Of(user), kUser));
    hashes.insert(HashOf(Of(user, "k"), kUserAndKey));
    EXPECT_EQ(OverrideOf(Of(user), kUser), user);
  }
  const std::string last_byte = std::string(999'999, 'u') + "v";
  hashes.insert(HashOf(Of(last_byte), kUser));
  EXPECT_EQ(hashes.size(), 13u);
}

TEST(Semantics8Keys, AnyBytesAreAKey) {
  std::set<std::string> hashes;
  for (int byte = 0; byte < 256; ++byte) hashes.insert(HashOf(Of(std::string(1, static_cast<char>(byte))), kUser));
  EXPECT_EQ(hashes.size(), 256u);
}

// B135, B138
TEST(Semantics8Keys, AddressesEnterAsBitsAndCut) {
  const std::string one = HashOf(Of("", "", "2001:db8:1:2::1"), kIp);
  for (const char* ip :
       {"2001:db8:1:2::ffff", "2001:DB8:1:2:9:9:9:9", "[2001:db8:1:2::1]:443", "2001:0db8:0001:0002::1%eth0"}) {
    EXPECT_EQ(HashOf(Of("", "", ip), kIp), one) << ip;
  }
  EXPECT_NE(HashOf(Of("", "", "2001:db8:1:3::1"), kIp), one);
  EXPECT_NE(HashOf(Of("", "", "2001:db8:1:2::1"), kIp, 128), HashOf(Of("", "", "2001:db8:1:2::2"), kIp, 128));
  EXPECT_EQ(HashOf(Of("", "", "2001:db8:1:3::1"), kIp, 32), HashOf(Of("", "", "2001:db8:9::"), kIp, 32));
  EXPECT_EQ(HashOf(Of("", "", "::ffff:192.0.2.1"), kIp), HashOf(Of("", "", "192.0.2.1:80"), kIp));
  EXPECT_NE(HashOf(Of("", "", "::ffff:192.0.2.1"), kIp), HashOf(Of("", "", "::ffff:198.51.100.7"), kIp));
}

TEST(Semantics8Keys, AnAddressesOverrideValueIsItsCanonicalText) {
  EXPECT_EQ(OverrideOf(Of("", "", "2001:DB8:1:2::5"), kIp), "2001:db8:1:2::");
  EXPECT_EQ(OverrideOf(Of("", "", "2001:DB8:1:2::5"), kIp, 128), "2001:db8:1:2::5");
  EXPECT_EQ(OverrideOf(Of("", "", "::ffff:192.0.2.1"), kIp), "192.0.2.1");
  EXPECT_EQ(OverrideOf(Keyed("192.0.2.1:80"), kIp), "192.0.2.1");
  const Identity identity = Of("", "", "192.0.2.1");
  EXPECT_EQ(KeyBuilder(Hasher(), identity, 64).Build(kIp, false).override_value, "");
}

TEST(Semantics8Keys, GlobalIsOneKeyForAll) {
  EXPECT_EQ(HashOf(Of("a", "b", "192.0.2.1"), kGlobal), HashOf(Keyed("x"), kGlobal));
  EXPECT_EQ(OverrideOf(Of("a"), kGlobal), "");
}

TEST(Semantics8Keys, AKeyStandsForASinglePart) {
  EXPECT_EQ(HashOf(Keyed("alice"), kUser), HashOf(Of("alice"), kUser));
  EXPECT_EQ(HashOf(Keyed("alice"), kApiKey), HashOf(Of("", "alice"), kApiKey));
  EXPECT_EQ(HashOf(Keyed("192.0.2.1"), kIp), HashOf(Of("", "", "192.0.2.1"), kIp));
  EXPECT_EQ(HashOf(Keyed("[2001:db8::9]:1"), kIp), HashOf(Of("", "", "2001:db8::1"), kIp));
  const AttributeView tenant{"tenant", "acme"};
  Identity identity;
  identity.attributes = {&tenant, 1};
  EXPECT_EQ(HashOf(Keyed("acme"), kTenant), HashOf(identity, kTenant));
  EXPECT_EQ(OverrideOf(Keyed("alice"), kUser), "alice");
  EXPECT_EQ(OverrideOf(Keyed("alice"), kIp), "alice");
}

TEST(Semantics8Keys, AKeyThatIsNoAddressMeetsNone) {
  const std::string_view bytes("\xc0\0\2\1", 4);
  EXPECT_NE(HashOf(Keyed(bytes), kIp), HashOf(Of("", "", "192.0.2.1"), kIp));
  EXPECT_FALSE(IsUnknown(Keyed("alice"), kIp));
  EXPECT_NE(HashOf(Keyed("unknown"), kIp), HashOf(Of(""), kIp));
}

TEST(Semantics8Keys, AKeyStandsForAWholeComposite) {
  EXPECT_EQ(HashOf(Keyed("x"), kUserAndIp), HashOf(Keyed("x"), kUserAndKey));
  EXPECT_NE(HashOf(Keyed("x"), kUserAndKey), HashOf(Of("x", "x"), kUserAndKey));
  EXPECT_NE(HashOf(Keyed("x"), kUserAndKey), HashOf(Keyed("y"), kUserAndKey));
  EXPECT_EQ(OverrideOf(Keyed("x"), kUserAndKey), "");
}

TEST(Semantics8Keys, AnEmptyKeyIsUnknown) {
  for (const Scope& scope : {kUser, kApiKey, kIp, kTenant, kUserAndIp}) {
    EXPECT_TRUE(IsUnknown(Keyed(""), scope));
    EXPECT_EQ(HashOf(Keyed(""), scope), HashOf(Of(""), kIp));
  }
}

TEST(Semantics8Keys, OneBuilderServesManyScopes) {
  const Identity identity = Of("alice", "", "2001:db8::1");
  const KeyBuilder builder(Hasher(), identity, 64);
  EXPECT_EQ(ToHex(builder.Build(kUser).hash), HashOf(identity, kUser));
  EXPECT_EQ(ToHex(builder.Build(kApiKey).hash), HashOf(identity, kIp));
  EXPECT_EQ(ToHex(builder.Build(kIp).hash), HashOf(identity, kIp));
  EXPECT_EQ(builder.Build(kIp).override_value, "2001:db8::");
}

TEST(Semantics8Keys, Readable) {
  EXPECT_EQ(ReadableOf(Of("alice", "", "192.0.2.1"), kUserAndIp), "user=alice,ip=192.0.2.1");
  EXPECT_EQ(ReadableOf(Of("", "", "2001:db8::5"), kUser), "ip=2001:db8::");
  EXPECT_EQ(ReadableOf(Of("", "secret"), kApiKey), "api_key=secret");
  EXPECT_EQ(ReadableOf(Of(""), kIp), "unknown");
  EXPECT_EQ(ReadableOf(Of("a,b=c%\n\xff"), kUser), "user=a%2Cb%3Dc%25%0A%FF");
  EXPECT_EQ(ReadableOf(Of("a"), kGlobal), "global");
  EXPECT_EQ(ReadableOf(Keyed("x y"), kUserAndIp), "key=x y");
  EXPECT_EQ(ReadableOf(Keyed("alice"), kIp), "ip=alice");
  EXPECT_EQ(ReadableOf(Keyed(""), kUserAndIp), "unknown");
  Identity identity;
  const AttributeView attribute{"a=b", "c"};
  identity.attributes = {&attribute, 1};
  EXPECT_EQ(ReadableOf(identity, {{ScopePart::kAttribute, "a=b"}}), "attribute:a%3Db=c");
}

// B129, B132
TEST(Semantics8Keys, TheSaltIsRuleLimitScopeAndAlgorithm) {
  const auto salt = [](std::string_view rule, std::string_view limit, const Scope& scope, Algorithm algorithm) {
    return ToHex(LimitSalt(Hasher(), rule, limit, scope, algorithm));
  };
  const std::string base = salt("rule", "limit", kUser, Algorithm::kTokenBucket);
  EXPECT_EQ(salt("rule", "limit", {{ScopePart::kUser, ""}}, Algorithm::kTokenBucket), base);
  const std::set<std::string> salts = {
      base,
      salt("rule2", "limit", kUser, Algorithm::kTokenBucket),
      salt("rule", "limit2", kUser, Algorithm::kTokenBucket),
      salt("limit", "rule", kUser, Algorithm::kTokenBucket),
      salt("rulel", "imit", kUser, Algorithm::kTokenBucket),
      salt("rule", "limit", kIp, Algorithm::kTokenBucket),
      salt("rule", "limit", kTenant, Algorithm::kTokenBucket),
      salt("rule", "limit", {{ScopePart::kAttribute, "other"}}, Algorithm::kTokenBucket),
      salt("rule", "limit", kUserAndIp, Algorithm::kTokenBucket),
      salt("rule", "limit", {kUserAndIp[1], kUserAndIp[0]}, Algorithm::kTokenBucket),
      salt("rule", "limit", kUser, Algorithm::kFixedWindow)};
  EXPECT_EQ(salts.size(), 11u);
}

// Processes of different versions share what they store: whoever changes these loses every state.
TEST(Semantics8Keys, StayWhatTheyAre) {
  const std::string one_too_long(65, 'l');
  const std::string just_not_too_long(64, 'e');
  const AttributeView tenant{"tenant", one_too_long};
  Identity identity = Of("alice", just_not_too_long, "2001:db8::5");
  identity.attributes = {&tenant, 1};
  Scope all;
  for (const Scope& scope : {kUser, kApiKey, kIp, kGlobal, kTenant}) all.push_back(scope[0]);
  Scope more_than_fit_the_buffer;
  for (int i = 0; i < 3; ++i) more_than_fit_the_buffer.insert(more_than_fit_the_buffer.end(), all.begin(), all.end());
  EXPECT_EQ(HashOf(identity, kUser), "ae25da5229c20341aadbcd0083c00d5b");
  EXPECT_EQ(HashOf(identity, kApiKey), "5a3d44899ba23ad6429f41b81527938d");
  EXPECT_EQ(HashOf(identity, kIp), "39bdd00be6a54bb2cbe2b694ff0316ff");
  EXPECT_EQ(HashOf(identity, kGlobal), "f5a43de6df88f88596f4624f5d56fcdd");
  EXPECT_EQ(HashOf(identity, kTenant), "ac49a4f133246ebeeb9379345f3b14ca");
  EXPECT_EQ(HashOf(identity, all), "12cd1315315a6e4bc9c6952ae3fc865e");
  EXPECT_EQ(HashOf(identity, more_than_fit_the_buffer), "384439c7c4f09aae6be008add4a2642f");
  EXPECT_EQ(HashOf(Of(""), kUser), "46180655509b6f5fdab5eae61c10a038");
  EXPECT_EQ(HashOf(Keyed("k"), kIp), "b23d87e561e1cf0ffd058e931de11872");
  EXPECT_EQ(HashOf(Keyed("k"), all), "9ca541917560eb098061be22c9a13db5");
  EXPECT_EQ(ToHex(LimitSalt(Hasher(), "rule", "limit", all, Algorithm::kSlidingLog)),
            "cbd67773dab2cb126daee9f7f7a33306");
}

TEST(Semantics8Keys, ScopesAsText) {
  EXPECT_EQ(ToText(kUserAndIp), "user,ip");
  EXPECT_EQ(ToText(kTenant), "attribute:tenant");
  EXPECT_EQ(ToText(kGlobal), "global");
  EXPECT_EQ(ToText(kApiKey), "api_key");
}

}  // namespace
}  // namespace ratel
