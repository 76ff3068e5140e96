// The one command that looks past the C ABI: rl.h names rules but does not hand their numbers out.
#include "command.hpp"
#include "config/reader.hpp"
#include "io.hpp"

namespace ratel::tool {
namespace {

std::string Joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ",") + part;
  return text;
}

std::string Methods(const Rule& rule) { return rule.methods.empty() ? "*" : Joined(rule.methods); }

std::string PathText(const Rule& rule) {
  if (rule.is_default) return "(all others)";
  if (rule.path.empty()) return "*";
  switch (rule.path_match) {
    case PathMatch::kPrefix:
      return rule.path;
    case PathMatch::kLiteral:
      return rule.path + "*";
    case PathMatch::kExact:
      return "=" + rule.path;
  }
  return rule.path;
}

std::string WhenText(const Rule& rule) {
  std::vector<std::string> parts;
  for (const Condition& condition : rule.when) parts.push_back(condition.attribute + "=" + condition.value);
  return Joined(parts);
}

const char* ToWord(Action action) {
  switch (action) {
    case Action::kLimit:
      return "limit";
    case Action::kBlock:
      return "block";
    case Action::kUnlimited:
      return "unlimited";
  }
  return "";
}

const char* ToWord(OnStoreError policy) {
  switch (policy) {
    case OnStoreError::kLocal:
      return "local";
    case OnStoreError::kOpen:
      return "open";
    case OnStoreError::kClosed:
      return "closed";
  }
  return "";
}

const char* ToWord(PathMatch match) {
  switch (match) {
    case PathMatch::kPrefix:
      return "prefix";
    case PathMatch::kLiteral:
      return "literal";
    case PathMatch::kExact:
      return "exact";
  }
  return "";
}

std::string RateText(const LimitSpec& spec) { return Grouped(spec.limit) + " per " + FormatDuration(spec.window); }

uint64_t BurstOf(const LimitSpec& spec) { return spec.burst != 0 ? spec.burst : spec.limit; }

/// The limit's part of a row: scope, algorithm, rate, burst, note.
std::vector<std::string> LimitCells(const Rule& rule, const Limit& limit) {
  std::string note = rule.shadow || limit.shadow ? "shadow" : "limit";
  if (!limit.overrides.empty()) note += ", " + Grouped(limit.overrides.size()) + " overridden";
  return {ToText(limit.scope), ToText(limit.spec.algorithm), RateText(limit.spec),
          IsBucket(limit.spec.algorithm) ? Grouped(BurstOf(limit.spec)) : "", note};
}

void AddRow(Table& table, std::vector<std::string> row, const std::vector<std::string>& rest) {
  row.insert(row.end(), rest.begin(), rest.end());
  table.Add(std::move(row));
}

/// A rule with one limit takes one row; the limits of others stand below it.
void AddRule(Table& table, const Rule& rule) {
  const std::vector<std::string> head = {rule.name, Methods(rule), PathText(rule), WhenText(rule)};
  if (rule.limits.size() == 1) {
    AddRow(table, head, LimitCells(rule, rule.limits[0]));
    return;
  }
  AddRow(table, head, {"", "", "", "", rule.limits.empty() ? ToWord(rule.action) : "all or nothing"});
  for (const Limit& limit : rule.limits) AddRow(table, {"  " + limit.name, "", "", ""}, LimitCells(rule, limit));
}

Json ToJson(const LimitSpec& spec) {
  Json json = {{"limit", spec.limit}, {"window", FormatDuration(spec.window)}};
  if (IsBucket(spec.algorithm)) json["burst"] = BurstOf(spec);
  return json;
}

Json ToJson(const Limit& limit) {
  Json json = {{"name", limit.name}, {"scope", ToText(limit.scope)}, {"algorithm", ToText(limit.spec.algorithm)}};
  json.update(ToJson(limit.spec));
  json["shadow"] = limit.shadow;
  json["overrides"] = Json::object();
  for (const Override& other : limit.overrides) json["overrides"][other.value] = ToJson(other.spec);
  return json;
}

Json ToJson(const Rule& rule) {
  Json json = {{"name", rule.name},
               {"methods", rule.methods},
               {"path", rule.path},
               {"path_match", ToWord(rule.path_match)},
               {"when", Json::object()},
               {"default", rule.is_default},
               {"action", ToWord(rule.action)},
               {"on_store_error", ToWord(rule.on_store_error)},
               {"local_tier", ratel::ToText(rule.local_tier)},
               {"shadow", rule.shadow},
               {"cost", rule.cost},
               {"limits", Json::array()}};
  for (const Condition& condition : rule.when) json["when"][condition.attribute] = condition.value;
  for (const Limit& limit : rule.limits) json["limits"].push_back(ToJson(limit));
  return json;
}

std::vector<Fault> ToFaults(const std::vector<Error>& errors) {
  std::vector<Fault> faults;
  faults.reserve(errors.size());
  for (const Error& error : errors) {
    faults.push_back({error.file, error.position.line, error.position.column, error.path, error.message});
  }
  return faults;
}

}  // namespace

int Rules(const RulesOptions& options) {
  RuleSetBuilder builder;
  const bool read =
      options.file == "-" ? builder.AddText(ReadFile(options.file), "<stdin>") : builder.AddPath(options.file);
  if (!read) {
    PrintFaults(ToFaults(builder.faults()), Stream::kError);
    return builder.faults()[0].status == Status::kIo ? kUsage : kFaults;
  }
  const std::vector<Rule>& rules = builder.rules().rules;
  if (options.json) {
    Json list = Json::array();
    for (const Rule& rule : rules) list.push_back(ToJson(rule));
    PrintJson(Json{{"rules", list}});
    return kOk;
  }
  Table table({"RULE", "METHOD", "PATH", "WHEN", "SCOPE", "ALGORITHM", "LIMIT", "BURST", "ACTION"});
  for (const Rule& rule : rules) AddRule(table, rule);
  Print(table.ToText());
  return kOk;
}

}  // namespace ratel::tool
