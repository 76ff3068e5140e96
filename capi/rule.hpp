// A rule that the host builds in code.
#pragma once

#include <vector>

#include "guard.hpp"
#include "ratel/rl.h"
#include "rules/rule.hpp"

namespace ratel::capi {

/// Takes over what `in` says into `out`. A status other than RL_OK means a struct or a value that cannot be honoured
/// at all; what a rule file could get wrong as well is added to `faults` or left for the validation of the whole
/// rule.
rl_status ReadRule(const rl_rule* in, Rule& out, std::vector<Error>& faults, const ErrorOut& error);

}  // namespace ratel::capi
