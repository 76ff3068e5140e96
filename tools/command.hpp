// The commands: what they are asked, and their entry points. Each returns an ExitCode.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace CLI {  // NOLINT(readability-identifier-naming): not ours
class App;
}

namespace ratel::tool {

struct CheckOptions {
  std::vector<std::string> files;
  bool json = false;
};
int Check(const CheckOptions& options);

struct ExplainOptions {
  std::string file, method, path, user, ip, api_key, key, rule, now;
  std::vector<std::string> attributes;  ///< "name=value"
  int64_t cost = 0;                     ///< 0 = the rule's
  bool has_cost = false;
  uint32_t after = 0;  ///< the same request, so many times, before
  bool json = false;
};
int Explain(const ExplainOptions& options);

struct RulesOptions {
  std::string file;
  bool json = false;
};
int Rules(const RulesOptions& options);

struct ReplayOptions {
  std::string file, log;
  uint32_t top = 5;
  bool json = false;
};
int Replay(const ReplayOptions& options);

struct DiffOptions {
  std::string before, after;
  bool json = false;
  bool exit_code = false;
};
int Diff(const DiffOptions& options);

struct PushOptions {
  std::string url, key, file;
};
int Push(const PushOptions& options);

int Version(bool json);

/// A completion script for `shell` ("bash" or "zsh"), made from the commands and options that `app` knows.
int Completion(const CLI::App& app, const std::string& shell);

}  // namespace ratel::tool
