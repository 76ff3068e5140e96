#include "load.hpp"

namespace ratel::tool {
namespace {

Fault ToFault(const Error& error) {
  return {std::string(error.File()), error.Line(), error.Column(), std::string(error.Path()),
          std::string(error.Message())};
}

/// What is wrong with what `add` adds to `config`.
template <class Add>
std::vector<Fault> FaultsOf(Config& config, Add&& add) {
  try {
    add();
  } catch (const Error& error) {
    if (error.Status() != RL_E_CONFIG) throw;
    std::vector<Fault> faults;
    for (const Error& fault : config.Faults()) faults.push_back(ToFault(fault));
    return faults;
  }
  return {};
}

void ExitOn(const std::vector<Fault>& faults) {
  if (faults.empty()) return;
  PrintFaults(faults, Stream::kError);
  throw ExitCode(kFaults);
}

}  // namespace

std::vector<Fault> Load(Config& config, const std::string& path) {
  return FaultsOf(config, [&] {
    if (path == "-") {
      config.LoadText(ReadFile(path), "<stdin>");
    } else {
      config.LoadFile(path);
    }
  });
}

Config LoadOrExit(const std::string& path) {
  Config config;
  ExitOn(Load(config, path));
  return config;
}

Config LoadTextOrExit(const std::string& text, const std::string& name) {
  Config config;
  ExitOn(FaultsOf(config, [&] { config.LoadText(text, name); }));
  return config;
}

}  // namespace ratel::tool
