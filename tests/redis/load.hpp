// Traffic for tests of what goes on under it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "redis/support.hpp"

namespace ratel::test {

/// Spends on one key from several threads until told to stop.
class Load {
 public:
  Load(Storage& storage, std::vector<Charge> charges, int threads) {
    for (int i = 0; i < threads; ++i) {
      threads_.emplace_back([this, &storage, charges] {
        while (!over_) {
          std::vector<Charge> mine = charges;
          Operation operation{mine, kStart};
          const Status status = storage.Apply(operation);
          if (status != Status::kOk) {
            ++failed_;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
          } else if (Admits(mine)) {
            ++admitted_;
          } else {
            ++denied_;
          }
        }
      });
    }
  }
  ~Load() { Stop(); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  void Stop() {
    over_ = true;
    for (std::thread& thread : threads_) {
      if (thread.joinable()) thread.join();
    }
  }
  uint64_t admitted() const { return admitted_; }
  uint64_t denied() const { return denied_; }
  uint64_t failed() const { return failed_; }
  uint64_t done() const { return admitted_ + denied_ + failed_; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<uint64_t> admitted_{0};
  std::atomic<uint64_t> denied_{0};
  std::atomic<uint64_t> failed_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ratel::test
