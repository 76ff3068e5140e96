// Goldens of the problem body (RFC 9457), and JSON that any parser reads.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>

#include "report/headers.hpp"

namespace ratel {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;

Decision Limited() {
  Decision d;
  d.reason = Reason::kLimited;
  d.rule = 1;
  d.limit_id = 1;
  d.limit_count = 1;
  d.cost = 1;
  d.limit = d.capacity = 5;
  d.window_ns = 60 * kSecond;
  d.retry_after_ns = 12 * kSecond;
  d.reset_after_ns = 60 * kSecond;
  return d;
}

TEST(Problem, Limited) {
  EXPECT_EQ(DecisionProblem(Limited(), "create-order", "per-user"),
            R"({"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Quota Exceeded",)"
            R"("status":429,"detail":"The limit is used up; retry after 12 seconds.","reason":"limited",)"
            R"("rule":"create-order","limit":"per-user","violated-policies":["per-user"],"capacity":5,"remaining":0,)"
            R"("reset_after":60,"retry_after":12})");
}

TEST(Problem, OneSecondIsSingular) {
  Decision d = Limited();
  d.retry_after_ns = 1;
  const auto problem = nlohmann::json::parse(DecisionProblem(d, "r", "l"));
  EXPECT_EQ(problem["detail"], "The limit is used up; retry after 1 second.");
  EXPECT_EQ(problem["retry_after"], 1);
}

// B030: denied and never; the fields agree with each other.
TEST(Problem, B030NeverFits) {
  Decision d = Limited();
  d.reason = Reason::kNeverFits;
  d.cost = 10;
  d.capacity = d.limit = d.remaining = 6;
  d.retry_after_ns = kNever;
  d.reset_after_ns = 0;
  const auto problem = nlohmann::json::parse(DecisionProblem(d, "r", "l"));
  EXPECT_EQ(problem["status"], 429);
  EXPECT_EQ(problem["reason"], "never_fits");
  EXPECT_EQ(problem["detail"], "The request costs 10, more than the limit ever holds (6); waiting does not help.");
  EXPECT_FALSE(problem.contains("retry_after"));
  EXPECT_EQ(problem["remaining"], 6);
}

TEST(Problem, Blocked) {
  Decision d;
  d.reason = Reason::kBlocked;
  d.rule = 1;
  d.retry_after_ns = kNever;
  EXPECT_EQ(DecisionProblem(d, "admin", ""),
            R"({"type":"about:blank","title":"Forbidden","status":403,"detail":"Requests of this kind are blocked.",)"
            R"("reason":"blocked","rule":"admin"})");
}

TEST(Problem, StoreClosed) {
  Decision d;
  d.source = Source::kFailClosed;
  d.reason = Reason::kStore;
  d.rule = 1;
  EXPECT_EQ(DecisionProblem(d, "pay", ""),
            R"({"type":"about:blank","title":"Service Unavailable","status":503,)"
            R"("detail":"The limits cannot be checked at the moment.","reason":"store","rule":"pay"})");
}

/// What comes back after a parser has read it.
std::string RoundTrip(std::string_view name) {
  return nlohmann::json::parse(DecisionProblem(Limited(), name, "l"))["rule"].get<std::string>();
}

TEST(Problem, EveryByteIsEscapedOrReplaced) {
  const std::string bad = "\xEF\xBF\xBD";
  EXPECT_EQ(RoundTrip("\"\\/\b\f\n\r\t\x01\x1F\x7F"), "\"\\/\b\f\n\r\t\x01\x1F\x7F");
  EXPECT_EQ(RoundTrip("gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80"),
            "gr\xC3\xBC\xC3\x9F \xE2\x82\xAC \xF0\x9F\x98\x80");
  EXPECT_EQ(RoundTrip("a\xFFz"), "a" + bad + "z");
  EXPECT_EQ(RoundTrip("\xC0\x80"), bad + bad);                      // overlong
  EXPECT_EQ(RoundTrip("\xE0\x80\x80"), bad + bad + bad);            // overlong
  EXPECT_EQ(RoundTrip("\xED\xA0\x80"), bad + bad + bad);            // a surrogate
  EXPECT_EQ(RoundTrip("\xF4\x90\x80\x80"), bad + bad + bad + bad);  // past U+10FFFF
  EXPECT_EQ(RoundTrip("\xE2\x82"), bad + bad);                      // cut off
  EXPECT_EQ(RoundTrip(std::string_view("a\0b", 3)), std::string("a\0b", 3));
}

TEST(Problem, AllSingleBytesParse) {
  for (int c = 0; c < 256; ++c) {
    const std::string name = "x" + std::string(1, static_cast<char>(c));
    EXPECT_NO_THROW(RoundTrip(name)) << c;
    if (c < 128) {
      EXPECT_EQ(RoundTrip(name), name) << c;
    }
  }
}

}  // namespace
}  // namespace ratel
