// Which header fields a caller asks for.
#pragma once

#include "guard.hpp"
#include "ratel/rl.h"
#include "registry.hpp"
#include "report/headers.hpp"

namespace ratel::capi {

static_assert(kHeadersX == RL_HEADERS_X && kHeadersResetDelta == RL_HEADERS_RESET_DELTA);
static_assert(kHeadersRetryAfter == RL_HEADERS_RETRY_AFTER && kHeadersDraft11 == RL_HEADERS_DRAFT_11);
static_assert(kHeadersDraft8 == RL_HEADERS_DRAFT_8 && kHeadersDraft7 == RL_HEADERS_DRAFT_7);
static_assert(kHeadersDraft6 == RL_HEADERS_DRAFT_6 && kHeadersNone == RL_HEADERS_NONE);

/// RL_HEADERS_* bits, checked; 0 becomes what the rule set says.
inline rl_status ReadHeaderForms(const Registry& engine, uint32_t flags, uint32_t& forms,
                                 const ErrorOut& error) noexcept {
  forms = flags == 0 ? engine.HeaderForms() : flags;
  if (IsValidHeaderForms(forms)) return RL_OK;
  return error.Fail(RL_E_INVALID_ARGUMENT,
                    "flags 0x%x: RL_HEADERS_* bits, at most one DRAFT, and RL_HEADERS_NONE alone", flags);
}

}  // namespace ratel::capi
