// Why the answer is what it is, for people and (as JSON) for tools.
#include <string>
#include <vector>

#include "algorithm/describe.hpp"
#include "config/reader.hpp"
#include "core/json.hpp"
#include "limiter/registry_impl.hpp"
#include "rules/path.hpp"

namespace ratel {
namespace {

const char* ToText(Reason reason) noexcept {
  switch (reason) {
    case Reason::kNone:
      return "allowed";
    case Reason::kLimited:
      return "limited";
    case Reason::kNeverFits:
      return "never_fits";
    case Reason::kBlocked:
      return "blocked";
    case Reason::kStore:
      return "store";
  }
  return "";
}

const char* ToText(Source source) noexcept {
  switch (source) {
    case Source::kExact:
      return "exact";
    case Source::kLeased:
      return "leased";
    case Source::kCachedDenial:
      return "cached_denial";
    case Source::kLocalFallback:
      return "local_fallback";
    case Source::kFailOpen:
      return "fail_open";
    case Source::kFailClosed:
      return "fail_closed";
    case Source::kNoRule:
      return "no_rule";
    case Source::kAction:
      return "action";
  }
  return "";
}

const char* ToText(Matcher::PassedOver::Why why) noexcept {
  switch (why) {
    case Matcher::PassedOver::Why::kMethod:
      return "other method";
    case Matcher::PassedOver::Why::kCondition:
      return "a `when` condition does not hold";
    case Matcher::PassedOver::Why::kLessSpecific:
      return "less specific";
  }
  return "";
}

/// Everything there is to say, gathered once and printed in one of two forms.
struct Explanation {
  const Snapshot& snapshot;
  const Request& request;
  std::string path;
  MatchedRules rules;
  std::vector<Matcher::PassedOver> passed_over;
  std::span<const Charge> charges;
  std::span<const LimitUse> uses;
  std::vector<std::string> keys;
  Micros now;
  Decision decision;
};

std::string Wait(uint64_t ns) { return ns == kNever ? "never" : FormatDuration(ns / 1000); }

/// One sentence about a limit's answer.
std::string Because(const Charge& charge, Micros now) {
  const Outcome& outcome = charge.outcome;
  const Numbers& numbers = *charge.numbers;
  if (outcome.never_fits) {
    return "never: cost " + std::to_string(charge.cost) + " is above the capacity of " +
           std::to_string(numbers.capacity);
  }
  if (outcome.allowed) return "admits " + std::to_string(charge.cost) + (charge.cost == 1 ? " unit" : " units");
  const uint64_t at = outcome.retry_at * numbers.tick;
  std::string text = "denies: room for " + std::to_string(outcome.remaining) + ", " + std::to_string(charge.cost) +
                     " asked for; in " + FormatDuration(at - now) + " ";
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
      return text + "enough has been refilled";
    case Algorithm::kLeakyBucket:
      return text + "enough has drained";
    case Algorithm::kFixedWindow:
      return text + "the window ends";
    case Algorithm::kSlidingLog:
      return text + "enough of the oldest requests are out of the window";
    case Algorithm::kSlidingCounter:
      return text + "the earlier windows weigh little enough";
  }
  return text;
}

/// "eu, 5 of 10 parts of every limit"
std::string RegionOf(const RuleSet& set) {
  uint64_t weight = 0;
  uint64_t sum = 0;
  for (const Region& region : set.regions) {
    sum += region.weight;
    if (region.name == set.region) weight = region.weight;
  }
  return set.region + ", " + std::to_string(weight) + " of " + std::to_string(sum) + " parts of every limit";
}

std::string ToText(const Explanation& e) {
  std::string out;
  const auto line = [&out](std::string_view label, std::string_view text) {
    out += label;
    out.append(label.size() < 12 ? 12 - label.size() : 1, ' ');
    out += text;
    out += '\n';
  };
  if (e.request.rule == 0) {
    line("request", std::string(e.request.method) + " " + std::string(e.request.path));
    line("path", e.path);
  }
  if (!e.snapshot.set().region.empty()) line("region", RegionOf(e.snapshot.set()));
  if (e.rules.count == 0) line("rule", "none covers it");
  for (const uint32_t index : e.rules.span()) {
    const Rule& rule = *e.snapshot.rules()[index].source;
    std::string text = rule.name;
    if (rule.is_default) text += " (the default)";
    if (rule.action == Action::kBlock) text += ", action block";
    if (rule.action == Action::kUnlimited) text += ", action unlimited";
    if (rule.shadow) text += ", shadow";
    if (rule.local_tier != LocalTier::kNone) text += std::string(", local tier ") + ToText(rule.local_tier);
    if (rule.is_global && !e.snapshot.set().region.empty()) text += ", region global";
    if (rule.position.line != 0) text += "   " + rule.file + ":" + std::to_string(rule.position.line);
    line("rule", text);
  }
  for (const auto& passed : e.passed_over)
    line("passed over", e.snapshot.rules()[passed.rule].source->name + ": " + ToText(passed.why));
  for (size_t i = 0; i < e.charges.size(); ++i) {
    const Charge& charge = e.charges[i];
    const CompiledLimit& limit = *e.uses[i].limit;
    line("limit", limit.source->name + ": " + Describe(*charge.numbers) + (charge.shadow ? ", shadow" : "") +
                      (e.uses[i].numbers != &limit.base ? ", an override" : ""));
    line("  key", e.keys[i]);
    line("  before", Describe(*charge.numbers, charge.before, e.now));
    line("  answer", Because(charge, e.now));
    line("  after", Describe(*charge.numbers, e.decision.allowed ? charge.after : charge.before, e.now));
  }
  std::string answer = e.decision.allowed ? "allowed" : "denied";
  answer += std::string(" (") + (e.decision.allowed ? ToText(e.decision.source) : ToText(e.decision.reason)) + ")";
  if (!e.decision.allowed) answer += ", retry after " + Wait(e.decision.retry_after_ns);
  if (e.decision.delay_ns != 0) answer += ", to be held back for " + Wait(e.decision.delay_ns);
  if (e.decision.shadow_denied) answer += ", a shadow limit would have denied it";
  line("decision", answer);
  return out;
}

std::string ToJson(const Explanation& e) {
  JsonWriter json;
  json.Begin('{');
  json.Name("generation").Number(e.snapshot.generation());
  json.Name("method").Text(e.request.method).Name("path").Text(e.path);
  if (!e.snapshot.set().region.empty()) json.Name("region").Text(e.snapshot.set().region);
  json.Name("rules").Begin('[');
  for (const uint32_t index : e.rules.span()) {
    const Rule& rule = *e.snapshot.rules()[index].source;
    json.Begin('{').Name("name").Text(rule.name).Name("file").Text(rule.file).Name("line").Number(rule.position.line);
    json.Name("default").Bool(rule.is_default).Name("shadow").Bool(rule.shadow);
    json.Name("local_tier").Text(ToText(rule.local_tier)).End('}');
  }
  json.End(']').Name("passed_over").Begin('[');
  for (const auto& passed : e.passed_over) {
    json.Begin('{')
        .Name("name")
        .Text(e.snapshot.rules()[passed.rule].source->name)
        .Name("why")
        .Text(ToText(passed.why))
        .End('}');
  }
  json.End(']').Name("limits").Begin('[');
  for (size_t i = 0; i < e.charges.size(); ++i) {
    const Charge& charge = e.charges[i];
    const CompiledLimit& limit = *e.uses[i].limit;
    json.Begin('{').Name("rule").Text(e.uses[i].rule->source->name).Name("name").Text(limit.source->name);
    json.Name("algorithm")
        .Text(ratel::ToText(charge.numbers->spec.algorithm))
        .Name("limit")
        .Number(charge.numbers->spec.limit);
    json.Name("window_us").Number(charge.numbers->spec.window).Name("capacity").Number(charge.numbers->capacity);
    json.Name("tick_us").Number(charge.numbers->tick).Name("shadow").Bool(charge.shadow);
    json.Name("override")
        .Bool(e.uses[i].numbers != &limit.base)
        .Name("key")
        .Text(e.keys[i])
        .Name("cost")
        .Number(charge.cost);
    json.Name("before").Text(Describe(*charge.numbers, charge.before, e.now));
    json.Name("after").Text(Describe(*charge.numbers, e.decision.allowed ? charge.after : charge.before, e.now));
    json.Name("allowed").Bool(charge.outcome.allowed).Name("remaining").Number(charge.outcome.remaining);
    json.Name("because").Text(Because(charge, e.now)).End('}');
  }
  json.End(']').Name("decision").Begin('{');
  json.Name("allowed")
      .Bool(e.decision.allowed)
      .Name("reason")
      .Text(ToText(e.decision.reason))
      .Name("source")
      .Text(ToText(e.decision.source));
  json.Name("remaining").Number(e.decision.remaining).Name("retry_after_ns");
  if (e.decision.retry_after_ns == kNever) {
    json.Null();
  } else {
    json.Number(e.decision.retry_after_ns);
  }
  json.Name("reset_after_ns").Number(e.decision.reset_after_ns).Name("delay_ns").Number(e.decision.delay_ns);
  json.Name("shadow_denied").Bool(e.decision.shadow_denied).End('}').End('}');
  return json.Take() + "\n";
}

}  // namespace

Status Registry::Explain(const Request& request, bool json, std::string& out) {
  if (CheckRequest(request) != Status::kOk) return Status::kInvalidArgument;
  const uint64_t now_ns = impl_->NowNs(request.now_ns);
  if (!IsValidInstant(now_ns)) return Status::kInvalidArgument;
  const auto snapshot = impl_->current.Keep();
  Explanation e{*snapshot, request, request.rule == 0 ? NormalizePath(request.path) : std::string(),
                {},        {},      {},
                {},        {},      FloorToMicros(now_ns),
                {}};
  if (const Status status = FindRules(*snapshot, request, e.rules); status != Status::kOk) return status;
  if (request.rule == 0)
    e.passed_over = snapshot->matcher().Explain({request.method, e.path, request.identity.attributes});
  e.decision = Blank(*snapshot, now_ns, e.rules, request);
  ChargeBuffer buffer;
  if (!impl_->DecideWithoutLimits(*snapshot, e.rules, Mode::kPeek, e.decision)) {
    Tally tally;
    if (const Status status = BuildCharges(*snapshot, impl_->hasher, request, e.rules, buffer, tally);
        status != Status::kOk)
      return status;
    Operation operation{buffer.charges.From(0), e.now, Mode::kPeek};
    std::string names;
    if (const Status status = impl_->ApplyNamed(*snapshot, request, buffer, 0, operation, names); status != Status::kOk)
      return status;
    e.now = operation.now;
    Conclude(operation.charges, buffer.uses.From(0), e.now, e.decision);
    e.charges = operation.charges;
    e.uses = buffer.uses.From(0);
    const KeyBuilder builder(impl_->hasher, request.identity, snapshot->set().ipv6_prefix);
    for (const LimitUse& use : e.uses) e.keys.push_back(builder.Readable(use.limit->source->scope));
  }
  out = json ? ToJson(e) : ToText(e);
  return Status::kOk;
}

}  // namespace ratel
