// Requests in and decisions out, between rl.h and the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "bytes.hpp"
#include "guard.hpp"
#include "limiter/request.hpp"
#include "ratel/rl.h"
#include "report/decision.hpp"
#include "structs.hpp"

namespace ratel::capi {

/// Attributes that one request may carry.
inline constexpr uint32_t kMaxAttributes = 64;

/// Room on the stack of a call for some values that are written before they are read: clearing it would cost more
/// than a decision.
template <class T, size_t kCount>
class Room {
 public:
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
  Room() noexcept {}
  T& operator[](size_t i) noexcept { return values_[i]; }
  std::span<T> first(size_t count) noexcept { return {values_, count}; }
  std::span<T> from(size_t begin) noexcept { return {values_ + begin, kCount - begin}; }

 private:
  union {
    T values_[kCount];
  };
};

constexpr bool IsCost(int64_t cost) noexcept { return cost >= 1 || cost == RL_COST_OF_RULE; }

/// Whether all of some texts are IsBytes; may say no when a size is just about too large.
template <class... Texts>
constexpr bool AreBytes(const Texts&... texts) noexcept {
  return ((texts.data != nullptr || texts.size == 0) && ...) && (texts.size | ...) < kMaxBytes;
}

/// Puts all but the attributes into the engine's words, unchecked.
inline void TakeFields(const rl_request& in, Request& out) noexcept {
  out.now_ns = in.now_ns;
  out.cost = in.cost;
  out.rule = in.rule;
  out.method = View(in.method);
  out.path = View(in.path);
  out.identity.user = View(in.user);
  out.identity.api_key = View(in.api_key);
  out.identity.ip = View(in.ip);
  out.identity.key = View(in.key);
  out.identity.has_key = in.key.size != 0;
  out.idempotency_id = View(in.idempotency_id);
}

/// ReadRequest for what almost every caller sends: a struct of our size without attributes, and without a fault. False when it is not so.
inline bool ReadPlainRequest(const rl_request* in, Request& out) noexcept {
  if (in == nullptr || SizeProblem(in) != nullptr || in->struct_size != sizeof *in) return false;
  if ((in->flags | in->attribute_count) != 0 || (in->rule == 0 && in->key.size != 0) || !IsCost(in->cost) ||
      in->now_ns > RL_NOW_MAX_NS ||
      !AreBytes(in->method, in->path, in->user, in->api_key, in->ip, in->key, in->idempotency_id))
    return false;
  TakeFields(*in, out);
  out.identity.attributes = {};
  return true;
}

/// Checks a request and puts it into the engine's words. Its bytes are borrowed, its attributes go to the front of
/// `room`, which has to hold kMaxAttributes.
rl_status ReadRequest(const rl_request& in, std::span<AttributeView> room, Request& out,
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

/// Gives it to a caller whose struct has `size` bytes, which CheckOutput has accepted.
inline void GiveDecision(const Decision& decision, rl_decision* out, uint32_t size) noexcept {
  if (size != sizeof(rl_decision)) return Give(ToC(decision), out, size);
  std::memcpy(out, &decision, sizeof decision);
  out->struct_size = size;
}

/// The answer to a question that was not answered: nothing but its status, and not allowed.
rl_decision NoAnswer(rl_status status) noexcept;

}  // namespace ratel::capi
