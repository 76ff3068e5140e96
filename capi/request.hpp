// Requests in and decisions out, between rl.h and the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "bytes.hpp"
#include "core/room.hpp"
#include "guard.hpp"
#include "limiter/request.hpp"
#include "ratel/rl.h"
#include "report/decision.hpp"
#include "structs.hpp"

namespace ratel::capi {

/// Attributes that one request may carry.
inline constexpr uint32_t kMaxAttributes = 64;

constexpr bool IsCost(int64_t cost) noexcept { return cost >= 1 || cost == RL_COST_OF_RULE; }

/// Puts all but the attributes into the engine's words. False when a text is not IsBytes; maybe also when a size is just about too large.
inline bool TakeFields(const rl_request& in, Request& out) noexcept {
  uint64_t sizes = 0;
  const auto take = [&sizes](const rl_str& text, std::string_view& view) noexcept {
    view = {};
    if (text.size == 0) return true;
    sizes |= text.size;
    view = View(text);
    return text.data != nullptr;
  };
  out.now_ns = in.now_ns;
  out.cost = in.cost;
  out.rule = in.rule;
  out.identity.has_key = in.key.size != 0;
  return take(in.method, out.method) && take(in.path, out.path) && take(in.user, out.identity.user) &&
         take(in.api_key, out.identity.api_key) && take(in.ip, out.identity.ip) && take(in.key, out.identity.key) &&
         take(in.idempotency_id, out.idempotency_id) && sizes < kMaxBytes;
}

/// ReadRequest for what almost every caller sends: a struct of our size without attributes, and without a fault. False when it is not so.
inline bool ReadPlainRequest(const rl_request* in, Request& out) noexcept {
  if (in == nullptr || SizeProblem(in) != nullptr || in->struct_size != sizeof *in) return false;
  if ((in->flags | in->attribute_count) != 0 || (in->rule == 0 && in->key.size != 0) || !IsCost(in->cost) ||
      in->now_ns > RL_NOW_MAX_NS)
    return false;
  out.identity.attributes = {};
  return TakeFields(*in, out);
}

/// Checks a request and puts it into the engine's words. Its bytes are borrowed, its attributes go to the front of
/// `room`, which has to hold kMaxAttributes.
rl_status ReadRequest(const rl_request& in, std::span<AttributeView> room, Request& out,
                      const ErrorOut& error) noexcept;

/// The same for any struct of a caller's.
rl_status TakeRequest(const rl_request* in, std::span<AttributeView> room, Request& out,
                      const ErrorOut& error) noexcept;

rl_status CheckCost(int64_t cost, const ErrorOut& error) noexcept;
rl_status CheckNow(uint64_t now_ns, const ErrorOut& error) noexcept;

/// A decision that the caller hands back, checked to be one.
rl_status ReadDecision(const rl_decision* in, Decision& out, const ErrorOut& error) noexcept;

/// A copy: request.cpp proves that all lies where it does in rl_decision.
inline rl_decision ToC(const Decision& decision) noexcept {
  rl_decision out;
  static_assert(sizeof out == sizeof decision && std::is_trivially_copyable_v<Decision>);
  std::memcpy(&out, &decision, sizeof out);
  out.struct_size = sizeof out;
  return out;
}

/// A caller's struct of our size, for the engine to answer in. When it refuses, what it leaves is NoAnswer; struct_size has to be set again in any case.
inline Decision& InPlace(rl_decision& out) noexcept { return reinterpret_cast<Decision&>(out); }

/// Gives it to a caller whose struct has `size` bytes, which CheckOutput has accepted.
inline void GiveDecision(const Decision& decision, rl_decision* out, uint32_t size) noexcept {
  if (size != sizeof(rl_decision)) return Give(ToC(decision), out, size);
  std::memcpy(out, &decision, sizeof decision);
  out->struct_size = size;
}

/// The answer to a question that was not answered: nothing but its status, and not allowed.
rl_decision NoAnswer(rl_status status) noexcept;

}  // namespace ratel::capi
