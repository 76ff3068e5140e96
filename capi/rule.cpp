#include "rule.hpp"

#include <string>
#include <string_view>

#include "bytes.hpp"
#include "config/reader.hpp"
#include "structs.hpp"

namespace ratel::capi {
namespace {

constexpr uint64_t kMaxElements = 1024;  // conditions, or limits, of one rule

static_assert(static_cast<int>(Algorithm::kTokenBucket) == RL_TOKEN_BUCKET);
static_assert(static_cast<int>(Algorithm::kLeakyBucket) == RL_LEAKY_BUCKET);
static_assert(static_cast<int>(Algorithm::kFixedWindow) == RL_FIXED_WINDOW);
static_assert(static_cast<int>(Algorithm::kSlidingLog) == RL_SLIDING_LOG);
static_assert(static_cast<int>(Algorithm::kSlidingCounter) == RL_SLIDING_COUNTER);
static_assert(static_cast<int>(PathMatch::kExact) == RL_MATCH_EXACT);
static_assert(static_cast<int>(PathMatch::kLiteral) == RL_MATCH_LITERAL);
static_assert(static_cast<int>(OnStoreError::kOpen) == RL_ON_ERROR_OPEN);
static_assert(static_cast<int>(OnStoreError::kClosed) == RL_ON_ERROR_CLOSED);
static_assert(static_cast<int>(LocalTier::kDenials) == RL_LOCAL_TIER_DENIALS);
static_assert(static_cast<int>(LocalTier::kLeases) == RL_LOCAL_TIER_LEASES);
static_assert(static_cast<int>(Action::kBlock) == RL_ACTION_BLOCK);
static_assert(static_cast<int>(Action::kUnlimited) == RL_ACTION_UNLIMITED);

rl_status CheckRange(uint32_t value, uint32_t first, uint32_t last, const char* field, const ErrorOut& error) {
  if (value >= first && value <= last) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "%s is %u, outside %u to %u", field, value, first, last);
}

rl_status CheckArray(const void* data, uint64_t count, const char* field, const ErrorOut& error) {
  if (data == nullptr && count != 0)
    return error.Fail(RL_E_INVALID_ARGUMENT, "%s is NULL but its count is not 0", field);
  if (count <= kMaxElements) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "%s: %llu elements, more than %llu", field,
                    static_cast<unsigned long long>(count), static_cast<unsigned long long>(kMaxElements));
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::vector<std::string> SplitMethods(std::string_view text) {
  std::vector<std::string> methods;
  if (text.empty()) return methods;
  for (;;) {
    const size_t comma = text.find(',');
    methods.emplace_back(Trim(text.substr(0, comma)));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  return methods;
}

void AddFault(std::string message, std::string path, std::vector<Error>& faults) {
  faults.push_back(Error{Status::kConfig, std::move(message), "<rule>", std::move(path), {}});
}

void ReadScope(std::string_view text, size_t index, Limit& out, std::vector<Error>& faults) {
  Result<Scope> scope = ParseScope(text);
  if (scope.ok()) {
    out.scope = std::move(*scope);
  } else {
    AddFault(scope.error().message, "limits[" + std::to_string(index) + "].scope", faults);
  }
}

/// Microseconds; a fault under `where` when it is not whole ones.
Micros WindowOf(uint64_t window_ns, const std::string& where, std::vector<Error>& faults) {
  if (window_ns % 1000 != 0) {
    AddFault("window_ns is " + std::to_string(window_ns) + ": a window is a whole number of microseconds",
             where + ".window", faults);
  }
  return window_ns / 1000;
}

rl_status ReadOverrides(const rl_limit& in, size_t index, Limit& out, std::vector<Error>& faults,
                        const ErrorOut& error) {
  if (const rl_status status = CheckArray(in.overrides, in.override_count, "limit.overrides", error)) return status;
  for (size_t i = 0; i < in.override_count; ++i) {
    const rl_override& from = in.overrides[i];
    if (const rl_status status = CheckBytes(from.value, "limit.overrides value", error)) return status;
    Override to{std::string(View(from.value)), out.spec, {}};
    if (from.limit != 0) to.spec.limit = from.limit;
    if (from.burst != 0) to.spec.burst = from.burst;
    if (from.window_ns != 0) {
      to.spec.window = WindowOf(from.window_ns,
                                "limits[" + std::to_string(index) + "].overrides[" + std::to_string(i) + "]", faults);
    }
    out.overrides.push_back(std::move(to));
  }
  return RL_OK;
}

rl_status ReadLimit(const rl_limit* at, size_t index, Limit& out, std::vector<Error>& faults, const ErrorOut& error) {
  Input<rl_limit> in;
  rl_status status = in.Take(at, "rule.limits", error);
  if (status == RL_OK)
    status = CheckRange(in->algorithm, RL_TOKEN_BUCKET, RL_SLIDING_COUNTER, "limit.algorithm", error);
  if (status == RL_OK) status = CheckRange(in->shadow, 0, 1, "limit.shadow", error);
  if (status == RL_OK) status = CheckRange(in->reserved, 0, 0, "limit.reserved", error);
  if (status == RL_OK) status = CheckBytes(in->name, "limit.name", error);
  if (status == RL_OK) status = CheckBytes(in->scope, "limit.scope", error);
  if (status != RL_OK) return status;
  out.name = View(in->name);
  out.spec.algorithm = static_cast<Algorithm>(in->algorithm);
  out.spec.limit = in->limit;
  out.spec.burst = in->burst;
  out.shadow = in->shadow == 1;
  ReadScope(View(in->scope), index, out, faults);
  out.spec.window = WindowOf(in->window_ns, "limits[" + std::to_string(index) + "]", faults);
  return ReadOverrides(*in, index, out, faults, error);
}

rl_status ReadLimits(const rl_rule& in, Rule& out, std::vector<Error>& faults, const ErrorOut& error) {
  if (const rl_status status = CheckArray(in.limits, in.limit_count, "rule.limits", error)) return status;
  if (in.limit_count == 0) return RL_OK;
  const uint32_t stride = SizeOf(in.limits);
  for (size_t i = 0; i < in.limit_count; ++i) {
    const auto* at = reinterpret_cast<const rl_limit*>(reinterpret_cast<const char*>(in.limits) + i * stride);
    if (SizeOf(at) != stride) return error.Fail(RL_E_ABI, "rule.limits: elements with different struct_size");
    Limit limit;
    if (const rl_status status = ReadLimit(at, i, limit, faults, error)) return status;
    out.limits.push_back(std::move(limit));
  }
  return RL_OK;
}

rl_status ReadConditions(const rl_rule& in, Rule& out, const ErrorOut& error) {
  if (const rl_status status = CheckArray(in.when, in.when_count, "rule.when", error)) return status;
  for (size_t i = 0; i < in.when_count; ++i) {
    rl_status status = CheckBytes(in.when[i].name, "rule.when name", error);
    if (status == RL_OK) status = CheckBytes(in.when[i].value, "rule.when value", error);
    if (status != RL_OK) return status;
    out.when.push_back({std::string(View(in.when[i].name)), std::string(View(in.when[i].value))});
  }
  return RL_OK;
}

rl_status CheckFields(const rl_rule& in, const ErrorOut& error) {
  rl_status status = CheckRange(in.path_match, RL_MATCH_PREFIX, RL_MATCH_EXACT, "rule.path_match", error);
  if (status == RL_OK)
    status = CheckRange(in.on_store_error, RL_ON_ERROR_LOCAL, RL_ON_ERROR_CLOSED, "rule.on_store_error", error);
  if (status == RL_OK) status = CheckRange(in.action, RL_ACTION_LIMIT, RL_ACTION_UNLIMITED, "rule.action", error);
  if (status == RL_OK) status = CheckRange(in.shadow, 0, 1, "rule.shadow", error);
  if (status == RL_OK) status = CheckRange(in.is_default, 0, 1, "rule.is_default", error);
  if (status == RL_OK)
    status = CheckRange(in.local_tier, RL_LOCAL_TIER_NONE, RL_LOCAL_TIER_LEASES, "rule.local_tier", error);
  if (status == RL_OK) status = CheckRange(in.region_global, 0, 1, "rule.region_global", error);
  if (status == RL_OK) status = CheckBytes(in.name, "rule.name", error);
  if (status == RL_OK) status = CheckBytes(in.method, "rule.method", error);
  if (status == RL_OK) status = CheckBytes(in.path, "rule.path", error);
  return status;
}

}  // namespace

rl_status ReadRule(const rl_rule* at, Rule& out, std::vector<Error>& faults, const ErrorOut& error) {
  Input<rl_rule> in;
  if (const rl_status status = in.Take(at, "rule", error)) return status;
  if (const rl_status status = CheckFields(*in, error)) return status;
  out.name = View(in->name);
  out.methods = SplitMethods(View(in->method));
  out.path = View(in->path);
  out.path_match = static_cast<PathMatch>(in->path_match);
  out.on_store_error = static_cast<OnStoreError>(in->on_store_error);
  out.action = static_cast<Action>(in->action);
  out.shadow = in->shadow == 1;
  out.is_default = in->is_default == 1;
  out.cost = in->cost == 0 ? 1 : in->cost;
  out.local_tier = static_cast<LocalTier>(in->local_tier);
  out.is_global = in->region_global == 1;
  out.file = "<rule>";
  if (const rl_status status = ReadConditions(*in, out, error)) return status;
  return ReadLimits(*in, out, faults, error);
}

}  // namespace ratel::capi
