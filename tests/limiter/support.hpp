// A registry from a rule text, a clock that stands where it is put, and short forms of what tests ask.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>

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

inline RuleSet Rules(std::string_view text) {
  RuleSetBuilder builder;
  EXPECT_TRUE(builder.AddText(text, "test.yaml"));
  for (const Error& fault : builder.faults())
    ADD_FAILURE() << fault.position.line << ": " << fault.path << ": " << fault.message;
  return builder.rules();
}

/// A store that fails on demand, in front of the embedded one.
class FailingStorage final : public Storage {
 public:
  explicit FailingStorage(std::atomic<bool>& failing) : failing_(failing), inner_(MakeMemoryStorage({})) {}
  Status Apply(Operation& operation) noexcept override { return failing_ ? Status::kStore : inner_->Apply(operation); }
  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override { return inner_->EvictIdle(cutoff, evicted); }
  Status KeyCount(uint64_t& keys) noexcept override { return inner_->KeyCount(keys); }
  bool wants_names() const noexcept override { return true; }

 private:
  std::atomic<bool>& failing_;
  std::unique_ptr<Storage> inner_;
};

struct Fixture {
  explicit Fixture(std::string_view text, bool with_failing_storage = false) {
    Registry::Options options;
    options.rules = Rules(text);
    options.clock = std::make_unique<FakeClock>(now);
    if (with_failing_storage) {
      options.storage = std::make_unique<FailingStorage>(failing);
      options.fallback = MakeMemoryStorage({});
    } else {
      options.storage = MakeMemoryStorage({});
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
  std::atomic<bool> failing{false};
  std::unique_ptr<Registry> registry;
};

}  // namespace ratel::test
