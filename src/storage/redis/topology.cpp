#include "storage/redis/topology.hpp"

#include "storage/redis/cluster.hpp"
#include "storage/redis/single_server.hpp"

namespace ratel::redis {

std::unique_ptr<Topology> MakeTopology(Surroundings& surroundings) {
  if (surroundings.options.deployment == Deployment::kCluster) return std::make_unique<Cluster>(surroundings);
  return std::make_unique<SingleServer>(surroundings);
}

}  // namespace ratel::redis
