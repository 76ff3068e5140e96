// Prometheus text. MT field cases are named by number.
#include "report/metrics.hpp"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>

namespace ratel {
namespace {

TEST(Prometheus, CountersGaugesAndRules) {
  MetricsSnapshot s;
  s.requests = 7;
  s.allowed = 5;
  s.denied = 2;
  s.keys = 3;
  s.generation = 1;
  s.rules = {{"orders", 5, 2, 1, 0, 9}, {"search", 0, 0, 0, 4, 0}};
  const std::string text = ToPrometheus(s);
  EXPECT_NE(text.find("# HELP ratel_requests_total Requests decided: allowed and denied.\n"
                      "# TYPE ratel_requests_total counter\n"
                      "ratel_requests_total 7\n"),
            std::string::npos);
  EXPECT_NE(text.find("# TYPE ratel_keys gauge\nratel_keys 3\n"), std::string::npos);
  EXPECT_NE(text.find("# TYPE ratel_rule_denied_total counter\n"
                      "ratel_rule_denied_total{rule=\"orders\"} 2\n"
                      "ratel_rule_denied_total{rule=\"search\"} 0\n"),
            std::string::npos);
  EXPECT_NE(text.find("ratel_rule_cost_allowed_total{rule=\"orders\"} 9\n"), std::string::npos);
  EXPECT_NE(text.find("ratel_rule_shadow_denied_total{rule=\"search\"} 4\n"), std::string::npos);
}

TEST(Prometheus, LabelValuesAreEscaped) {
  MetricsSnapshot s;
  s.rules = {{"a\\b\"c\nd", 1, 0, 0, 0, 1}};
  EXPECT_NE(ToPrometheus(s).find("ratel_rule_allowed_total{rule=\"a\\\\b\\\"c\\nd\"} 1\n"), std::string::npos);
}

TEST(Prometheus, LargestNumbersAreWhole) {
  MetricsSnapshot s;
  s.requests = UINT64_MAX;
  EXPECT_NE(ToPrometheus(s).find("ratel_requests_total 18446744073709551615\n"), std::string::npos);
}

// B237: the series are the rules in force, each once; their number does not grow with traffic.
TEST(Prometheus, B237OneSeriesForEachFamilyAndRule) {
  MetricsSnapshot s;
  s.rules = {{"a", 1, 0, 0, 0, 1}, {"b", 1, 0, 0, 0, 1}};
  std::istringstream lines(ToPrometheus(s));
  std::set<std::string> series;
  for (std::string line; std::getline(lines, line);) {
    if (line[0] == '#') continue;
    EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
  }
  EXPECT_EQ(series.size(), 22u + 2 * 5u);
}

}  // namespace
}  // namespace ratel
