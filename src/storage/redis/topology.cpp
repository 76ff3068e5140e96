#include "storage/redis/topology.hpp"

#include "storage/redis/cluster.hpp"
#include "storage/redis/sentinel.hpp"
#include "storage/redis/single_server.hpp"

namespace ratel::redis {

std::unique_ptr<Topology> MakeTopology(Surroundings& surroundings) {
  switch (surroundings.options.deployment) {
    case Deployment::kCluster:
      return std::make_unique<Cluster>(surroundings);
    case Deployment::kSentinel:
      return std::make_unique<Sentinel>(surroundings);
    case Deployment::kServer:
      break;
  }
  return std::make_unique<SingleServer>(surroundings);
}

}  // namespace ratel::redis
