// A Redis Cluster of the test's own: masters with a replica each, all on free ports of the loopback.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "redis/server.hpp"

namespace ratel::test {

class RedisCluster {
 public:
  static constexpr size_t kMasters = 3;

  /// Starts it and waits until every node says that all is well. `arguments` are for each node.
  explicit RedisCluster(const std::vector<std::string>& arguments = {}, bool replicas = true);

  /// Names the first and the last master alone: the others have to be found.
  std::string url(std::string_view options = "") const;
  /// 0 to 2 are the masters, 3 to 5 their replicas in the same order.
  RedisServer& node(size_t i) { return *nodes_.at(i); }
  size_t size() const { return nodes_.size(); }
  /// The index of the master that the slot was given to at the start.
  static size_t FirstOwner(uint16_t slot) { return slot / (16384 / kMasters + 1); }
  const std::string& id(size_t i) const { return ids_.at(i); }

  void FlushAll();
  std::vector<std::string> Keys();

  /// The three steps of moving a slot: from now on ASK; each key; from now on MOVED.
  void BeginMove(uint16_t slot, size_t from, size_t to);
  void MoveKeys(uint16_t slot, size_t from, size_t to);
  void EndMove(uint16_t slot, size_t to);

 private:
  bool Agree();

  std::vector<std::unique_ptr<RedisServer>> nodes_;
  std::vector<std::string> ids_;
};

}  // namespace ratel::test
