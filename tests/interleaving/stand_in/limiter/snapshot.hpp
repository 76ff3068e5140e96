// In place of the rule set in force, for tests of limiter/current.hpp: nothing but whether it has ended.
#pragma once

#include <memory>

namespace ratel {

struct Snapshot : std::enable_shared_from_this<Snapshot> {
  bool ended = false;
};

}  // namespace ratel
