// What the limits that one request can meet have in common: for stores that hold states in several places and decide on one place at a time.
//
// A state has to lie where its own key says, whichever request comes to it. So the place is made from those parts of a scope that every limit of the
// rule has (tenant, of tenant and tenant,user), under `match: all` every limit of all rules that can apply to one request. `global` is no such part:
// it says nothing about who asks. Limits of one and the same scope share all of it.
#pragma once

#include <string>
#include <vector>

#include "core/result.hpp"
#include "rules/rule.hpp"

namespace ratel {

struct SharedScope {
  Scope scope;       ///< empty: nothing in common, or no limits
  std::string name;  ///< of the rule, or of the first by name of all that can meet; for when there is nothing in common
};

/// One for each rule of the set, by index.
std::vector<SharedScope> FindSharedScopes(const RuleSet& set);

/// One error for each rule (or each lot of rules that can meet) whose limits have nothing in common.
std::vector<Error> FindUnshared(const RuleSet& set);

}  // namespace ratel
