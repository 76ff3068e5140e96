#include "storage/redis/topology.hpp"

#include "storage/redis/single_server.hpp"

namespace ratel::redis {

std::unique_ptr<Topology> MakeTopology(Surroundings& surroundings) {
  return std::make_unique<SingleServer>(surroundings);
}

}  // namespace ratel::redis
