#include "rules/path.hpp"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <vector>

namespace ratel {
namespace {

struct Case {
  std::string_view raw;
  std::string_view normal;
};

void ExpectNormal(std::initializer_list<Case> cases) {
  for (const Case& c : cases) EXPECT_EQ(NormalizePath(c.raw), c.normal) << "raw: " << c.raw;
}

TEST(Semantics7Paths, AlreadyNormalPathsStay) {
  ExpectNormal({{"/", "/"},
                {"/api", "/api"},
                {"/api/", "/api/"},
                {"/api/v1/orders", "/api/v1/orders"},
                {"/a-b._~c", "/a-b._~c"},
                {"/.well-known/x", "/.well-known/x"},
                {"/...", "/..."},
                {"/a/..b/c..", "/a/..b/c.."},
                {"/users/{id}", "/users/{id}"},
                {"/caf\xc3\xa9", "/caf\xc3\xa9"},
                {"/a:b@c!$&'()*+,=", "/a:b@c!$&'()*+,="},
                {"/a\\b", "/a\\b"}});
}

TEST(Semantics7Paths, QueryAndFragmentAreCut) {
  ExpectNormal({{"/search?q=1", "/search"},
                {"/search?q=/../x", "/search"},
                {"/search#top", "/search"},
                {"/search/?", "/search/"},
                {"/a%3Fb?c", "/a%3Fb"},
                {"?q=1", "/"},
                {"#", "/"},
                {"/?q", "/"}});
}

TEST(Semantics7Paths, AbsoluteFormLosesItsAuthority) {
  ExpectNormal({{"http://example.com/p?q", "/p"},
                {"https://user@example.com:8443/a/../b", "/b"},
                {"HTTP://example.com", "/"},
                {"http://example.com?q=/x", "/"},
                {"http://[2001:db8::1]:80/x", "/x"},
                {"http:///x", "/x"},
                {"coap+tcp://h/x", "/x"},
                {"//evil.example/x", "/evil.example/x"},
                {"/http://h/x", "/http:/h/x"},
                {"http:/x", "/http:/x"},
                {"://h/x", "/:/h/x"},
                {"1ttp://h/x", "/1ttp:/h/x"}});
}

TEST(Semantics7Paths, OtherTargetsGetASlash) {
  ExpectNormal(
      {{"", "/"}, {"*", "/*"}, {"example.com:443", "/example.com:443"}, {"a/../b", "/b"}, {"..", "/"}, {"x;y", "/x"}});
}

// B153
TEST(Semantics7Paths, ParametersAreCutFromEverySegment) {
  ExpectNormal({{"/api/x;p=1", "/api/x"},
                {"/api/x?y=2", "/api/x"},
                {"/api;v=1/x;p=1;q", "/api/x"},
                {"/api/;x/y", "/api/y"},
                {"/a/..;/b", "/b"},
                {"/a/.;x/b", "/a/b"},
                {"/a;/", "/a/"},
                {"/;", "/"},
                {"/a;b?c;d", "/a"},
                {"/a%3Bb", "/a%3Bb"}});
}

// B159
TEST(Semantics7Paths, UnreservedEscapesAreDecodedOnce) {
  ExpectNormal({{"/%61pi", "/api"},
                {"/%41%7E%2D%2e%5F%30", "/A~-._0"},
                {"/admin%2F", "/admin%2F"},
                {"/admin%2f", "/admin%2F"},
                {"/setup-api%2Fnope", "/setup-api%2Fnope"},
                {"/%252e%252e/x", "/%252e%252e/x"},
                {"/%2561", "/%2561"},
                {"/%c3%a9", "/%C3%A9"},
                {"/%00", "/%00"}});
}

TEST(Semantics7Paths, InvalidEscapesStay) {
  ExpectNormal({{"/%", "/%"},
                {"/%4", "/%4"},
                {"/%zz", "/%zz"},
                {"/%4g", "/%4g"},
                {"/a%/b", "/a%/b"},
                {"/%%41", "/%A"},
                {"/%4%31", "/%41"}});
}

// B159
TEST(Semantics7Paths, DotSegmentsAndRepeatedSlashesAreResolved) {
  ExpectNormal({{"/a//b", "/a/b"},
                {"///", "/"},
                {"/a/./b", "/a/b"},
                {"/a/.", "/a/"},
                {"/a/..", "/"},
                {"/a/b/..", "/a/"},
                {"/a/b/../", "/a/"},
                {"/a/b/../c", "/a/c"},
                {"/../../a", "/a"},
                {"/a/../../b", "/b"},
                {"/%2e%2e/a", "/a"},
                {"/a/%2E./b", "/b"},
                {"/a/%2e/b", "/a/b"},
                {"/a/..%2Fb", "/a/..%2Fb"},
                {"/a/...", "/a/..."}});
}

// Long targets are looked at many characters at a time: whatever changes something does so at every place.
TEST(Semantics7Paths, WhatHasToBeRewrittenIsSeenWhereverItStands) {
  for (size_t before = 0; before < 40; ++before) {
    const std::string start = "/" + std::string(before, 'a');
    for (size_t behind = 0; behind < 40; ++behind) {
      const std::string rest(behind, 'b');
      ExpectNormal({{start + ";x" + rest, start},
                    {start + ";x/" + rest, before == 0 ? "/" + rest : start + "/" + rest},
                    {start + "?" + rest, start},
                    {start + "#" + rest, start},
                    {start + "%41" + rest, start + "A" + rest},
                    {start + "%2f" + rest, start + "%2F" + rest},
                    {start + "/" + rest, before == 0 ? "/" + rest : start + "/" + rest},
                    {start + "//c" + rest, before == 0 ? "/c" + rest : start + "/c" + rest},
                    {start + "/./" + rest, before == 0 ? "/" + rest : start + "/" + rest},
                    {start + "/../" + rest, "/" + rest}});
    }
  }
}

TEST(Semantics7Paths, EveryEscapeOfOneByte) {
  constexpr std::string_view kUnreserved = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  for (int byte = 0; byte < 256; ++byte) {
    char small[8];
    char large[8];
    snprintf(small, sizeof small, "%%%02x", static_cast<unsigned>(byte));
    snprintf(large, sizeof large, "%%%02X", static_cast<unsigned>(byte));
    const char decoded = static_cast<char>(byte);
    const bool stays = byte == 0 || kUnreserved.find(decoded) == kUnreserved.npos;
    const std::string normal = stays ? std::string("/x") + large : std::string("/x") + decoded;
    ExpectNormal({{std::string("/x") + small, normal}, {std::string("/x") + large, normal}});
  }
}

std::string RandomTarget(std::mt19937& random) {
  static const std::vector<std::string> kPieces = {
      "/",   "/",    ".",   "..", ";",        "?", "#", "%2e",  "%2F", "a",     "bc", "%41",   "%",
      "%25", "%252", "%zz", "*",  "http://h", "A", "~", "\xff", "{x}", "//../", "/.", "%2f%2", std::string(1, '\0')};
  std::string target;
  for (size_t pieces = random() % 12; pieces > 0; --pieces) target += kPieces[random() % kPieces.size()];
  return target;
}

bool IsNormal(std::string_view path) {
  if (path.empty() || path[0] != '/' || path.find("//") != path.npos) return false;
  if (path.find_first_of(";?#") != path.npos) return false;
  const std::string bounded = std::string(path) + "/";
  return bounded.find("/./") == bounded.npos && bounded.find("/../") == bounded.npos;
}

TEST(Semantics7Paths, AnyTargetGetsANormalForm) {
  std::mt19937 random(7);
  for (int i = 0; i < 50'000; ++i) {
    const std::string raw = RandomTarget(random);
    EXPECT_TRUE(IsNormal(NormalizePath(raw))) << raw << " -> " << NormalizePath(raw);
  }
}

bool OnlyValidEscapes(std::string_view text) {
  for (size_t i = text.find('%'); i != text.npos; i = text.find('%', i + 1)) {
    if (i + 2 >= text.size() || !isxdigit(static_cast<unsigned char>(text[i + 1])) ||
        !isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      return false;
    }
  }
  return true;
}

// Behind an escape that is none, decoding may put together what looks like one ("%%41" -> "%A"); it is not decoded again.
TEST(Semantics7Paths, NormalFormIsItsOwnNormalForm) {
  std::mt19937 random(8);
  int checked = 0;
  for (int i = 0; i < 50'000; ++i) {
    const std::string raw = RandomTarget(random);
    if (!OnlyValidEscapes(raw)) continue;
    const std::string once = NormalizePath(raw);
    EXPECT_EQ(NormalizePath(once), once) << raw;
    ++checked;
  }
  EXPECT_GT(checked, 10'000);
}

TEST(Semantics7Paths, WorksInPlace) {
  std::mt19937 random(9);
  for (int i = 0; i < 50'000; ++i) {
    const std::string raw = RandomTarget(random);
    std::vector<char> buffer(raw.begin(), raw.end());
    buffer.push_back('!');
    const std::string_view inside(buffer.data(), raw.size());
    EXPECT_EQ(NormalizePath(inside, buffer), NormalizePath(raw)) << raw;
  }
}

TEST(Semantics7Paths, ANormalPathNeedsNoBuffer) {
  const std::string_view raw = "/api/orders?x=1";
  const std::string_view normal = NormalizePath(raw, {});
  EXPECT_EQ(normal, "/api/orders");
  EXPECT_EQ(normal.data(), raw.data());
}

TEST(Semantics7Paths, ABufferThatIsTooSmallGivesNothing) {
  char buffer[4];
  EXPECT_EQ(NormalizePath("/a/..", buffer), "");
  EXPECT_EQ(NormalizePath("/;x", buffer), "/");
  EXPECT_EQ(NormalizePath("abcd", buffer), "");
  EXPECT_EQ(NormalizePath("abc", buffer), "/abc");
}

TEST(Semantics7Paths, HugeTargets) {
  std::string up;
  std::string down;
  for (int i = 0; i < 300'000; ++i) {
    up += "/..";
    down += "/aa";
  }
  EXPECT_EQ(NormalizePath(down + up), "/");
  EXPECT_EQ(NormalizePath(up + down), down);
  EXPECT_EQ(NormalizePath(std::string(1'000'000, '/')), "/");
  EXPECT_EQ(NormalizePath("/" + std::string(1'000'000, '%')).size(), 1'000'001u);
}

}  // namespace
}  // namespace ratel
