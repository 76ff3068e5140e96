#include "ask.hpp"

namespace ratel::capi {

rl_status FailForTheClock(const ErrorOut& error) noexcept {
  return error.Fail(RL_E_INVALID_ARGUMENT, "the clock callback failed: it told no instant up to RL_NOW_MAX_NS");
}

rl_status FailToDecide(Status status, const Request& question, const Decision* settled,
                       const ErrorOut& error) noexcept {
  switch (status) {
    case Status::kOk:
      return RL_OK;
    case Status::kNotFound:
      if (settled == nullptr) return error.Fail(RL_E_NOT_FOUND, "no rule in force has the id %u", question.rule);
      return error.Fail(RL_E_NOT_FOUND, "the rule %u that was charged is not in force, or has no limit any more",
                        settled->rule);
    case Status::kNoMemory:
      return error.Fail(RL_E_NO_MEMORY, "out of memory; nothing changed");
    case Status::kStore:
      return error.Fail(RL_E_STORE, "the storage could not answer");
    case Status::kUnsupported:
      return error.Fail(RL_E_UNSUPPORTED,
                        "more than 32 rules or 64 limits apply to this request, or the storage does not offer this");
    case Status::kInvalidArgument:
      // All else that the caller stated was looked at before.
      if (settled != nullptr && settled->source == Source::kLocalFallback) {
        return error.Fail(RL_E_INVALID_ARGUMENT, "decision: not one of this registry (or the clock callback failed)");
      }
      return FailForTheClock(error);
    case Status::kCancelled:
      return error.Fail(RL_E_CANCELLED, "the registry was destroyed before the answer came");
    default:
      return error.Fail(ToC(status), "the request was refused (%s)", rl_status_name(ToC(status)));
  }
}

}  // namespace ratel::capi
