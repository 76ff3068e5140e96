// simulation [--gateways N] [--clients N] [--requests N] [--limit N] [--window-s S] [--duration-s S] [--lag-ms MS] [--loss P] [--skew-ms MS] [--outage-s S]
//            [--regions N] [--seed N] [--algorithm NAME] [--only MODE] [--json FILE] [--check]
#include <ratel/rl.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <stdexcept>

#include "simulate.hpp"

namespace simulation {
namespace {

struct Arguments {
  Settings settings;
  std::string only;
  std::string json;  ///< where to write it, too
  bool check = false;
};

template <typename T>
std::function<void(const char*)> Into(T& target) {
  return [&target](const char* text) {
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (*end != 0 || end == text || !(value >= 0)) throw std::runtime_error(std::string("not a number: ") + text);
    target = static_cast<T>(value);
  };
}

Arguments ArgumentsOf(int argc, char** argv) {
  Arguments told;
  Settings& s = told.settings;
  const std::map<std::string, std::function<void(const char*)>> options = {
      {"--gateways", Into(s.gateways)},
      {"--clients", Into(s.clients)},
      {"--requests", Into(s.requests)},
      {"--limit", Into(s.limit)},
      {"--window-s", Into(s.window_s)},
      {"--duration-s", Into(s.duration_s)},
      {"--lag-ms", Into(s.lag_ms)},
      {"--loss", Into(s.loss)},
      {"--skew-ms", Into(s.skew_ms)},
      {"--outage-s", Into(s.outage_s)},
      {"--regions", Into(s.regions)},
      {"--seed", Into(s.seed)},
      {"--algorithm", [&](const char* text) { s.algorithm = text; }},
      {"--only", [&](const char* text) { told.only = text; }},
      {"--json", [&](const char* text) { told.json = text; }},
  };
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--check") {
      told.check = true;
      continue;
    }
    const auto option = options.find(word);
    if (option == options.end() || i + 1 == argc) {
      std::string names;
      for (const auto& [name, into] : options) names += " [" + name + " ...]";
      throw std::runtime_error("usage: simulation [--check]" + names);
    }
    option->second(argv[++i]);
  }
  if (s.gateways == 0 || s.clients < 2 || s.requests == 0 || s.limit == 0 || s.regions == 0)
    throw std::runtime_error("there have to be gateways, two clients, requests, a limit and a region");
  return told;
}

double Percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::string BoundOf(const Mode& mode) {
  return std::isinf(mode.bound) ? "none" : std::to_string(static_cast<uint64_t>(mode.bound));
}

void PrintRow(const Mode& mode, const Outcome& outcome) {
  std::printf("| %s | %.2f %% | %.3f %% | %.3f %% | %llu | %s | %.3f | %.2f %% |\n", mode.name.c_str(),
              Percent(outcome.admitted, outcome.asked), Percent(outcome.too_many, outcome.ideal),
              Percent(outcome.too_few, outcome.ideal), static_cast<unsigned long long>(outcome.worst_window),
              BoundOf(mode).c_str(), static_cast<double>(outcome.store_calls) / static_cast<double>(outcome.asked),
              Percent(outcome.asked - outcome.by_source[RL_SOURCE_EXACT], outcome.asked));
}

std::string JsonOf(const Mode& mode, const Outcome& outcome) {
  const auto number = [](const char* name, uint64_t value) {
    return std::string(", \"") + name + "\": " + std::to_string(value);
  };
  return "{\"mode\": \"" + mode.name + "\", \"what\": \"" + mode.what + "\"" + number("asked", outcome.asked) +
         number("admitted", outcome.admitted) + number("ideal", outcome.ideal) + number("too_many", outcome.too_many) +
         number("too_few", outcome.too_few) + number("worst_window_above_limit", outcome.worst_window) +
         number("store_calls", outcome.store_calls) +
         ", \"bound\": " + (std::isinf(mode.bound) ? "null" : BoundOf(mode)) + "}";
}

void PrintHead(const Settings& s) {
  std::printf(
      "%llu gateways, %llu clients (Zipf 0.99), %llu requests in %.0f s; %s, %llu per %.0f s; lag %.0f ms, loss %.2f "
      "%%, clocks up to %.0f ms off, "
      "outage %.0f s, %llu regions; seed %llu\n\n",
      static_cast<unsigned long long>(s.gateways), static_cast<unsigned long long>(s.clients),
      static_cast<unsigned long long>(s.requests), s.duration_s, s.algorithm.c_str(),
      static_cast<unsigned long long>(s.limit), s.window_s, s.lag_ms, s.loss * 100, s.skew_ms, s.outage_s,
      static_cast<unsigned long long>(s.regions), static_cast<unsigned long long>(s.seed));
  std::puts(
      "| mode | admitted | too many | too few | worst window, above the limit | bound | store calls a request | not "
      "exact |\n"
      "|---|---|---|---|---|---|---|---|");
}

/// Whether the bound holds, and the same seed gives the same again.
bool Holds(const Mode& mode, const Settings& settings, const Outcome& outcome) {
  const bool bounded = static_cast<double>(outcome.worst_window) <= mode.bound;
  const bool repeats = Simulate(mode, settings) == outcome;
  if (!bounded) std::fprintf(stderr, "error: %s: above its bound\n", mode.name.c_str());
  if (!repeats) std::fprintf(stderr, "error: %s: the same seed gives another outcome\n", mode.name.c_str());
  return bounded && repeats;
}

int Run(const Arguments& told) {
  std::string json;
  bool all_hold = true;
  PrintHead(told.settings);
  for (const Mode& mode : ModesOf(told.settings)) {
    if (!told.only.empty() && mode.name != told.only) continue;
    const Outcome outcome = Simulate(mode, told.settings);
    PrintRow(mode, outcome);
    std::fflush(stdout);
    json += (json.empty() ? "[\n" : ",\n") + JsonOf(mode, outcome);
    if (told.check) all_hold = Holds(mode, told.settings, outcome) && all_hold;
  }
  if (json.empty()) throw std::runtime_error("no mode " + told.only);
  if (!told.json.empty() && !(std::ofstream(told.json) << json << "\n]\n"))
    throw std::runtime_error("cannot write " + told.json);
  return all_hold ? 0 : 1;
}

}  // namespace
}  // namespace simulation

int main(int argc, char** argv) {
  try {
    return simulation::Run(simulation::ArgumentsOf(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
