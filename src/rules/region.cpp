#include "rules/region.hpp"

#include <algorithm>
#include <string>

#include "core/wide.hpp"

namespace ratel {
namespace {

const Region* FindRegion(const RuleSet& set, std::string_view name) {
  const auto found = std::ranges::find(set.regions, name, &Region::name);
  return found == set.regions.end() ? nullptr : &*found;
}

uint64_t SumOf(const RuleSet& set) {
  uint64_t sum = 0;
  for (const Region& region : set.regions) sum += region.weight;
  return sum;
}

/// The share of a limit. Where that number cannot be exact, the next smaller one that can.
LimitSpec ShareOf(LimitSpec spec, uint64_t weight, uint64_t sum) {
  const auto share = [&](uint64_t units) { return std::max(MulDivFloor(units, weight, sum), uint64_t{1}); };
  if (spec.burst != 0) spec.burst = share(spec.burst);
  spec.limit = share(spec.limit);
  for (int attempts = 0; attempts < 1000 && spec.limit > 1 && !Resolve(spec); ++attempts) --spec.limit;
  if (!Resolve(spec)) spec.limit = 1;
  return spec;
}

uint64_t CapacityOf(const LimitSpec& spec) { return spec.burst != 0 ? spec.burst : spec.limit; }

Error Unknown(const RuleSet& set, std::string_view region) {
  std::string known;
  for (const Region& one : set.regions) known += (known.empty() ? "" : ", ") + one.name;
  return {Status::kConfig,
          "there is no region \"" + std::string(region) + "\"; " +
              (known.empty() ? "the rule set has no `regions`" : "`regions` has " + known),
          {},
          "regions",
          {}};
}

Error CostsMore(const Rule& rule, const Limit& limit, std::string_view region, uint64_t capacity) {
  return {Status::kConfig,
          "rule " + rule.name + " costs " + std::to_string(rule.cost) + ", and the share of its limit " + limit.name +
              " in region " + std::string(region) + " holds " + std::to_string(capacity) +
              ": no request would fit; a larger limit, or region: global",
          rule.file,
          {},
          rule.position};
}

}  // namespace

std::vector<Error> FindRegionFaults(const RuleSet& set, std::string_view region) {
  if (region.empty()) return {};
  const Region* ours = FindRegion(set, region);
  if (ours == nullptr) return {Unknown(set, region)};
  std::vector<Error> faults;
  const uint64_t sum = SumOf(set);
  for (const Rule& rule : set.rules) {
    if (rule.is_global || rule.shadow) continue;
    for (const Limit& limit : rule.limits) {
      const uint64_t capacity = CapacityOf(ShareOf(limit.spec, ours->weight, sum));
      if (!limit.shadow && rule.cost > capacity) faults.push_back(CostsMore(rule, limit, region, capacity));
    }
  }
  return faults;
}

void TakeShare(RuleSet& set, std::string_view region) {
  const Region* ours = region.empty() ? nullptr : FindRegion(set, region);
  if (ours == nullptr) return;
  set.region = ours->name;
  const uint64_t weight = ours->weight;
  const uint64_t sum = SumOf(set);
  for (Rule& rule : set.rules) {
    if (rule.is_global) continue;
    for (Limit& limit : rule.limits) {
      limit.spec = ShareOf(limit.spec, weight, sum);
      for (Override& other : limit.overrides) other.spec = ShareOf(other.spec, weight, sum);
    }
  }
}

}  // namespace ratel
