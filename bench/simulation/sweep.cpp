#include "sweep.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include "report.hpp"
#include "run.hpp"

namespace simulation {
namespace {

constexpr std::array kModes = {"local",  "one store",     "one store, callers' time",    "denials",
                               "leases", "outage, local", "outage, local, callers' time"};

std::vector<Mode> ChosenModes(const Settings& settings) {
  std::vector<Mode> modes = ModesOf(settings);
  std::erase_if(modes, [](const Mode& mode) { return std::ranges::find(kModes, mode.name) == kModes.end(); });
  return modes;
}

/// A row of a table: for each mode what is too many and too few, and the worst window above the limit.
bool Row(const std::string& name, const Arguments& told, const Settings& settings, std::string& json) {
  const Traffic traffic = DrawTraffic(settings);
  bool good = true;
  std::string modes;
  std::printf("| %s |", name.c_str());
  RunAll(ChosenModes(settings), settings, traffic, told.threads, told.check,
         [&](const Mode& mode, const Outcome& outcome, bool same) {
           std::printf(" +%.2f %% -%.2f %%, %llu |", Percent(outcome.too_many, outcome.ideal),
                       Percent(outcome.too_few, outcome.ideal), static_cast<unsigned long long>(outcome.most_above));
           std::fflush(stdout);
           modes += (modes.empty() ? "" : ",\n  ") + JsonOf(mode, outcome);
           if (told.check) good = Holds(mode, outcome, same) && good;
         });
  std::printf("\n");
  json += (json.empty() ? "[\n" : ",\n") + ("{\"settings\": " + JsonOf(settings)) + ", \"modes\": [\n  " + modes + "]}";
  return good;
}

void Head(const char* varied) {
  std::string columns;
  std::string line;
  for (const char* mode : kModes) {
    columns += " " + std::string(mode) + " |";
    line += "---|";
  }
  std::printf("| %s |%s\n|---|%s\n", varied, columns.c_str(), line.c_str());
}

std::string Text(const char* format, double value) {
  std::array<char, 64> text;
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

}  // namespace

bool Sweep(const Arguments& told, std::string& json) {
  bool good = true;
  Head("lag, loss");
  for (const double lag_ms : {1.0, 5.0, 50.0}) {
    for (const double loss : {0.0, 0.001, 0.05}) {
      Settings settings = told.settings;
      settings.lag_ms = lag_ms;
      settings.loss = loss;
      good = Row(Text("%g ms, ", lag_ms) + Text("%g %%", loss * 100), told, settings, json) && good;
    }
  }
  std::printf("\n");
  Head("clocks");
  for (const double skew_ms : {0.0, 50.0, 500.0, 4000.0}) {
    Settings settings = told.settings;
    settings.skew_ms = skew_ms;
    good = Row(Text("up to %g ms off", skew_ms), told, settings, json) && good;
  }
  for (const double far_s : {3600.0, -3600.0}) {
    Settings settings = told.settings;
    settings.far_s = far_s;
    good = Row(far_s > 0 ? "and one an hour ahead" : "and one an hour behind", told, settings, json) && good;
  }
  json += "\n]\n";
  return good;
}

}  // namespace simulation
