// Rule files through the C ABI.
#pragma once

#include <ratel/rl.hpp>
#include <string>
#include <vector>

#include "io.hpp"

namespace ratel::tool {

/// Adds a file, a folder, or standard input ("-") to `config`; returns what is wrong with it. Throws ratel::Error when
/// it cannot be read.
std::vector<Fault> Load(Config& config, const std::string& path);

/// The same for a command that cannot go on with faults: prints them and throws ExitCode.
Config LoadOrExit(const std::string& path);
/// For a text that is called `name`.
Config LoadTextOrExit(const std::string& text, const std::string& name);

}  // namespace ratel::tool
