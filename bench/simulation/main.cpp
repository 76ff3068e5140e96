// scripts/bench simulation: what --help tells.
#include <cstdio>
#include <fstream>
#include <new>

#include "arguments.hpp"
#include "report.hpp"
#include "run.hpp"
#include "sweep.hpp"

namespace simulation {
namespace {

/// Prints the table and fills `json`. False as Sweep.
bool Table(const Arguments& told, std::string& json) {
  const Traffic traffic = DrawTraffic(told.settings);
  std::printf("%llu of the clients ask.\n\n%s", static_cast<unsigned long long>(traffic.clients), TableHead().c_str());
  std::fflush(stdout);
  std::vector<Mode> modes = ModesOf(told.settings);
  if (!told.only.empty()) std::erase_if(modes, [&](const Mode& mode) { return mode.name != told.only; });
  bool good = true;
  RunAll(modes, told.settings, traffic, told.threads, told.check,
         [&](const Mode& mode, const Outcome& outcome, bool same) {
           std::fputs(RowOf(mode, outcome).c_str(), stdout);
           std::fflush(stdout);
           json += (json.empty() ? "" : ",\n") + JsonOf(mode, outcome);
           if (told.check) good = Holds(mode, outcome, same) && good;
         });
  json = "{\"settings\": " + JsonOf(told.settings) + ",\n\"modes\": [\n" + json + "\n]}\n";
  return good;
}

int Run(const Arguments& told) {
  // It is known at once when it cannot be written; what stands there is replaced when there is something to write.
  if (!told.json.empty() && !std::ofstream(told.json, std::ios::app))
    throw BadArguments("--json " + told.json + ": cannot be written");
  std::printf("%s\n\n", SentenceOf(told.settings).c_str());
  std::string json;
  const bool good = told.sweep ? Sweep(told, json) : Table(told, json);
  if (!told.json.empty() && !(std::ofstream(told.json) << json << std::flush))
    throw std::runtime_error("cannot write " + told.json);
  return good ? 0 : 1;
}

}  // namespace
}  // namespace simulation

int main(int argc, char** argv) {
  try {
    const simulation::Arguments told = simulation::ArgumentsOf(argc, argv);
    if (told.help) {
      std::fputs(simulation::Usage().c_str(), stdout);
      return 0;
    }
    return simulation::Run(told);
  } catch (const simulation::BadArguments& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 2;
  } catch (const std::bad_alloc&) {
    std::fputs("error: memory is out; take fewer gateways, clients, requests or --threads\n", stderr);
    return 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    return 1;
  }
}
