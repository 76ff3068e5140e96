// An access log against a rule file: what would have been denied.
#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <utility>

#include "command.hpp"
#include "load.hpp"
#include "time.hpp"

namespace ratel::tool {
namespace {

/// A line of a log in common or combined format; its views point into the log's text.
struct Line {
  uint64_t now_ns = 0;
  std::string_view ip, user, method, path;
};

/// Cuts off and returns what stands before `end`; nothing when there is no `end`.
std::optional<std::string_view> TakeUntil(std::string_view& rest, std::string_view end) {
  const size_t at = rest.find(end);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view taken = rest.substr(0, at);
  rest.remove_prefix(at + end.size());
  return taken;
}

/// host ident user [time] "METHOD path HTTP/1.1" status bytes ...
std::optional<Line> ParseLine(std::string_view rest) {
  Line line;
  const auto host = TakeUntil(rest, " ");
  const auto ident = TakeUntil(rest, " ");
  const auto user = TakeUntil(rest, " [");
  const auto time = TakeUntil(rest, "] \"");
  const auto method = TakeUntil(rest, " ");
  const size_t path_end = rest.find_first_of(" \"");
  if (!host || !ident || !user || !time || !method || path_end == std::string_view::npos) return std::nullopt;
  const auto instant = ParseLogTime(*time);
  if (!instant || method->empty() || method->find('"') != std::string_view::npos || path_end == 0) return std::nullopt;
  line.now_ns = *instant;
  line.ip = *host;
  line.user = *user == "-" ? std::string_view() : *user;
  line.method = *method;
  line.path = rest.substr(0, path_end);
  return line;
}

struct LogFile {
  std::vector<Line> lines;
  uint64_t skipped = 0;
};

/// Servers write a line when the answer is done, so lines are out of order by as much as answers take.
LogFile Parse(std::string_view text) {
  LogFile log;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    if (const std::optional<Line> parsed = ParseLine(line)) {
      log.lines.push_back(*parsed);
    } else {
      ++log.skipped;
    }
  }
  std::stable_sort(log.lines.begin(), log.lines.end(),
                   [](const Line& a, const Line& b) { return a.now_ns < b.now_ns; });
  return log;
}

/// Who was denied by which rule, and how often.
using Denials = std::map<std::pair<std::string_view, uint32_t>, uint64_t>;
using Denial = std::pair<Denials::key_type, uint64_t>;

Denials Run(const Registry& registry, const std::vector<Line>& lines) {
  Denials denials;
  for (const Line& line : lines) {
    const Decision decision =
        registry.Allow(Request().Method(line.method).Path(line.path).User(line.user).Ip(line.ip).NowNs(line.now_ns));
    if (!decision.Allowed()) ++denials[{line.user.empty() ? line.ip : line.user, decision.Rule()}];
  }
  return denials;
}

std::vector<Denial> Most(const Denials& denials, size_t count) {
  std::vector<Denial> most(denials.begin(), denials.end());
  std::stable_sort(most.begin(), most.end(), [](const Denial& a, const Denial& b) { return a.second > b.second; });
  if (most.size() > count) most.erase(most.begin() + static_cast<ptrdiff_t>(count), most.end());
  return most;
}

std::string Percent(uint64_t part, uint64_t whole) {
  if (whole == 0) return "";
  char text[16];
  std::snprintf(text, sizeof text, "%.1f %%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

void AddRow(Table& table, std::string name, uint64_t allowed, uint64_t denied, uint64_t shadow) {
  table.Add({std::move(name), Grouped(allowed + denied), Grouped(allowed), Grouped(denied),
             Percent(denied, allowed + denied), shadow == 0 ? "" : Grouped(shadow)});
}

void ReportText(const Registry& registry, const LogFile& log, const Denials& denials, uint32_t top) {
  std::string head = Grouped(log.lines.size()) + " requests";
  if (!log.lines.empty()) {
    head +=
        " from " + FormatInstant(log.lines.front().now_ns) + " to " + FormatInstant(log.lines.back().now_ns) + " UTC";
  }
  Print(head + ", " + Grouped(log.skipped) + " lines skipped\n\n");
  if (log.lines.empty() && log.skipped > 0) PrintError("no line of the log is in common or combined format");

  Table rules({"RULE", "REQUESTS", "ALLOWED", "DENIED", "SHARE", "SHADOW"});
  rules.AlignRight(1);
  for (const uint32_t id : registry.Rules()) {
    const rl_rule_metrics rule = registry.RuleMetrics(id);
    AddRow(rules, std::string(registry.RuleName(id)), rule.allowed, rule.denied, rule.shadow_denied);
  }
  const rl_metrics all = registry.Metrics();
  if (all.no_rule > 0) AddRow(rules, "(no rule)", all.no_rule, 0, 0);
  AddRow(rules, "in all", all.allowed, all.denied, all.shadow_denied);
  Print(rules.ToText());

  if (denials.empty() || top == 0) return;
  Table most({"MOST DENIED", "RULE", "DENIED"});
  most.AlignRight(2);
  for (const auto& [who, count] : Most(denials, top)) {
    most.Add({std::string(who.first), std::string(registry.RuleName(who.second)), Grouped(count)});
  }
  Print("\n" + most.ToText());
}

void ReportJson(const Registry& registry, const LogFile& log, const Denials& denials, uint32_t top) {
  const rl_metrics all = registry.Metrics();
  Json rules = Json::array();
  for (const uint32_t id : registry.Rules()) {
    const rl_rule_metrics rule = registry.RuleMetrics(id);
    rules.push_back({{"rule", registry.RuleName(id)},
                     {"allowed", rule.allowed},
                     {"denied", rule.denied},
                     {"never_fits", rule.never_fits},
                     {"shadow_denied", rule.shadow_denied}});
  }
  Json most = Json::array();
  for (const auto& [who, count] : Most(denials, top)) {
    most.push_back({{"client", who.first}, {"rule", registry.RuleName(who.second)}, {"denied", count}});
  }
  PrintJson({{"requests", all.requests},
             {"skipped_lines", log.skipped},
             {"allowed", all.allowed},
             {"denied", all.denied},
             {"shadow_denied", all.shadow_denied},
             {"no_rule", all.no_rule},
             {"rules", rules},
             {"most_denied", most}});
}

}  // namespace

int Replay(const ReplayOptions& options) {
  const Registry registry(LoadOrExit(options.file));
  const std::string text = ReadFile(options.log);
  const LogFile log = Parse(text);
  const Denials denials = Run(registry, log.lines);
  if (options.json) {
    ReportJson(registry, log, denials, options.top);
  } else {
    ReportText(registry, log, denials, options.top);
  }
  return kOk;
}

}  // namespace ratel::tool
