#include "ask.hpp"

namespace ratel::capi {

rl_status FailToDecide(Status status, uint32_t rule, const ErrorOut& error) noexcept {
  switch (status) {
    case Status::kOk:
      return RL_OK;
    case Status::kNotFound:
      return error.Fail(RL_E_NOT_FOUND, "no rule in force has the id %u", rule);
    case Status::kNoMemory:
      return error.Fail(RL_E_NO_MEMORY, "out of memory; nothing changed");
    case Status::kStore:
      return error.Fail(RL_E_STORE, "the storage could not answer");
    case Status::kUnsupported:
      return error.Fail(RL_E_UNSUPPORTED,
                        "more than 32 rules or 64 limits apply to this request, or the storage does not offer this");
    case Status::kInvalidArgument:
      return error.Fail(RL_E_INVALID_ARGUMENT,
                        "refused: the clock is past RL_NOW_MAX_NS, or the rule has no limit any more");
    case Status::kCancelled:
      return error.Fail(RL_E_CANCELLED, "the registry was destroyed before the answer came");
    default:
      return error.Fail(ToC(status), "the request was refused (%s)", rl_status_name(ToC(status)));
  }
}

}  // namespace ratel::capi
