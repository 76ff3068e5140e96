#include "command.hpp"
#include "load.hpp"
#include "put.hpp"

namespace ratel::tool {

int Push(const PushOptions& options) {
  // Read once: what is checked is what is put there.
  const std::string text = ReadFile(options.file);
  const std::string name = options.file == "-" ? "<stdin>" : options.file;
  const Registry registry(LoadTextOrExit(text, name));
  std::string shown;
  const std::string fault = Put(options.url, options.key, text, shown);
  if (!fault.empty()) {
    PrintError(Visible(fault));
    return kUsage;
  }
  const size_t count = registry.Rules().size();
  Print(Visible(shown) + ": " + Grouped(count) + (count == 1 ? " rule\n" : " rules\n"));
  return kOk;
}

}  // namespace ratel::tool
