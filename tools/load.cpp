#include "load.hpp"

namespace ratel::tool {
namespace {

Fault ToFault(const Error& error) {
  return {std::string(error.File()), error.Line(), error.Column(), std::string(error.Path()),
          std::string(error.Message())};
}

}  // namespace

std::vector<Fault> Load(Config& config, const std::string& path) {
  try {
    if (path == "-") {
      config.LoadText(ReadFile(path), "<stdin>");
    } else {
      config.LoadFile(path);
    }
  } catch (const Error& error) {
    if (error.Status() != RL_E_CONFIG) throw;
    std::vector<Fault> faults;
    for (const Error& fault : config.Faults()) faults.push_back(ToFault(fault));
    return faults;
  }
  return {};
}

Config LoadOrExit(const std::string& path) {
  Config config;
  const std::vector<Fault> faults = Load(config, path);
  if (faults.empty()) return config;
  PrintFaults(faults, Stream::kError);
  throw ExitCode(kFaults);
}

}  // namespace ratel::tool
