// Gateways that ask for one budget all the time, each with a registry of its own, and what they were answered.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "ratel/rl.h"

namespace ratel::test {

inline rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

/// Waits for up to 30 s.
bool Eventually(const std::function<bool()>& holds);

/// One rule "r": a token bucket of `limit` per day for a user, shared by `instances`.
std::string RulesOf(uint64_t limit, int instances, std::string_view on_store_error, std::string_view tier = "none");

/// A registry on a Redis; ends the test's process with a message when it cannot be made.
rl_registry* RegistryOf(const std::string& rules, const std::string& url);

struct Answers {
  uint64_t allowed = 0;
  uint64_t denied = 0;
  std::array<uint64_t, 8> by_source{};
  std::chrono::microseconds longest{0};

  void Add(const Answers& other);
  /// Such as "exact 12, local 30".
  std::string ToText() const;
};

enum Phase { kBefore, kDuring, kAfter };

class Gateway {
 public:
  Gateway(const std::string& rules, const std::string& url);
  ~Gateway();
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  void Enter(Phase phase);
  void Stop();
  void PutClockAhead(std::chrono::nanoseconds by) { clock_ahead_ns_ = by.count(); }
  uint64_t allowed() const { return allowed_; }
  bool exact_in_phase() const { return exact_in_phase_; }
  bool denied_in_phase() const { return denied_in_phase_; }
  bool inexact_in_phase() const { return inexact_in_phase_; }
  /// After Stop.
  const Answers& answers(Phase phase) const { return answers_[phase]; }

 private:
  void Run();

  rl_registry* registry_ = nullptr;
  std::atomic<int64_t> clock_ahead_ns_{0};
  std::array<Answers, 3> answers_;
  std::atomic<Phase> phase_{kBefore};
  std::atomic<uint64_t> allowed_{0};
  std::atomic<bool> exact_in_phase_{false};    ///< an answer on the store's state, asked for in this phase
  std::atomic<bool> inexact_in_phase_{false};  ///< an answer that the store did not give
  std::atomic<bool> denied_in_phase_{false};   ///< and one that was a denial
  std::atomic<bool> over_{false};
  std::thread thread_;
};

/// Several of them.
class Gateways {
 public:
  Gateways(int count, const std::string& rules, const std::string& url);
  void Enter(Phase phase);
  void Stop();
  void PutFirstClockAhead(std::chrono::nanoseconds by) { gateways_.front()->PutClockAhead(by); }
  uint64_t allowed() const;
  bool AllExact() const;
  bool AnyInexact() const;
  bool AllDenied() const;
  Answers answers(Phase phase) const;

 private:
  std::vector<std::unique_ptr<Gateway>> gateways_;
};

}  // namespace ratel::test
