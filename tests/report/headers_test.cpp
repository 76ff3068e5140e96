// Goldens of the header fields. HD field cases are named by number.
#include "report/header_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "ratel/rl.h"

namespace ratel {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 1'700'000'000 * kSecond;

Decision Allowed() {
  Decision d;
  d.allowed = true;
  d.limit_id = 7;
  d.limit_count = 1;
  d.now_ns = kNow;
  d.cost = 1;
  d.limit = d.capacity = 100;
  d.window_ns = 60 * kSecond;
  d.remaining = 50;
  d.reset_after_ns = 30 * kSecond;
  return d;
}

Decision Denied(uint64_t retry_after_ns) {
  Decision d = Allowed();
  d.allowed = false;
  d.reason = Reason::kLimited;
  d.remaining = 0;
  d.retry_after_ns = retry_after_ns;
  return d;
}

TEST(HeaderForms, BitsAreThoseOfTheAbi) {
  EXPECT_EQ(kHeadersX, RL_HEADERS_X);
  EXPECT_EQ(kHeadersResetDelta, RL_HEADERS_RESET_DELTA);
  EXPECT_EQ(kHeadersRetryAfter, RL_HEADERS_RETRY_AFTER);
  EXPECT_EQ(kHeadersDraft11, RL_HEADERS_DRAFT_11);
  EXPECT_EQ(kHeadersDraft8, RL_HEADERS_DRAFT_8);
  EXPECT_EQ(kHeadersDraft7, RL_HEADERS_DRAFT_7);
  EXPECT_EQ(kHeadersDraft6, RL_HEADERS_DRAFT_6);
  EXPECT_EQ(kHeadersNone, RL_HEADERS_NONE);
}

TEST(HeaderForms, AtMostOneDraftAndNoneStandsAlone) {
  EXPECT_TRUE(IsValidHeaderForms(0));
  EXPECT_TRUE(IsValidHeaderForms(kHeadersDefault));
  EXPECT_TRUE(IsValidHeaderForms(kHeadersX | kHeadersResetDelta | kHeadersRetryAfter | kHeadersDraft11));
  EXPECT_TRUE(IsValidHeaderForms(kHeadersNone));
  EXPECT_FALSE(IsValidHeaderForms(kHeadersNone | kHeadersX));
  EXPECT_FALSE(IsValidHeaderForms(kHeadersDraft11 | kHeadersDraft8));
  EXPECT_FALSE(IsValidHeaderForms(kHeadersDraft7 | kHeadersDraft6));
  EXPECT_FALSE(IsValidHeaderForms(1u << 8));
  EXPECT_FALSE(IsValidHeaderForms(1u << 31));
}

// B111: one stated form of Reset, whole seconds everywhere.
TEST(Headers, B111DefaultIsEpochResetAndRetryAfter) {
  const std::string expected =
      "X-RateLimit-Limit: 100\r\n"
      "X-RateLimit-Remaining: 0\r\n"
      "X-RateLimit-Reset: 1700000030\r\n"
      "Retry-After: 12\r\n";
  EXPECT_EQ(HeaderText(Denied(12 * kSecond), "api", kHeadersDefault), expected);
  EXPECT_EQ(HeaderText(Denied(12 * kSecond), "api", 0), expected);
}

TEST(Headers, DeltaReset) {
  EXPECT_EQ(HeaderText(Allowed(), "api", kHeadersX | kHeadersResetDelta),
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 50\r\n"
            "X-RateLimit-Reset: 30\r\n");
}

TEST(Headers, Draft11) {
  EXPECT_EQ(HeaderText(Allowed(), "name", kHeadersDraft11),
            "RateLimit-Policy: \"name\";q=100;w=60\r\n"
            "RateLimit: \"name\";r=50;t=30\r\n");
}

TEST(Headers, Draft8IsSpelledAsDraft11) {
  EXPECT_EQ(HeaderText(Allowed(), "name", kHeadersDraft8), HeaderText(Allowed(), "name", kHeadersDraft11));
}

TEST(Headers, Draft7) {
  EXPECT_EQ(HeaderText(Allowed(), "name", kHeadersDraft7),
            "RateLimit-Policy: 100;w=60\r\n"
            "RateLimit: limit=100, remaining=50, reset=30\r\n");
}

TEST(Headers, Draft6) {
  EXPECT_EQ(HeaderText(Allowed(), "name", kHeadersDraft6),
            "RateLimit-Limit: 100\r\n"
            "RateLimit-Remaining: 50\r\n"
            "RateLimit-Reset: 30\r\n"
            "RateLimit-Policy: 100;w=60\r\n");
}

TEST(Headers, BurstIsToldWhereItDiffersFromTheLimit) {
  Decision d = Allowed();
  d.limit = 60;
  d.capacity = 10;
  d.remaining = 9;
  EXPECT_EQ(HeaderText(d, "name", kHeadersX | kHeadersDraft11),
            "X-RateLimit-Limit: 10\r\n"
            "X-RateLimit-Remaining: 9\r\n"
            "X-RateLimit-Reset: 1700000030\r\n"
            "RateLimit-Policy: \"name\";q=60;w=60;ratel-burst=10\r\n"
            "RateLimit: \"name\";r=9;t=30\r\n");
  EXPECT_EQ(HeaderText(d, "name", kHeadersDraft7),
            "RateLimit-Policy: 60;w=60;burst=10\r\n"
            "RateLimit: limit=10, remaining=9, reset=30\r\n");
}

TEST(Headers, DraftsPointWhereRetryAfterPoints) {
  const Decision d = Denied(12 * kSecond);
  EXPECT_EQ(HeaderText(d, "n", kHeadersDraft11 | kHeadersRetryAfter),
            "RateLimit-Policy: \"n\";q=100;w=60\r\n"
            "RateLimit: \"n\";r=0;t=12\r\n"
            "Retry-After: 12\r\n");
}

// B108: 0.2 s, 0.9 s and 1.9 s left are 1, 1 and 2 seconds.
TEST(Headers, B108RetryAfterRoundsUpAndIsAtLeastOne) {
  EXPECT_EQ(RetryAfterSeconds(200'000'000), 1u);
  EXPECT_EQ(RetryAfterSeconds(900'000'000), 1u);
  EXPECT_EQ(RetryAfterSeconds(1'900'000'000), 2u);
  EXPECT_EQ(RetryAfterSeconds(0), 1u);
  EXPECT_EQ(RetryAfterSeconds(1), 1u);
  EXPECT_EQ(RetryAfterSeconds(kSecond), 1u);
  EXPECT_EQ(RetryAfterSeconds(kSecond + 1), 2u);
  EXPECT_EQ(RetryAfterSeconds(UINT64_MAX - 1), 18'446'744'074u);
}

TEST(Headers, NoRetryAfterWhereWaitingDoesNotHelp) {
  Decision d = Denied(kNever);
  d.reason = Reason::kNeverFits;
  d.remaining = 6;
  EXPECT_EQ(HeaderText(d, "n", kHeadersDefault),
            "X-RateLimit-Limit: 100\r\n"
            "X-RateLimit-Remaining: 6\r\n"
            "X-RateLimit-Reset: 1700000030\r\n");
  EXPECT_EQ(HeaderText(Allowed(), "n", kHeadersRetryAfter), "");
}

TEST(Headers, NothingWithoutALimit) {
  Decision none;
  none.allowed = true;
  none.source = Source::kNoRule;
  EXPECT_EQ(HeaderText(none, "", kHeadersDefault | kHeadersDraft11), "");
  Decision blocked;
  blocked.reason = Reason::kBlocked;
  blocked.retry_after_ns = kNever;
  EXPECT_EQ(HeaderText(blocked, "", kHeadersDefault), "");
}

// B117: off means absent.
TEST(Headers, B117OffMeansAbsent) {
  EXPECT_EQ(HeaderText(Denied(kSecond), "n", kHeadersNone), "");
  EXPECT_EQ(HeaderText(Denied(kSecond), "n", kHeadersRetryAfter), "Retry-After: 1\r\n");
}

TEST(Headers, ResetIsMeasuredFromTheMicrosecondOfTheDecision) {
  Decision d = Allowed();
  d.now_ns = kNow + 999'999'999;
  d.reset_after_ns = 1000;  // the microsecond of the decision began 999 ns before
  EXPECT_NE(HeaderText(d, "n", kHeadersX).find("X-RateLimit-Reset: 1700000001\r\n"), std::string::npos);
}

TEST(Headers, WindowsBelowASecondCountAsOne) {
  Decision d = Allowed();
  d.window_ns = 250'000'000;
  EXPECT_NE(HeaderText(d, "n", kHeadersDraft11).find(";w=1\r\n"), std::string::npos);
  d.window_ns = 1'500'000'000;
  EXPECT_NE(HeaderText(d, "n", kHeadersDraft11).find(";w=2\r\n"), std::string::npos);
}

TEST(Headers, StructuredIntegersStayInRange) {
  Decision d = Allowed();
  d.limit = d.capacity = d.remaining = (uint64_t{1} << 53) - 1;
  EXPECT_EQ(HeaderText(d, "n", kHeadersDraft11),
            "RateLimit-Policy: \"n\";q=999999999999999;w=60\r\n"
            "RateLimit: \"n\";r=999999999999999;t=30\r\n");
  EXPECT_NE(HeaderText(d, "n", kHeadersX).find("X-RateLimit-Limit: 9007199254740991\r\n"), std::string::npos);
}

TEST(Headers, AResetAtTheEndOfTimeDoesNotWrap) {
  Decision d = Allowed();
  d.now_ns = RL_NOW_MAX_NS;
  d.reset_after_ns = UINT64_MAX;
  EXPECT_NE(HeaderText(d, "n", kHeadersX).find("X-RateLimit-Reset: 18446744074\r\n"), std::string::npos);
}

TEST(Headers, ANameCannotEndItsLine) {
  const std::string fields = HeaderText(Allowed(), "a\r\nX-Evil: 1\"\\\x01\xFF", kHeadersDraft11);
  EXPECT_EQ(fields,
            "RateLimit-Policy: \"a??X-Evil: 1\\\"\\\\??\";q=100;w=60\r\n"
            "RateLimit: \"a??X-Evil: 1\\\"\\\\??\";r=50;t=30\r\n");
}

}  // namespace
}  // namespace ratel
