// What the command line says.
#pragma once

#include <stdexcept>
#include <string>

#include "settings.hpp"

namespace simulation {

struct Arguments {
  Settings settings;
  std::string only;      ///< the mode to run; empty: all
  std::string json;      ///< a file to write it to, too
  uint64_t threads = 2;  ///< modes that run beside each other
  bool check = false;
  bool sweep = false;
  bool help = false;
};

/// Its text is for whoever typed the command.
class BadArguments : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

Arguments ArgumentsOf(int argc, char** argv);
std::string Usage();

}  // namespace simulation
