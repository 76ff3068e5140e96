// Any bytes as a request target: the normal form holds its promises, in place too, and the matcher agrees with the definition.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../rules/build.hpp"
#include "../rules/reference.hpp"
#include "rules/path.hpp"

namespace {

using ratel::NormalizePath;
using ratel::test::Reference;
using ratel::test::RuleBuilder;

void Require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

void CheckNormal(std::string_view path) {
  Require(!path.empty() && path.front() == '/', "starts with a slash");
  Require(path.find_first_of(";?#") == path.npos, "no parameters, no query");
  const std::string bounded = std::string(path) + "/";
  Require(path.find("//") == path.npos, "no repeated slashes");
  Require(bounded.find("/./") == bounded.npos && bounded.find("/../") == bounded.npos, "no dot segments");
}

void CheckInPlace(std::string_view raw, std::string_view expected) {
  std::vector<char> buffer(raw.begin(), raw.end());
  buffer.push_back('\0');
  Require(NormalizePath({buffer.data(), raw.size()}, buffer) == expected, "the same in place");
}

const ratel::RuleSet& Rules() {
  static const ratel::RuleSet set = ratel::test::SetOf(
      {RuleBuilder("a", "/a"), RuleBuilder("ab", "/a/{x}/b"), RuleBuilder("xb", "/{x}/b").Methods({"GET"}),
       RuleBuilder("exact", "/a/b").Exact(), RuleBuilder("slash", "/a/b/").Exact(),
       RuleBuilder("lit", "/a/b").Literal(), RuleBuilder("deep", "/{x}/{y}/{z}/a"),
       RuleBuilder("long", "/abcdefghijklmnopqrstuvwxyz/{x}"), RuleBuilder("rest", "").When({{"plan", "pro"}})});
  return set;
}

void CheckMatch(std::string_view path) {
  static const ratel::Matcher matcher = ratel::Matcher::Compile(Rules());
  std::vector<uint32_t> found(ratel::Matcher::kMaxMatches);
  found.resize(matcher.MatchAll({"GET", path, {}}, found));
  const std::vector<uint32_t> expected = Reference(Rules()).All("GET", path, {});
  Require(found == expected, "MatchAll as defined");
  const uint32_t first = expected.empty() ? ratel::Matcher::kNone : expected.front();
  Require(matcher.Match({"GET", path, {}}) == first, "Match as defined");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view raw(reinterpret_cast<const char*>(data), size);
  const std::string normal = NormalizePath(raw);
  CheckNormal(normal);
  CheckInPlace(raw, normal);
  CheckMatch(normal);
  return 0;
}
