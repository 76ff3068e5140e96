#include "command.hpp"
#include "load.hpp"

namespace ratel::tool {
namespace {

struct Verdict {
  std::string file;
  size_t rules = 0;
  std::vector<Fault> faults;
};

/// A rule set can be read and still not be put in force, so both are tried.
Verdict CheckOne(const std::string& path) {
  Verdict verdict{path == "-" ? "<stdin>" : path, 0, {}};
  Config config;
  verdict.faults = Load(config, path);
  if (!verdict.faults.empty()) return verdict;
  try {
    verdict.rules = Registry(config).Rules().size();
  } catch (const Error& error) {
    verdict.faults.push_back(
        {verdict.file, error.Line(), error.Column(), std::string(error.Path()), std::string(error.Message())});
  }
  return verdict;
}

std::string Counted(size_t count, const char* noun) { return Grouped(count) + " " + noun + (count == 1 ? "" : "s"); }

void ReportText(const std::vector<Verdict>& verdicts) {
  for (const Verdict& verdict : verdicts) {
    PrintFaults(verdict.faults, Stream::kOut);
    const std::string outcome = verdict.faults.empty() ? Counted(verdict.rules, "rule") + ", no faults"
                                                       : Counted(verdict.faults.size(), "fault");
    Print(Visible(verdict.file) + ": " + outcome + "\n");
  }
}

void ReportJson(const std::vector<Verdict>& verdicts, bool ok) {
  Json files = Json::array();
  for (const Verdict& verdict : verdicts) {
    files.push_back({{"file", verdict.file}, {"rules", verdict.rules}, {"faults", ToJson(verdict.faults)}});
  }
  PrintJson(Json{{"ok", ok}, {"files", files}});
}

}  // namespace

int Check(const CheckOptions& options) {
  std::vector<Verdict> verdicts;
  bool ok = true;
  for (const std::string& file : options.files) {
    verdicts.push_back(CheckOne(file));
    ok = ok && verdicts.back().faults.empty();
  }
  if (options.json) {
    ReportJson(verdicts, ok);
  } else {
    ReportText(verdicts);
  }
  return ok ? kOk : kFaults;
}

}  // namespace ratel::tool
