#include "host_storage.hpp"

#include <condition_variable>
#include <mutex>
#include <vector>

#include "bytes.hpp"
#include "op.hpp"

namespace ratel::capi {
namespace {

/// What an apply comes to: the host's word, and whether the arithmetic has run at all.
Status ResultOf(const rl_op& op, rl_status returned) noexcept {
  if (op.stepped == RL_E_NO_MEMORY) return Status::kNoMemory;
  return returned == RL_OK && op.stepped == RL_OK ? Status::kOk : Status::kStore;
}

/// What an optional callback comes to.
Status ResultOf(rl_status returned) noexcept {
  if (returned == RL_OK) return Status::kOk;
  return returned == RL_E_UNSUPPORTED ? Status::kUnsupported : Status::kStore;
}

}  // namespace

class HostStorage final : public Storage {
 public:
  explicit HostStorage(const rl_storage& table) noexcept : table_(table) {}

  ~HostStorage() override {
    std::unique_lock lock(mutex_);
    all_back_.wait(lock, [this] { return out_ == 0; });
    lock.unlock();
    if (table_.destroy != nullptr) table_.destroy(table_.self);
  }
  HostStorage(const HostStorage&) = delete;
  HostStorage& operator=(const HostStorage&) = delete;

  Status Apply(Operation& operation) noexcept override {
    if (operation.mode == Mode::kForget && table_.forget != nullptr) return Forget(operation);
    rl_op* op = TakeOut(operation);
    if (op == nullptr) return Status::kNoMemory;
    const rl_status returned = table_.apply(table_.self, op, op->cells.data(), CellCount(*op));
    Close(*op);
    const Status status = ResultOf(*op, returned);
    PutBack(op);
    return status;
  }

  Status ApplyAsync(Operation& operation, Completion& done) noexcept override {
    if (table_.apply_async == nullptr || operation.mode == Mode::kForget) return Storage::ApplyAsync(operation, done);
    rl_op* op = TakeOut(operation);
    if (op == nullptr) return Status::kNoMemory;
    op->completion.waiting = &done;
    const uint64_t ticket = op->completion.ticket.fetch_add(1) + 1;
    const rl_status returned = table_.apply_async(table_.self, op, op->cells.data(), CellCount(*op), &op->completion);
    if (returned == RL_OK) return Status::kOk;
    // Refused, unless the host has finished it all the same: then its answer is out already.
    uint64_t open = ticket;
    if (!op->completion.ticket.compare_exchange_strong(open, ticket + 1)) return Status::kOk;
    Close(*op);
    const Status status = op->stepped == RL_E_NO_MEMORY ? Status::kNoMemory : Status::kStore;
    PutBack(op);
    return status;
  }

  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override {
    evicted = 0;
    return table_.sweep == nullptr ? Status::kUnsupported
                                   : ResultOf(table_.sweep(table_.self, cutoff * 1000, &evicted));
  }

  Status KeyCount(uint64_t& keys) noexcept override {
    keys = 0;
    return table_.count == nullptr ? Status::kUnsupported : ResultOf(table_.count(table_.self, &keys));
  }

  bool wants_names() const noexcept override { return true; }
  bool runs_host_code() const noexcept override { return true; }

  /// The rest of rl_completion_finish, for a completion whose ticket was taken.
  void Finish(rl_completion& done, rl_status returned) noexcept {
    rl_op* op = done.op;
    Close(*op);
    done.waiting->Finish(ResultOf(*op, returned));
    PutBack(op);
  }

 private:
  static uint32_t CellCount(const rl_op& op) noexcept { return static_cast<uint32_t>(op.cells.size()); }

  Status Forget(const Operation& operation) noexcept {
    Status status = Status::kOk;
    for (const Charge& charge : operation.charges) {
      const Status forgotten = ResultOf(table_.forget(table_.self, ToC(charge.name)));
      if (forgotten != Status::kOk) status = forgotten;
    }
    return status;
  }

  /// An open op for an operation; nullptr when memory is out.
  rl_op* TakeOut(Operation& operation) noexcept {
    rl_op* op = nullptr;
    try {
      op = TakeFree();
      op->states.resize(operation.charges.size());
      op->cells.assign(operation.charges.size(), rl_cell{});
    } catch (...) {
      if (op != nullptr) PutBack(op);
      return nullptr;
    }
    for (size_t i = 0; i < op->cells.size(); ++i) op->cells[i].key = ToC(operation.charges[i].name);
    op->stepped = RL_E_STATE;
    op->operation.store(&operation);
    return op;
  }

  rl_op* TakeFree() {
    const std::lock_guard lock(mutex_);
    if (free_ == nullptr) {
      auto made = std::make_unique<rl_op>();
      made->completion.op = made.get();
      made->completion.storage = this;
      ops_.push_back(std::move(made));
      free_ = ops_.back().get();
    }
    rl_op* op = free_;
    free_ = op->next_free;
    op->next_free = nullptr;
    ++out_;
    return op;
  }

  static void Close(rl_op& op) noexcept { op.operation.store(nullptr); }

  void PutBack(rl_op* op) noexcept {
    const std::lock_guard lock(mutex_);
    op->next_free = free_;
    free_ = op;
    // Told under the lock: whoever waits destroys this storage.
    if (--out_ == 0) all_back_.notify_all();
  }

  const rl_storage table_;
  std::mutex mutex_;
  std::condition_variable all_back_;
  std::vector<std::unique_ptr<rl_op>> ops_;
  rl_op* free_ = nullptr;
  uint64_t out_ = 0;  ///< operations in the host's hands
};

std::unique_ptr<Storage> MakeHostStorage(const rl_storage& table) { return std::make_unique<HostStorage>(table); }

}  // namespace ratel::capi

void rl_completion_finish(rl_completion* done, rl_status status) {
  if (!ratel::capi::IsLive(done)) return;
  uint64_t ticket = done->ticket.load();
  if (ticket % 2 == 1 && done->ticket.compare_exchange_strong(ticket, ticket + 1)) done->storage->Finish(*done, status);
}
