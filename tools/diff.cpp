#include "command.hpp"
#include "load.hpp"

namespace ratel::tool {

int Diff(const DiffOptions& options) {
  const Config before = LoadOrExit(options.before);
  const Config after = LoadOrExit(options.after);
  const Registry registry(before);
  const std::string text = registry.Diff(after);
  if (options.json) {
    PrintJson(Json::parse(registry.Diff(after, RL_TEXT_JSON)));
  } else {
    Print(text.empty() ? "no change\n" : Visible(text, true));
  }
  return options.exit_code && !text.empty() ? kFaults : kOk;
}

}  // namespace ratel::tool
