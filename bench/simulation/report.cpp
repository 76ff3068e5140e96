#include "report.hpp"

#include <ratel/rl.h>

#include <array>
#include <cmath>
#include <cstdio>

namespace simulation {
namespace {

template <typename... Values>
std::string Format(const char* format, Values... values) {
  std::array<char, 512> text;
  std::snprintf(text.data(), text.size(), format, values...);
  return text.data();
}

std::string BoundOf(double bound, const char* none) { return std::isinf(bound) ? none : Format("%.0f", bound); }

std::string Field(const char* name, const std::string& value) { return ", \"" + std::string(name) + "\": " + value; }
std::string Field(const char* name, uint64_t value) { return Field(name, std::to_string(value)); }
std::string Field(const char* name, double value) { return Field(name, Format("%g", value)); }

}  // namespace

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string SentenceOf(const Settings& s) {
  return std::to_string(s.gateways) + " gateways, " + std::to_string(s.clients) + " clients, " +
         std::to_string(s.requests) + " requests in " + Format("%g s; ", s.duration_s) + s.algorithm + ", " +
         std::to_string(s.limit) +
         Format(" per %g s; lag %g ms, loss %g %%, clocks up to %g ms off", s.window_s, s.lag_ms, s.loss * 100,
                s.skew_ms) +
         (s.far_s == 0 ? "" : Format(" and one %g s", s.far_s)) + Format(", outage %g s, ", s.outage_s) +
         std::to_string(s.regions) + " regions; seed " + std::to_string(s.seed);
}

std::string TableHead() {
  return "| mode | admitted | too many | too few | worst window: above the limit | bound | below the ideal | bound | "
         "store calls a request | leased | cached | on_store_error |\n"
         "|---|---|---|---|---|---|---|---|---|---|---|---|\n";
}

std::string RowOf(const Mode& mode, const Outcome& outcome) {
  const auto part = [&](int source) { return Percent(outcome.by_source[static_cast<size_t>(source)], outcome.asked); };
  const double failed = part(RL_SOURCE_LOCAL_FALLBACK) + part(RL_SOURCE_FAIL_OPEN) + part(RL_SOURCE_FAIL_CLOSED);
  return "| " + mode.name +
         Format(" | %.2f %% | %.3f %% | %.3f %% | ", Percent(outcome.admitted, outcome.asked),
                Percent(outcome.too_many, outcome.ideal), Percent(outcome.too_few, outcome.ideal)) +
         std::to_string(outcome.most_above) + " | " + BoundOf(mode.above, "none") + " | " +
         std::to_string(outcome.most_below) + " | " + BoundOf(mode.below, "none") +
         Format(" | %.3f | %.2f %% | %.2f %% | %.2f %% |\n",
                static_cast<double>(outcome.store_calls) / static_cast<double>(outcome.asked), part(RL_SOURCE_LEASED),
                part(RL_SOURCE_CACHED_DENIAL), failed);
}

std::string JsonOf(const Settings& s) {
  return "{\"algorithm\": \"" + s.algorithm + "\"" + Field("gateways", s.gateways) + Field("clients", s.clients) +
         Field("requests", s.requests) + Field("limit", s.limit) + Field("window_s", s.window_s) +
         Field("duration_s", s.duration_s) + Field("lag_ms", s.lag_ms) + Field("loss", s.loss) +
         Field("skew_ms", s.skew_ms) + Field("far_s", s.far_s) + Field("outage_s", s.outage_s) +
         Field("regions", s.regions) + Field("seed", s.seed) + "}";
}

std::string JsonOf(const Mode& mode, const Outcome& outcome) {
  const auto part = [&](int source) { return outcome.by_source[static_cast<size_t>(source)]; };
  return "{\"mode\": \"" + mode.name + "\", \"what\": \"" + mode.what + "\"" + Field("asked", outcome.asked) +
         Field("admitted", outcome.admitted) + Field("ideal", outcome.ideal) + Field("too_many", outcome.too_many) +
         Field("too_few", outcome.too_few) + Field("worst_window_above_limit", outcome.most_above) +
         Field("bound_above", BoundOf(mode.above, "null")) + Field("worst_window_below_ideal", outcome.most_below) +
         Field("bound_below", BoundOf(mode.below, "null")) + Field("store_calls", outcome.store_calls) +
         Field("leased", part(RL_SOURCE_LEASED)) + Field("cached_denials", part(RL_SOURCE_CACHED_DENIAL)) +
         Field("local_fallback", part(RL_SOURCE_LOCAL_FALLBACK)) + Field("fail_open", part(RL_SOURCE_FAIL_OPEN)) +
         Field("fail_closed", part(RL_SOURCE_FAIL_CLOSED)) + "}";
}

bool Holds(const Mode& mode, const Outcome& outcome, bool same) {
  bool good = same;
  if (!same) std::fprintf(stderr, "error: %s: the same seed gives another outcome\n", mode.name.c_str());
  const auto bound = [&](const char* what, uint64_t measured, double most) {
    if (static_cast<double>(measured) <= most) return;
    good = false;
    std::fprintf(stderr, "error: %s: %llu %s in one window, the bound is %.0f\n", mode.name.c_str(),
                 static_cast<unsigned long long>(measured), what, most);
  };
  bound("above the limit", outcome.most_above, mode.above);
  bound("below the ideal", outcome.most_below, mode.below);
  return good;
}

}  // namespace simulation
