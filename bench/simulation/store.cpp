#include "store.hpp"

#include <charconv>
#include <stdexcept>

namespace simulation {
namespace {

/// What has expired is dropped so often, as a server does, or ten million clients would not fit.
constexpr Nanoseconds kDropEvery = 5'000'000'000;

}  // namespace

rl_storage Store::StorageOf() {
  rl_storage storage{};
  storage.struct_size = sizeof storage;
  storage.self = this;
  storage.apply = &Store::Apply;
  return storage;
}

Store::Key Store::KeyOf(const rl_cell& cell) {
  constexpr size_t kDigits = 16;
  Key key;
  if (cell.key.size < 2 * kDigits) throw std::runtime_error("a state's name is shorter than its hash");
  const char* const end = cell.key.data + cell.key.size;
  const char* const middle = end - kDigits;
  const auto high = std::from_chars(middle - kDigits, middle, key.high, 16);
  const auto low = std::from_chars(middle, end, key.low, 16);
  if (high.ptr != middle || low.ptr != end) throw std::runtime_error("a state's name does not end with its hash");
  return key;
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
  if (world_.now - dropped_at_ >= kDropEvery) DropExpired();
  for (uint32_t i = 0; i < count; ++i) {
    const auto found = held_.find(KeyOf(cells[i]));
    const bool holds = found != held_.end() && found->second.second > world_.now;
    cells[i].state = holds ? found->second.first.data() : nullptr;
    cells[i].state_size = holds ? found->second.first.size() : 0;
  }
  if (const rl_status status = rl_step(op, cells, count); status != RL_OK) return status;
  for (uint32_t i = 0; i < count; ++i) {
    if (cells[i].write != 0) Write(cells[i]);
  }
  return lost ? RL_E_STORE : RL_OK;
}

void Store::Write(const rl_cell& cell) {
  const Key key = KeyOf(cell);
  if (cell.new_size == 0) {
    held_.erase(key);
    return;
  }
  auto& [state, until] = held_[key];
  state.assign(static_cast<const char*>(cell.new_state), cell.new_size);
  until = world_.now + cell.ttl_ns;
}

void Store::DropExpired() {
  std::erase_if(held_, [this](const auto& entry) { return entry.second.second <= world_.now; });
  dropped_at_ = world_.now;
}

}  // namespace simulation
