// Completion scripts, written from the commands themselves so that they know every option there is.
#include <CLI/CLI.hpp>

#include "command.hpp"
#include "io.hpp"

namespace ratel::tool {
namespace {

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

/// Long options of a command, "--json" ...
std::vector<const CLI::Option*> LongOptions(const CLI::App& command) {
  return command.get_options([](const CLI::Option* option) { return !option->get_lnames().empty(); });
}

std::string Name(const CLI::Option& option) { return "--" + option.get_lnames().front(); }

/// Inside '...' of a shell, and past _arguments' own colons and brackets.
std::string Quoted(const std::string& text) {
  std::string quoted;
  for (const char c : text) {
    if (c == '\'') {
      quoted += "'\\''";
    } else if (c == ':' || c == '[' || c == ']') {
      quoted += std::string("\\") + c;
    } else {
      quoted += c;
    }
  }
  return quoted;
}

bool TakesShells(const CLI::App& command) { return command.get_name() == "completion"; }

std::string Bash(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : Commands(app)) {
    names += (names.empty() ? "" : " ") + command->get_name();
    std::string options;
    for (const CLI::Option* option : LongOptions(*command)) options += (options.empty() ? "" : " ") + Name(*option);
    cases += "    " + command->get_name() + ") options=\"" + options + "\" ;;\n";
  }
  return "# bash completion for ratel: source <(ratel completion bash)\n"
         "_ratel() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} options=\"\"\n"
         "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"" +
         names +
         " --help --version\" -- \"$current\")\n"
         "    return\n"
         "  fi\n"
         "  case ${COMP_WORDS[1]} in\n" +
         cases +
         "  esac\n"
         "  if [ \"${COMP_WORDS[1]}\" = completion ]; then options=\"bash zsh $options\"; fi\n"
         "  if [[ $current == -* || ${COMP_WORDS[1]} == completion ]]; then\n"
         "    mapfile -t COMPREPLY < <(compgen -W \"$options\" -- \"$current\")\n"
         "  else\n"
         "    mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
         "  fi\n"
         "}\n"
         "complete -o filenames -F _ratel ratel\n";
}

std::string Zsh(const CLI::App& app) {
  std::string names;
  std::string cases;
  for (const CLI::App* command : Commands(app)) {
    names += "    '" + command->get_name() + ":" + Quoted(command->get_description()) + "'\n";
    cases += "    " + command->get_name() + ")\n      _arguments \\\n";
    for (const CLI::Option* option : LongOptions(*command)) {
      const std::string value = option->get_expected_min() > 0 ? ":value:" : "";
      cases += "        '*" + Name(*option) + "[" + Quoted(option->get_description()) + "]" + value + "' \\\n";
    }
    cases += TakesShells(*command) ? "        '*:shell:(bash zsh)'\n" : "        '*:file:_files'\n";
    cases += "      ;;\n";
  }
  return "#compdef ratel\n"
         "# zsh completion for ratel: source <(ratel completion zsh), or as a file _ratel in $fpath\n"
         "_ratel() {\n"
         "  local -a commands\n"
         "  commands=(\n" +
         names +
         "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=${words[2]}\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" +
         cases +
         "  esac\n"
         "}\n"
         "if [ \"${funcstack[1]}\" = _ratel ]; then _ratel \"$@\"; else compdef _ratel ratel; fi\n";
}

}  // namespace

int Completion(const CLI::App& app, const std::string& shell) {
  Print(shell == "bash" ? Bash(app) : Zsh(app));
  return kOk;
}

}  // namespace ratel::tool
