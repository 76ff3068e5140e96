// A fixed share of every limit for each region: no region asks another, and together they admit no more than the limit.
//
//   regions: {eu: 5, us: 3, ap: 2}      limit 100  ->  eu 50, us 30, ap 20       floor(limit * weight / sum), at least 1
#pragma once

#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "rules/rule.hpp"

namespace ratel {

/// Why the rules cannot be taken for a region: they do not know it, or a rule costs more than its share can hold. None for the empty name.
std::vector<Error> FindRegionFaults(const RuleSet& set, std::string_view region);

/// Puts the region's share in the place of every limit, but for rules that are global. For a set without such faults; nothing for the empty name.
void TakeShare(RuleSet& set, std::string_view region);

}  // namespace ratel
