// The `ratel` command: options and help; the work is in one file per command.
#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <ratel/rl.hpp>
#include <sstream>

#include "command.hpp"
#include "io.hpp"

namespace ratel::tool {
namespace {

/// Every command's options, and what to run for the one that was asked.
struct Commands {
  CheckOptions check;
  ExplainOptions explain;
  RulesOptions rules;
  ReplayOptions replay;
  DiffOptions diff;
  PushOptions push;
  std::string shell;
  bool version_json = false;
  std::function<int()> run;
};

constexpr const char* kFileHelp = "rule file, folder of rule files, or - for standard input";

void AddCheck(CLI::App& app, Commands& c) {
  CLI::App* command = app.add_subcommand("check", "Say what is wrong with rule files, all of it at once");
  command->add_option("file", c.check.files, kFileHelp)->required()->type_name("FILE");
  command->add_flag("--json", c.check.json, "Report as JSON");
  command->footer(
      "Exit status: 0 no faults, 1 faults, 2 not to be read or wrong usage.\n"
      "A folder is checked as one rule set, several files each on its own.");
  command->callback([&c] { c.run = [&c] { return Check(c.check); }; });
}

/// Empty when the text is a cost. The parser itself takes what is too large for the largest there is.
std::string CostFault(const std::string& text) {
  int64_t units = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), units);
  if (error == std::errc() && end == text.data() + text.size() && units >= 1) return "";
  return text + " is not a whole number from 1 to " + std::to_string(std::numeric_limits<int64_t>::max());
}

void AddExplain(CLI::App& app, Commands& c) {
  ExplainOptions& o = c.explain;
  CLI::App* command = app.add_subcommand("explain", "Say how one request is decided, and why");
  command->add_option("file", o.file, kFileHelp)->required()->type_name("FILE");
  command->add_option("method", o.method, "method, such as GET")->type_name("METHOD");
  command->add_option("path", o.path, "path, as it would come in")->type_name("PATH");
  command->add_option("--user", o.user, "Authenticated user")->type_name("NAME");
  command->add_option("--ip", o.ip, "Client's address")->type_name("ADDRESS");
  command->add_option("--api-key", o.api_key, "API key")->type_name("KEY");
  command->add_option("--attr", o.attributes, "Attribute, may be repeated")
      ->type_name("NAME=VALUE")
      ->take_all()
      ->expected(1);
  CLI::Option* cost =
      command->add_option("--cost", o.cost, "Units to spend (default: the rule's)")->check(CostFault)->type_name("N");
  command->add_option("--now", o.now, "Instant, 2026-07-01T12:00:00Z or epoch seconds (default: now)")
      ->type_name("TIME");
  command->add_option("--rule", o.rule, "Ask this rule, not the one that matches")->type_name("NAME");
  command->add_option("--key", o.key, "With --rule: stands for the value of every scope")->type_name("KEY");
  command->add_option("--after", o.after, "Let N such requests come before, at the same instant")->type_name("N");
  command->add_flag("--json", o.json, "Report as JSON");
  command->footer("Example: ratel explain rules.yaml POST /orders --user alice --ip 192.0.2.1 --after 5");
  command->callback([&c, cost] {
    c.explain.has_cost = cost->count() > 0;
    c.run = [&c] { return Explain(c.explain); };
  });
}

void AddPush(CLI::App& app, Commands& c) {
  CLI::App* command = app.add_subcommand("push", "Put a rule file under a key of a Redis, if it has no faults");
  command->add_option("url", c.push.url, "where, as docs/redis.md says")->required()->type_name("URL");
  command->add_option("key", c.push.key, "key that gateways watch")->required()->type_name("KEY");
  command->add_option("file", c.push.file, "rule file, or - for standard input")->required()->type_name("FILE");
  command->callback([&c] { c.run = [&c] { return Push(c.push); }; });
}

void AddRules(CLI::App& app, Commands& c) {
  CLI::App* command = app.add_subcommand("rules", "List the rules of a file in a table");
  command->add_option("file", c.rules.file, kFileHelp)->required()->type_name("FILE");
  command->add_flag("--json", c.rules.json, "Report as JSON");
  command->callback([&c] { c.run = [&c] { return Rules(c.rules); }; });
}

void AddReplay(CLI::App& app, Commands& c) {
  CLI::App* command =
      app.add_subcommand("replay", "Play an access log against a rule file: what would have been denied");
  command->add_option("file", c.replay.file, kFileHelp)->required()->type_name("FILE");
  command->add_option("log", c.replay.log, "access log in common or combined format, or - for standard input")
      ->required()
      ->type_name("LOG");
  command->add_option("--top", c.replay.top, "How many of the most denied clients to list")
      ->type_name("N")
      ->capture_default_str();
  command->add_flag("--json", c.replay.json, "Report as JSON");
  command->footer("Time is the log's. Such logs count in whole seconds, so limits below that are judged harshly.");
  command->callback([&c] { c.run = [&c] { return Replay(c.replay); }; });
}

void AddDiff(CLI::App& app, Commands& c) {
  CLI::App* command = app.add_subcommand("diff", "Say what a reload from OLD to NEW would change");
  command->add_option("old", c.diff.before, "rule file or folder in force")->required()->type_name("OLD");
  command->add_option("new", c.diff.after, "rule file or folder to come")->required()->type_name("NEW");
  command->add_flag("--json", c.diff.json, "Report as JSON");
  command->add_flag("--exit-code", c.diff.exit_code, "Exit with 1 when something changes");
  command->callback([&c] { c.run = [&c] { return Diff(c.diff); }; });
}

void AddOthers(CLI::App& app, Commands& c) {
  CLI::App* version = app.add_subcommand("version", "Say the versions of the command and of the ABI");
  version->add_flag("--json", c.version_json, "Report as JSON");
  version->callback([&c] { c.run = [&c] { return Version(c.version_json); }; });

  CLI::App* completion = app.add_subcommand("completion", "Write a completion script");
  completion->add_option("shell", c.shell, "bash or zsh")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh"}))
      ->type_name("SHELL");
  completion->footer(
      "In ~/.bashrc: source <(ratel completion bash)\nIn ~/.zshrc, after compinit: source <(ratel completion zsh)");
  completion->callback([&app, &c] { c.run = [&app, &c] { return Completion(app, c.shell); }; });
}

/// Runs a command; what goes wrong outside of rule files is said on standard error.
int Guarded(const std::function<int()>& run) {
  try {
    return run();
  } catch (const ExitCode code) {
    return code;
  } catch (const std::exception& error) {
    PrintError(error.what());
  }
  return kUsage;
}

int Parse(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    if (!app.get_subcommands().empty()) return kOk;
    std::fputs(app.help().c_str(), stderr);
    return kUsage;
  } catch (const CLI::ParseError& error) {
    std::ostringstream out, err;
    const int code = app.exit(error, out, err);
    Print(out.str());
    const std::string text = Visible(err.str(), true);
    std::fputs(text.c_str(), stderr);
    return code == 0 ? -1 : kUsage;
  }
}

int Main(int argc, char** argv) {
  // A reader that has seen enough (head, less) ends the program without a word.
  std::signal(SIGPIPE, SIG_DFL);
  CLI::App app("Ratel's rule files: check them, explain decisions, play logs against them.", "ratel");
  app.set_version_flag("--version", std::string("ratel ") + rl_version_string(), "Print the version and exit");
  app.footer("ratel COMMAND --help says more. docs/rules.md has the format of rule files.");
  Commands commands;
  AddCheck(app, commands);
  AddExplain(app, commands);
  AddRules(app, commands);
  AddReplay(app, commands);
  AddDiff(app, commands);
  AddPush(app, commands);
  AddOthers(app, commands);

  int code = Parse(app, argc, argv);
  if (code == kOk) code = Guarded(commands.run);
  if (code < 0) code = kOk;
  if (!Flush()) {
    PrintError("standard output could not be written");
    return kUsage;
  }
  return code;
}

}  // namespace

int Version(bool json) {
  const uint32_t abi = rl_abi_version();
  const uint64_t features = rl_features();
  std::vector<std::string> names;
  if ((features & RL_FEATURE_MEMORY) != 0) names.emplace_back("memory");
  if ((features & RL_FEATURE_HOST_STORAGE) != 0) names.emplace_back("host_storage");
  if ((features & RL_FEATURE_REDIS) != 0) names.emplace_back("redis");
  if ((features & RL_FEATURE_TLS) != 0) names.emplace_back("tls");
  const std::string abi_text = std::to_string(abi >> 16) + "." + std::to_string(abi & 0xFFFF);
  if (json) {
    PrintJson({{"version", rl_version_string()}, {"abi", abi_text}, {"features", names}});
    return kOk;
  }
  std::string text = std::string("ratel ") + rl_version_string() + "\nABI " + abi_text + "\nstorages and options:";
  for (const std::string& name : names) text += " " + name;
  Print(text + "\n");
  return kOk;
}

}  // namespace ratel::tool

int main(int argc, char** argv) {
  try {
    return ratel::tool::Main(argc, argv);
  } catch (...) {
    return ratel::tool::kUsage;  // not even memory for a message
  }
}
