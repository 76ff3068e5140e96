// A registry from a rule text, a clock that stands where it is put, and short forms of what tests ask.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>

#include "config/reader.hpp"
#include "limiter/registry.hpp"
#include "storage/memory/memory_storage.hpp"

namespace ratel::test {

inline constexpr uint64_t kSecond = 1'000'000'000;
inline constexpr uint64_t kStart = 1'700'000'000 * kSecond;

class FakeClock final : public Clock {
 public:
  explicit FakeClock(std::atomic<uint64_t>& now) : now_(now) {}
  uint64_t NowNs() noexcept override { return now_.load(); }

 private:
  std::atomic<uint64_t>& now_;
};

inline constexpr const char* kAlgorithms[] = {"token_bucket", "leaky_bucket", "fixed_window", "sliding_log",
                                              "sliding_counter"};

inline bool Eventually(const std::function<bool()>& holds) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline RuleSet Rules(std::string_view text) {
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddText(text, "test.yaml"));
  for (const Error& fault : builder.faults())
    ADD_FAILURE() << fault.position.line << ": " << fault.path << ": " << fault.message;
  return builder.rules();
}

enum class Store : uint8_t {
  kEmbedded,
  kRemote,
  kNameless,  ///< remote, and keys are all that it wants: a batch goes to it as one
  kHost,
};

/// A store that fails on demand, in front of the embedded one.
class FailingStorage final : public Storage {
 public:
  /// What tests turn and look at while the registry runs. It outlives the registry.
  struct Controls {
    std::atomic<bool> failing{false};
    std::atomic<bool> losing_replies{false};        ///< of spends: carried out, and told as failed
    std::atomic<uint64_t> spends_in_spite{0};       ///< a spend of this cost does not fail
    std::atomic<Micros> own_clock{0};               ///< the store's instant, in place of the request's
    std::atomic<uint64_t> last_answer{UINT64_MAX};  ///< the call after which it fails
    std::atomic<uint64_t> calls{0};
    std::atomic<uint64_t> batches{0};
    std::atomic<uint64_t> with_id{0};      ///< calls with an idempotency id
    std::atomic<uint64_t> spent{0};        ///< units that were admitted, of all keys
    std::atomic<uint64_t> handed_back{0};  ///< units, by settles
    std::mutex mutex;
    std::set<std::thread::id> askers;
  };

  FailingStorage(Controls& controls, Store store) : controls_(controls), store_(store), inner_(MakeMemoryStorage({})) {}
  Status Apply(Operation& operation) noexcept override {
    const uint64_t call = ++controls_.calls;
    controls_.with_id += operation.id.has_value();
    {
      const std::lock_guard lock(controls_.mutex);
      controls_.askers.insert(std::this_thread::get_id());
    }
    const bool spends = operation.mode == Mode::kSpend;
    const bool in_spite = spends && operation.charges[0].cost == controls_.spends_in_spite;
    if ((controls_.failing && !in_spite) || call > controls_.last_answer) return Status::kStore;
    if (controls_.own_clock != 0) operation.now = controls_.own_clock;
    const Status status = inner_->Apply(operation);
    if (spends && Admits(operation.charges)) controls_.spent += operation.charges[0].cost;
    if (operation.mode == Mode::kSettle && operation.actual < operation.charges[0].cost)
      controls_.handed_back += operation.charges[0].cost - operation.actual;
    return spends && controls_.losing_replies ? Status::kStore : status;
  }
  void ApplyMany(std::span<Operation> operations, std::span<Status> statuses) noexcept override {
    ++controls_.batches;
    Storage::ApplyMany(operations, statuses);
  }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }
  bool wants_names() const noexcept override { return store_ != Store::kNameless; }
  bool runs_host_code() const noexcept override { return store_ == Store::kHost; }

 private:
  Controls& controls_;
  const Store store_;
  std::unique_ptr<Storage> inner_;
};

struct Fixture {
  explicit Fixture(std::string_view text, Store store = Store::kEmbedded) {
    Registry::Options options;
    options.rules = Rules(text);
    options.clock = std::make_unique<FakeClock>(now);
    options.hasher = KeyedHasher::FromSecret("which idle keys go first is the same in every run");
    if (store == Store::kEmbedded) {
      options.storage = MakeMemoryStorage({});
    } else {
      options.storage = std::make_unique<FailingStorage>(controls, store);
      options.fallback = MakeMemoryStorage({});
    }
    registry = Registry::Create(std::move(options));
  }

  Decision Ask(const Request& request) {
    Decision decision;
    EXPECT_EQ(registry->Allow(request, decision), Status::kOk);
    return decision;
  }
  Decision Ask(std::string_view method, std::string_view path, std::string_view user = {}, int64_t cost = kCostOfRule) {
    Request request;
    request.method = method;
    request.path = path;
    request.identity.user = user;
    request.identity.ip = "192.0.2.1";
    request.cost = cost;
    return Ask(request);
  }

  std::atomic<uint64_t> now{kStart};
  FailingStorage::Controls controls;
  std::atomic<bool>& failing = controls.failing;
  std::unique_ptr<Registry> registry;
};

}  // namespace ratel::test
