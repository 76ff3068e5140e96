#include "arguments.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "modes.hpp"

namespace simulation {
namespace {

constexpr std::array<std::string_view, 5> kAlgorithms = {"fixed_window", "sliding_log", "sliding_counter",
                                                         "token_bucket", "leaky_bucket"};

[[noreturn]] void Refuse(std::string_view option, std::string_view text, const std::string& why) {
  throw BadArguments(std::string(option) + " " + std::string(text) + ": " + why);
}

template <typename T>
T NumberOf(std::string_view option, std::string_view text, T least, T most) {
  const auto range = [&] {
    std::array<char, 96> told;
    if constexpr (std::is_integral_v<T>) {
      std::snprintf(told.data(), told.size(), "a whole number from %llu to %llu is expected",
                    static_cast<unsigned long long>(least), static_cast<unsigned long long>(most));
    } else {
      std::snprintf(told.data(), told.size(), "a number from %g to %g is expected", least, most);
    }
    return std::string(told.data());
  };
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most))
    Refuse(option, text, range());
  return value;
}

struct Option {
  std::string_view name;
  std::string_view value;  ///< what usage calls it; empty: it has none
  std::string_view what;
  std::function<void(Arguments&, std::string_view)> take;
};

Option Whole(std::string_view name, uint64_t Settings::*field, uint64_t least, uint64_t most, std::string_view what) {
  return {name, "N", what, [=](Arguments& told, std::string_view text) {
            told.settings.*field = NumberOf<uint64_t>(name, text, least, most);
          }};
}

Option Real(std::string_view name, double Settings::*field, double least, double most, std::string_view what) {
  return {name, "X", what, [=](Arguments& told, std::string_view text) {
            told.settings.*field = NumberOf<double>(name, text, least, most);
          }};
}

void TakeMode(Arguments& told, std::string_view text) {
  std::string names;
  for (const Mode& mode : ModesOf(told.settings)) {
    if (mode.name == text) told.only = text;
    names += (names.empty() ? "" : " | ") + mode.name;
  }
  if (told.only != text) Refuse("--only", text, "no such mode; there are: " + names);
}

void TakeAlgorithm(Arguments& told, std::string_view text) {
  std::string names;
  for (const std::string_view name : kAlgorithms) {
    if (name == text) told.settings.algorithm = text;
    names += (names.empty() ? "" : " | ") + std::string(name);
  }
  if (told.settings.algorithm != text) Refuse("--algorithm", text, "no such algorithm; there are: " + names);
}

const std::vector<Option>& Options() {
  static const std::vector<Option> options = {
      Whole("--gateways", &Settings::gateways, 1, 10'000, "processes that decide"),
      Whole("--clients", &Settings::clients, 2, 100'000'000, "each asks once, where there are as many requests"),
      Whole("--requests", &Settings::requests, 1, 100'000'000, "of all; those that are left are Zipf (0.99)"),
      Whole("--limit", &Settings::limit, 1, 1'000'000'000, "requests of a client in a window"),
      Real("--window-s", &Settings::window_s, 0.1, 86'400, "seconds"),
      Real("--duration-s", &Settings::duration_s, 0.1, 864'000, "seconds in which the requests are sent"),
      Real("--lag-ms", &Settings::lag_ms, 0, 100, "until a question reaches the store, on average"),
      Real("--loss", &Settings::loss, 0, 1, "part of the messages"),
      Real("--skew-ms", &Settings::skew_ms, 0, 86'400'000, "gateways' clocks are up to so far ahead or behind"),
      Real("--far-s", &Settings::far_s, -864'000, 864'000, "and that of one gateway so far ahead besides"),
      Real("--outage-s", &Settings::outage_s, 0, 864'000,
           "for which the store is away; begins soon after a third of the duration"),
      Whole("--regions", &Settings::regions, 1, 10'000, "of \"region shares\""),
      Whole("--seed", &Settings::seed, 0, UINT64_MAX, "the same seed gives the same outcome"),
      {"--algorithm", "NAME", "of the rule", TakeAlgorithm},
      {"--only", "MODE", "one mode instead of all", TakeMode},
      {"--json", "FILE", "write it there, too", [](Arguments& told, std::string_view text) { told.json = text; }},
      {"--threads", "N", "modes that run beside each other; each takes memory of its own",
       [](Arguments& told, std::string_view text) { told.threads = NumberOf<uint64_t>("--threads", text, 1, 64); }},
      {"--check", "", "fail when a bound does not hold, or a second run (of 2,000,000 requests) differs",
       [](Arguments& told, std::string_view) { told.check = true; }},
      {"--sweep", "", "a few modes under several lags, losses and clocks, in place of the table",
       [](Arguments& told, std::string_view) { told.sweep = true; }},
      {"--help", "", "this", [](Arguments& told, std::string_view) { told.help = true; }},
  };
  return options;
}

void CheckTogether(const Settings& settings) {
  if (settings.regions > settings.gateways) throw BadArguments("--regions: more regions than gateways");
  const double begins = OutageBeginsAfter(settings);
  if (begins + settings.outage_s > settings.duration_s)
    throw BadArguments("--outage-s: the outage begins after a third of --duration-s and 0.4 windows, " +
                       std::to_string(begins) + " s, and has to end within the duration");
  const double milliseconds = settings.window_s * 1000;
  if (std::abs(milliseconds - std::round(milliseconds)) > 1e-6)
    throw BadArguments("--window-s: whole milliseconds are expected");
}

}  // namespace

Arguments ArgumentsOf(int argc, char** argv) {
  Arguments told;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const Option* option = nullptr;
    for (const Option& known : Options()) {
      if (known.name == word) option = &known;
    }
    if (option == nullptr) throw BadArguments(std::string(word) + ": no such option; --help lists them");
    if (option->value.empty()) {
      option->take(told, {});
      continue;
    }
    if (++i == argc) throw BadArguments(std::string(word) + ": a value is missing");
    option->take(told, argv[i]);
  }
  CheckTogether(told.settings);
  return told;
}

std::string Usage() {
  std::string text = "usage: scripts/bench simulation [OPTION...]\n\n";
  for (const Option& option : Options()) {
    std::string left = "  " + std::string(option.name) + " " + std::string(option.value);
    left.resize(20, ' ');
    text += left + std::string(option.what) + "\n";
  }
  return text;
}

}  // namespace simulation
