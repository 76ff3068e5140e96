// How a question goes to the engine: taken from the caller's structs, refused with a reason, answered with a decision.
#pragma once

#include "core/room.hpp"
#include "guard.hpp"
#include "ratel/rl.h"
#include "registry.hpp"
#include "request.hpp"
#include "structs.hpp"

namespace ratel::capi {

/// Says that the host's clock told no instant.
rl_status FailForTheClock(const ErrorOut& error) noexcept;

/// Says why the engine did not answer. `settled` is the decision that is handed back, if there is one.
rl_status FailToDecide(Status status, const Request& question, const Decision* settled, const ErrorOut& error) noexcept;

inline bool IsUsable(const rl_decision* out) noexcept { return out != nullptr && SizeProblem(out) == nullptr; }

/// The same for one of our size.
inline bool IsOurs(const rl_decision* out) noexcept {
  return out != nullptr && reinterpret_cast<uintptr_t>(out) % alignof(rl_decision) == 0 &&
         out->struct_size == sizeof *out;
}
inline bool IsUsable(const rl_error* err) noexcept { return err == nullptr || SizeProblem(err) == nullptr; }

/// A guard for what answers with a decision: whatever goes wrong, `out` never looks like an allowance.
template <class Body>
rl_status GuardDecision(rl_decision* out, rl_error* err, Body&& body) noexcept {
  const rl_status status = Guard(err, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status bad = CheckOutput(out, "out", error)) return bad;
    Decision decision;
    if (const rl_status failed = body(error, decision)) return failed;
    GiveDecision(decision, out, out->struct_size);
    return RL_OK;
  });
  if (status != RL_OK && IsUsable(out)) Give(NoAnswer(status), out);
  return status;
}

/// Takes a request and asks `ask(engine, request)` about it. `settled` as in FailToDecide.
template <class Ask>
rl_status AskEngine(const rl_registry* registry, const rl_request* request, const ErrorOut& error, Ask&& ask,
                    const Decision* settled = nullptr) {
  if (const rl_status status = CheckHandle(registry, "registry", error)) return status;
  Room<AttributeView, kMaxAttributes> room;
  Room<Request> question;
  if (!ReadPlainRequest(request, *question)) {
    if (const rl_status status = TakeRequest(request, room.first(kMaxAttributes), *question, error)) return status;
  }
  const Status status = ask(*registry->engine, *question);
  return status == Status::kOk ? RL_OK : FailToDecide(status, *question, settled, error);
}

}  // namespace ratel::capi
