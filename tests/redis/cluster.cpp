#include "redis/cluster.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <thread>

namespace ratel::test {
namespace {

void WaitFor(const char* what, const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 3000; ++attempt) {
    if (holds()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  throw std::runtime_error(std::string("no cluster within 30 s: ") + what);
}

void MustBeOk(const std::string& reply) {
  if (reply != "OK") throw std::runtime_error("the cluster refuses: " + reply);
}

}  // namespace

RedisCluster::RedisCluster(const std::vector<std::string>& arguments, bool replicas) {
  std::vector<std::string> line = {"--cluster-enabled",          "yes", "--cluster-node-timeout", "1000",
                                   "--repl-diskless-sync-delay", "0"};
  line.insert(line.end(), arguments.begin(), arguments.end());
  for (size_t i = 0; i < (replicas ? 2 * kMasters : kMasters); ++i) {
    nodes_.push_back(std::make_unique<RedisServer>(line));
    ids_.push_back(node(i).Do({"CLUSTER", "MYID"}));
    MustBeOk(node(i).Do({"CLUSTER", "SET-CONFIG-EPOCH", std::to_string(i + 1)}));
  }
  std::vector<std::vector<std::string>> slots(kMasters, {"CLUSTER", "ADDSLOTS"});
  for (uint16_t slot = 0; slot < 16384; ++slot) slots[FirstOwner(slot)].push_back(std::to_string(slot));
  for (size_t i = 0; i < kMasters; ++i) MustBeOk(node(i).Do(slots[i]));
  for (size_t i = 1; i < size(); ++i)
    MustBeOk(node(0).Do({"CLUSTER", "MEET", "127.0.0.1", std::to_string(node(i).port())}));
  WaitFor("nodes do not know each other", [&] {
    return std::ranges::all_of(nodes_, [&](const auto& one) {
      const std::string nodes = one->Do({"CLUSTER", "NODES"});
      return nodes.find("handshake") == std::string::npos &&
             std::ranges::all_of(ids_, [&](const std::string& id) { return nodes.find(id) != std::string::npos; });
    });
  });
  for (size_t i = kMasters; i < size(); ++i) MustBeOk(node(i).Do({"CLUSTER", "REPLICATE", ids_[i - kMasters]}));
  WaitFor("nodes do not agree", [&] { return Agree(); });
}

bool RedisCluster::Agree() {
  for (size_t i = 0; i < size(); ++i) {
    if (node(i).Do({"CLUSTER", "INFO"}).find("cluster_state:ok") == std::string::npos) return false;
    if (i >= kMasters && node(i).Info("replication", "master_link_status") != "up") return false;
    if (i < kMasters && node(i).Info("replication", "connected_slaves") != (size() > kMasters ? "1" : "0"))
      return false;
    const std::string nodes = node(i).Do({"CLUSTER", "NODES"});
    if (std::ranges::count(nodes, '\n') != static_cast<long>(size())) return false;
    size_t replicas = 0;
    for (size_t at = nodes.find("slave "); at != std::string::npos; at = nodes.find("slave ", at + 1)) ++replicas;
    if (replicas != size() - kMasters) return false;
  }
  return true;
}

std::string RedisCluster::url(std::string_view options) const {
  return "redis+cluster://127.0.0.1:" + std::to_string(nodes_[0]->port()) +
         ",127.0.0.1:" + std::to_string(nodes_[kMasters - 1]->port()) + "?" + std::string(options);
}

void RedisCluster::FlushAll() {
  for (size_t i = 0; i < kMasters; ++i) MustBeOk(node(i).Do({"FLUSHALL"}));
}

std::vector<std::string> RedisCluster::Keys() {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kMasters; ++i) std::ranges::copy(node(i).Keys(), std::back_inserter(keys));
  std::ranges::sort(keys);
  return keys;
}

void RedisCluster::BeginMove(uint16_t slot, size_t from, size_t to) {
  MustBeOk(node(to).Do({"CLUSTER", "SETSLOT", std::to_string(slot), "IMPORTING", ids_[from]}));
  MustBeOk(node(from).Do({"CLUSTER", "SETSLOT", std::to_string(slot), "MIGRATING", ids_[to]}));
}

void RedisCluster::MoveKeys(uint16_t slot, size_t from, size_t to) {
  for (const std::string& key : node(from).Keys()) {
    if (node(from).Do({"CLUSTER", "KEYSLOT", key}) != std::to_string(slot)) continue;
    const std::string reply =
        node(from).Do({"MIGRATE", "127.0.0.1", std::to_string(node(to).port()), key, "0", "5000"});
    if (reply != "NOKEY") MustBeOk(reply);
  }
}

void RedisCluster::EndMove(uint16_t slot, size_t to) {
  MustBeOk(node(to).Do({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_[to]}));
  for (size_t i = 0; i < kMasters; ++i) {
    if (i != to) MustBeOk(node(i).Do({"CLUSTER", "SETSLOT", std::to_string(slot), "NODE", ids_[to]}));
  }
}

}  // namespace ratel::test
