#include <gtest/gtest.h>

#include "config/reader.hpp"

namespace ratel {
namespace {

constexpr Micros kSecond = 1'000'000;

struct Case {
  const char* text;
  Micros micros;
};

TEST(ParseDuration, TakesEveryUnit) {
  for (const Case& c : {Case{"10us", 10},
                        {"250ms", 250'000},
                        {"1s", kSecond},
                        {"1m", 60 * kSecond},
                        {"1h", 3600 * kSecond},
                        {"1d", 86'400 * kSecond},
                        {"1w", 7 * 86'400 * kSecond},
                        {"0s", 0},
                        {"007s", 7 * kSecond}}) {
    const Result<Micros> span = ParseDuration(c.text);
    ASSERT_TRUE(span.ok()) << c.text << ": " << span.error().message;
    EXPECT_EQ(*span, c.micros) << c.text;
  }
}

TEST(ParseDuration, TakesSumsAndDecimals) {
  for (const Case& c : {Case{"1h30m", 5400 * kSecond},
                        {"1m0.25s", 60'250'000},
                        {"1.5s", 1'500'000},
                        {"0.000001s", 1},
                        {"1.500000000000s", 1'500'000},
                        {"0.001ms", 1},
                        {"1w2d3h4m5s6ms7us", 788'645'006'007}}) {
    const Result<Micros> span = ParseDuration(c.text);
    ASSERT_TRUE(span.ok()) << c.text << ": " << span.error().message;
    EXPECT_EQ(*span, c.micros) << c.text;
  }
}

TEST(ParseDuration, SaysWhatIsWrong) {
  struct Bad {
    const char* text;
    const char* reason;
  };
  for (const Bad& c : {Bad{"", "number and a unit"},
                       {"60", "no unit"},
                       {"1.5", "no unit"},
                       {"s", "number and a unit"},
                       {"1x", "no unit \"x\""},
                       {"1 s", "without blanks"},
                       {"1m1h", "large to small"},
                       {"1s1s", "large to small"},
                       {"1.5us", "finest step"},
                       {"0.0000005s", "finest step"},
                       {"1.s", "after the point"},
                       {"-1s", "number and a unit"},
                       {"1.0000000000000s", "after the point"},
                       {"99999999999999999999s", "too large"},
                       {"18446744073709551615w", "too long"},
                       {"9007199254740992us", "too long"},
                       {"1\xC2\xB5s", "no unit"}}) {
    const Result<Micros> span = ParseDuration(c.text);
    ASSERT_FALSE(span.ok()) << c.text;
    EXPECT_NE(span.error().message.find(c.reason), std::string::npos) << c.text << ": " << span.error().message;
  }
}

TEST(FormatDuration, IsReadBack) {
  for (const Micros span :
       {Micros{0}, Micros{1}, Micros{1500}, Micros{250'000}, 90 * kSecond, 86'400 * kSecond, 7 * 86'400 * kSecond,
        10 * 86'400 * kSecond, kMaxWindow, kMaxMicros, Micros{1'234'567'890'123}}) {
    const Result<Micros> back = ParseDuration(FormatDuration(span));
    ASSERT_TRUE(back.ok()) << FormatDuration(span);
    EXPECT_EQ(*back, span) << FormatDuration(span);
  }
}

TEST(FormatDuration, ReadsWell) {
  EXPECT_EQ(FormatDuration(0), "0s");
  EXPECT_EQ(FormatDuration(250'000), "250ms");
  EXPECT_EQ(FormatDuration(90 * kSecond), "1m30s");
  EXPECT_EQ(FormatDuration(14 * 86'400 * kSecond), "2w");
  EXPECT_EQ(FormatDuration(10 * 86'400 * kSecond), "10d");
  EXPECT_EQ(FormatDuration(1'500'000), "1s500ms");
}

}  // namespace
}  // namespace ratel
