#include "request.hpp"

#include <cstddef>
#include <cstring>

#include "bytes.hpp"
#include "structs.hpp"

namespace ratel::capi {
namespace {

static_assert(static_cast<int>(Source::kAction) == RL_SOURCE_ACTION &&
              static_cast<int>(Source::kExact) == RL_SOURCE_EXACT);
static_assert(static_cast<int>(Source::kLeased) == RL_SOURCE_LEASED);
static_assert(static_cast<int>(Source::kCachedDenial) == RL_SOURCE_CACHED_DENIAL);
static_assert(static_cast<int>(Source::kLocalFallback) == RL_SOURCE_LOCAL_FALLBACK);
static_assert(static_cast<int>(Source::kFailOpen) == RL_SOURCE_FAIL_OPEN);
static_assert(static_cast<int>(Source::kFailClosed) == RL_SOURCE_FAIL_CLOSED);
static_assert(static_cast<int>(Source::kNoRule) == RL_SOURCE_NO_RULE);
static_assert(static_cast<int>(Reason::kNone) == RL_REASON_NONE &&
              static_cast<int>(Reason::kLimited) == RL_REASON_LIMITED);
static_assert(static_cast<int>(Reason::kNeverFits) == RL_REASON_NEVER_FITS);
static_assert(static_cast<int>(Reason::kBlocked) == RL_REASON_BLOCKED &&
              static_cast<int>(Reason::kStore) == RL_REASON_STORE);
static_assert(kCostOfRule == RL_COST_OF_RULE && kNever == RL_NEVER);

// A Decision is an rl_decision in the engine's words; its two flags are the lowest bits of `flags` (DecisionFlags in tests/capi).
#define RATEL_SAME_PLACE(field)                                              \
  static_assert(offsetof(Decision, field) == offsetof(rl_decision, field) && \
                sizeof(Decision::field) == sizeof(rl_decision::field))
RATEL_SAME_PLACE(status);
RATEL_SAME_PLACE(allowed);
RATEL_SAME_PLACE(source);
RATEL_SAME_PLACE(reason);
RATEL_SAME_PLACE(rule);
RATEL_SAME_PLACE(limit_id);
RATEL_SAME_PLACE(limit_count);
RATEL_SAME_PLACE(generation);
RATEL_SAME_PLACE(now_ns);
RATEL_SAME_PLACE(cost);
RATEL_SAME_PLACE(limit);
RATEL_SAME_PLACE(window_ns);
RATEL_SAME_PLACE(capacity);
RATEL_SAME_PLACE(remaining);
RATEL_SAME_PLACE(retry_after_ns);
RATEL_SAME_PLACE(reset_after_ns);
RATEL_SAME_PLACE(delay_ns);
#undef RATEL_SAME_PLACE

rl_status CheckStrings(const rl_request& in, const ErrorOut& error) noexcept {
  if (IsBytes(in.method) && IsBytes(in.path) && IsBytes(in.user) && IsBytes(in.api_key) && IsBytes(in.ip) &&
      IsBytes(in.key) && IsBytes(in.idempotency_id)) [[likely]] {
    return RL_OK;
  }
  rl_status status = CheckBytes(in.method, "request.method", error);
  if (status == RL_OK) status = CheckBytes(in.path, "request.path", error);
  if (status == RL_OK) status = CheckBytes(in.user, "request.user", error);
  if (status == RL_OK) status = CheckBytes(in.api_key, "request.api_key", error);
  if (status == RL_OK) status = CheckBytes(in.ip, "request.ip", error);
  if (status == RL_OK) status = CheckBytes(in.key, "request.key", error);
  if (status == RL_OK) status = CheckBytes(in.idempotency_id, "request.idempotency_id", error);
  return status;
}

rl_status ReadAttributes(const rl_request& in, std::span<AttributeView> room, Request& out,
                         const ErrorOut& error) noexcept {
  if (in.attribute_count == 0) return RL_OK;
  if (in.attributes == nullptr) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "request.attributes is NULL but attribute_count is %u",
                      in.attribute_count);
  }
  if (in.attribute_count > kMaxAttributes) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "request.attribute_count is %u, more than %u", in.attribute_count,
                      kMaxAttributes);
  }
  for (uint32_t i = 0; i < in.attribute_count; ++i) {
    rl_status status = CheckBytes(in.attributes[i].name, "request.attributes name", error);
    if (status == RL_OK) status = CheckBytes(in.attributes[i].value, "request.attributes value", error);
    if (status != RL_OK) return status;
    room[i] = {View(in.attributes[i].name), View(in.attributes[i].value)};
  }
  out.identity.attributes = room.first(in.attribute_count);
  return RL_OK;
}

}  // namespace

rl_status CheckCost(int64_t cost, const ErrorOut& error) noexcept {
  if (IsCost(cost)) [[likely]]
    return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT,
                    "cost is %lld: at least 1, or RL_COST_OF_RULE; to look without spending there is rl_peek",
                    static_cast<long long>(cost));
}

rl_status CheckNow(uint64_t now_ns, const ErrorOut& error) noexcept {
  if (now_ns <= RL_NOW_MAX_NS) [[likely]]
    return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT, "now_ns is %llu, above RL_NOW_MAX_NS",
                    static_cast<unsigned long long>(now_ns));
}

rl_status ReadRequest(const rl_request& in, std::span<AttributeView> room, Request& out,
                      const ErrorOut& error) noexcept {
  out = Request();
  if (in.flags != 0) return error.Fail(RL_E_INVALID_ARGUMENT, "request.flags: unknown bits 0x%x", in.flags);
  if (in.rule == 0 && in.key.size != 0) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "request.key goes with request.rule, which is 0");
  }
  rl_status status = CheckCost(in.cost, error);
  if (status == RL_OK) status = CheckNow(in.now_ns, error);
  if (status == RL_OK) status = CheckStrings(in, error);
  if (status == RL_OK) status = ReadAttributes(in, room, out, error);
  if (status != RL_OK) return status;
  static_cast<void>(TakeFields(in, out));
  return RL_OK;
}

rl_status TakeRequest(const rl_request* request, std::span<AttributeView> room, Request& out,
                      const ErrorOut& error) noexcept {
  Input<rl_request> in;
  if (const rl_status status = in.Take(request, "request", error)) return status;
  return ReadRequest(*in, room, out, error);
}

namespace {

bool IsDecision(const rl_decision& in) noexcept {
  return in.allowed <= 1 && in.source <= RL_SOURCE_ACTION && in.reason <= RL_REASON_STORE &&
         (in.flags & ~(RL_DECISION_SHADOW_DENIED | RL_DECISION_PEEKED)) == 0 && in.now_ns <= RL_NOW_MAX_NS &&
         (in.allowed == 1) == (in.reason == RL_REASON_NONE);
}

}  // namespace

rl_status ReadDecision(const rl_decision* at, Decision& out, const ErrorOut& error) noexcept {
  Input<rl_decision> in;
  if (const rl_status status = in.Take(at, "decision", error)) return status;
  if (in->status != RL_OK) {
    return error.Fail(RL_E_INVALID_ARGUMENT, "decision: it is no answer, its status is %s", rl_status_name(in->status));
  }
  if (!IsDecision(*in)) return error.Fail(RL_E_INVALID_ARGUMENT, "decision: not one that this library made");
  std::memcpy(static_cast<void*>(&out), &*in, sizeof out);
  out.size = 0;
  return RL_OK;
}

rl_decision NoAnswer(rl_status status) noexcept {
  rl_decision out = RL_DECISION_INIT;
  out.status = status;
  return out;
}

}  // namespace ratel::capi
