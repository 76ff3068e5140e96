#include "store.hpp"

namespace simulation {

rl_storage Store::StorageOf() {
  rl_storage storage{};
  storage.struct_size = sizeof storage;
  storage.self = this;
  storage.apply = &Store::Apply;
  return storage;
}

rl_status Store::Apply(void* self, rl_op* op, rl_cell* cells, uint32_t count) {
  return static_cast<Store*>(self)->Apply(op, cells, count);
}

rl_status Store::Apply(rl_op* op, rl_cell* cells, uint32_t count) {
  if (down_) return RL_E_STORE;
  // Half of what is lost are questions, half are replies, which leave their charge behind.
  const bool lost = loss_ > 0 && world_.Uniform() < loss_;
  if (lost && world_.Uniform() < 0.5) return RL_E_STORE;
  ++calls_;
  for (uint32_t i = 0; i < count; ++i) {
    const auto found = held_.find(std::string(cells[i].key.data, cells[i].key.size));
    const bool holds = found != held_.end() && found->second.until > world_.now;
    cells[i].state = holds ? found->second.state.data() : nullptr;
    cells[i].state_size = holds ? found->second.state.size() : 0;
  }
  if (const rl_status status = rl_step(op, cells, count); status != RL_OK) return status;
  for (uint32_t i = 0; i < count; ++i) {
    if (cells[i].write == 0) continue;
    std::string key(cells[i].key.data, cells[i].key.size);
    if (cells[i].new_size == 0) {
      held_.erase(key);
      continue;
    }
    std::string state(static_cast<const char*>(cells[i].new_state), cells[i].new_size);
    held_.insert_or_assign(std::move(key), Held{std::move(state), world_.now + cells[i].ttl_ns});
  }
  return lost ? RL_E_STORE : RL_OK;
}

}  // namespace simulation
