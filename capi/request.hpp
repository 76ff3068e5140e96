// Requests in and decisions out, between rl.h and the engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "guard.hpp"
#include "limiter/request.hpp"
#include "ratel/rl.h"
#include "report/decision.hpp"

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

/// Checks a request and puts it into the engine's words. Its bytes are borrowed, its attributes go to the front of
/// `room`, which has to hold kMaxAttributes.
rl_status ReadRequest(const rl_request& in, std::span<AttributeView> room, Request& out,
                      const ErrorOut& error) noexcept;

rl_status CheckCost(int64_t cost, const ErrorOut& error) noexcept;
rl_status CheckNow(uint64_t now_ns, const ErrorOut& error) noexcept;

/// A decision that the caller hands back, checked to be one.
rl_status ReadDecision(const rl_decision* in, Decision& out, const ErrorOut& error) noexcept;

inline rl_decision ToC(const Decision& decision) noexcept {
  rl_decision out;
  out.struct_size = sizeof(rl_decision);
  out.status = ToC(decision.status);
  out.allowed = decision.allowed ? 1 : 0;
  out.source = static_cast<uint8_t>(decision.source);
  out.reason = static_cast<uint8_t>(decision.reason);
  out.flags = static_cast<uint8_t>((decision.shadow_denied ? RL_DECISION_SHADOW_DENIED : 0) |
                                   (decision.peeked ? RL_DECISION_PEEKED : 0));
  out.rule = decision.rule;
  out.limit_id = decision.limit_id;
  out.limit_count = decision.limit_count;
  out.generation = decision.generation;
  out.now_ns = decision.now_ns;
  out.cost = decision.cost;
  out.limit = decision.limit;
  out.window_ns = decision.window_ns;
  out.capacity = decision.capacity;
  out.remaining = decision.remaining;
  out.retry_after_ns = decision.retry_after_ns;
  out.reset_after_ns = decision.reset_after_ns;
  out.delay_ns = decision.delay_ns;
  return out;
}

/// The answer to a question that was not answered: nothing but its status, and not allowed.
rl_decision NoAnswer(rl_status status) noexcept;

}  // namespace ratel::capi
