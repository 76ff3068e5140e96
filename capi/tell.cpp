#include <string>
#include <string_view>
#include <vector>

#include "bytes.hpp"
#include "header_forms.hpp"
#include "registry.hpp"
#include "report/headers.hpp"
#include "report/metrics.hpp"
#include "request.hpp"
#include "structs.hpp"

using namespace ratel::capi;
using ratel::Decision;
using ratel::MetricsSnapshot;

namespace ratel::capi {
namespace {

rl_metrics ToC(const MetricsSnapshot& in) noexcept {
  rl_metrics out{};
  out.requests = in.requests;
  out.allowed = in.allowed;
  out.denied = in.denied;
  out.never_fits = in.never_fits;
  out.blocked = in.blocked;
  out.shadow_denied = in.shadow_denied;
  out.no_rule = in.no_rule;
  out.local_fallback = in.local_fallback;
  out.fail_open = in.fail_open;
  out.fail_closed = in.fail_closed;
  out.store_errors = in.store_errors;
  out.unknown_client = in.unknown_client;
  out.evicted_live = in.evicted_live;
  out.evicted_idle = in.evicted_idle;
  out.keys = in.keys;
  out.reloads = in.reloads;
  out.reload_failures = in.reload_failures;
  out.generation = in.generation;
  out.leased = in.leased;
  out.cached_denial = in.cached_denial;
  out.reported_back = in.reported_back;
  out.unreported = in.unreported;
  return out;
}

rl_rule_metrics ToC(uint32_t rule, const MetricsSnapshot::PerRule& in) noexcept {
  rl_rule_metrics out{};
  out.rule = rule;
  out.allowed = in.allowed;
  out.denied = in.denied;
  out.never_fits = in.never_fits;
  out.shadow_denied = in.shadow_denied;
  out.cost_allowed = in.cost_allowed;
  return out;
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_decision_headers(const rl_registry* registry, const rl_decision* decision, uint32_t flags, char* buffer,
                              uint64_t capacity, uint64_t* needed, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    if (status != RL_OK) return status;
    uint32_t forms = 0;
    if ((status = ReadHeaderForms(*registry->engine, flags, forms, error)) != RL_OK) return status;
    Decision answer;
    if ((status = ReadDecision(decision, answer, error)) != RL_OK) return status;
    const std::string_view limit = registry->engine->LimitName(answer.limit_id);
    *needed = ratel::DecisionHeaders(answer, limit, forms, {buffer, capacity});
    return *needed <= capacity ? RL_OK : TooSmall(capacity, *needed, error);
  });
}

rl_status rl_decision_problem(const rl_registry* registry, const rl_decision* decision, char* buffer, uint64_t capacity,
                              uint64_t* needed, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    Decision answer;
    if (status == RL_OK) status = ReadDecision(decision, answer, error);
    if (status != RL_OK) return status;
    if (answer.allowed) return error.Fail(RL_E_INVALID_ARGUMENT, "decision: it was allowed, so there is no problem");
    const std::string_view rule = registry->engine->RuleName(answer.rule);
    const std::string_view limit = registry->engine->LimitName(answer.limit_id);
    return WriteText(ratel::DecisionProblem(answer, rule, limit), buffer, capacity, needed, error);
  });
}

rl_status rl_metrics_get(rl_registry* registry, rl_metrics* out, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckOutput(out, "out", error);
    if (status != RL_OK) return status;
    Give(ToC(registry->engine->Metrics(false)), out);
    return RL_OK;
  });
}

rl_status rl_metrics_rule(rl_registry* registry, uint32_t rule, rl_rule_metrics* out, rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckHandle(registry, "registry", error);
    if (status == RL_OK) status = CheckOutput(out, "out", error);
    if (status != RL_OK) return status;
    MetricsSnapshot::PerRule counters;
    if (!registry->engine->RuleMetrics(rule, counters))
      return error.Fail(RL_E_NOT_FOUND, "no rule has had the id %u", rule);
    Give(ToC(rule, counters), out);
    return RL_OK;
  });
}

rl_status rl_metrics_prometheus(rl_registry* registry, char* buffer, uint64_t capacity, uint64_t* needed,
                                rl_error* err) {
  return Guard(err, [&](const ErrorOut& error) -> rl_status {
    rl_status status = CheckBuffer(buffer, capacity, needed, error);
    if (status == RL_OK) status = CheckHandle(registry, "registry", error);
    if (status != RL_OK) return status;
    return WriteText(ratel::ToPrometheus(registry->engine->Metrics(true)), buffer, capacity, needed, error);
  });
}
