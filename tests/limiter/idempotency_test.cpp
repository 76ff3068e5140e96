// A request with an idempotency id is the store's to answer: what is remembered here, and what was paid for in advance, is for others.
#include <array>
#include <vector>

#include "tests/limiter/support.hpp"

namespace ratel::test {
namespace {

Request As(std::string_view id) {
  Request request;
  request.path = "/";
  request.identity.user = "u";
  request.idempotency_id = id;
  return request;
}

/// The answer by each way there is to ask.
std::vector<Decision> ByEachWay(Fixture& f, const Request& request) {
  std::vector<Decision> answers{f.Ask(request)};
  std::array<Decision, 1> many;
  f.registry->AllowMany({&request, 1}, many);
  answers.push_back(many[0]);
  Decision later;
  const auto take = [](void* user, const Decision& decision) { *static_cast<Decision*>(user) = decision; };
  EXPECT_EQ(f.registry->AllowAsync(request, take, &later), Status::kOk);
  answers.push_back(later);
  return answers;
}

TEST(IdempotencyId, NoDenialIsRepeatedForIt) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f(
        "rules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 3, window: 1h, local_tier: "
        "denials}\n",
        store);
    while (f.Ask(As("")).allowed) {
    }
    for (const Decision& answer : ByEachWay(f, As(""))) EXPECT_EQ(answer.source, Source::kCachedDenial);
    const uint64_t calls = f.controls.calls;
    for (const Decision& answer : ByEachWay(f, As("id"))) {
      EXPECT_FALSE(answer.allowed);
      EXPECT_EQ(answer.source, Source::kExact);
    }
    EXPECT_EQ(f.controls.calls, calls + 3);
    EXPECT_EQ(f.controls.with_id, 3u);
    for (const Decision& answer : ByEachWay(f, As(""))) EXPECT_EQ(answer.source, Source::kCachedDenial);
  }
}

TEST(IdempotencyId, TheStoreMayKnowBetterThanADenial) {
  Fixture f(
      "rules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 3, window: 1h, local_tier: "
      "denials}\n",
      Store::kRemote);
  while (f.Ask(As("")).allowed) {
  }
  f.controls.own_clock = (kStart + 7200 * kSecond) / 1000;
  EXPECT_EQ(f.Ask(As("")).source, Source::kCachedDenial);
  EXPECT_TRUE(f.Ask(As("id")).allowed) << "as a repeat of an allowed request would be";
}

TEST(IdempotencyId, NoLeaseAdmitsItAndNoBlockIsPaidForIt) {
  for (const Store store : {Store::kRemote, Store::kNameless}) {
    Fixture f(
        "lease_life: 1m\nrules:\n  - {name: api, path: /, scope: user, algorithm: fixed_window, limit: 10000, window: "
        "1h, "
        "local_tier: leases}\n",
        store);
    for (int i = 0; i < 50; ++i) {
      const uint64_t spent = f.controls.spent;
      for (const Decision& answer : ByEachWay(f, As("id"))) EXPECT_EQ(answer.source, Source::kExact);
      EXPECT_EQ(f.controls.spent, spent + 3) << "one unit each, however hot";
    }
    int asked = 0;
    while (f.Ask(As("")).source != Source::kLeased) ASSERT_LT(++asked, 50);
    for (const Decision& answer : ByEachWay(f, As("id"))) EXPECT_EQ(answer.source, Source::kExact);
    EXPECT_EQ(f.Ask(As("")).source, Source::kLeased) << "the block is still there for others";
  }
}

}  // namespace
}  // namespace ratel::test
