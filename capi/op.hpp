// One operation in the host's hands: rl_op, rl_completion, and the state of one cell between bytes and arithmetic.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>
#include <vector>

#include "algorithm/log_vector.hpp"
#include "algorithm/step.hpp"
#include "handle.hpp"
#include "ratel/rl.h"
#include "storage/storage.hpp"

namespace ratel::capi {

class HostStorage;

/// A state that was held as bytes: read, decided on, and written as bytes again. One thread at a time.
class HeldState {
 public:
  /// Reads `bytes` for a charge at an instant. Bytes that are no state of its algorithm count as none; one written
  /// under other numbers is converted. Throws std::bad_alloc.
  void Read(std::string_view bytes, const Charge& charge, Micros now);

  /// Decides, and spends when that is asked for and admitted. Throws std::bad_alloc.
  Outcome Decide(uint64_t cost, Spend spend);

  /// The request as a whole is denied: nothing is spent, what stays is the clock firewall's repair. Throws
  /// std::bad_alloc.
  void Repair();

  /// See Settle. Throws std::bad_alloc.
  Outcome Correct(Micros charged_at, uint64_t spent, uint64_t actual);

  /// Whether there is something to write: a change, or numbers that are not those it was held under.
  bool must_write() const noexcept { return changed_ || stale_; }

  /// As two words, for explain.
  State Shown() const noexcept;

  /// Says in `cell` what to hold from now on. The bytes live until the next Read. Throws std::bad_alloc.
  void Write(rl_cell& cell);

 private:
  bool is_log() const noexcept { return numbers_->spec.algorithm == Algorithm::kSlidingLog; }

  const Numbers* numbers_ = nullptr;
  Micros now_ = 0;
  Tick tick_ = 0;
  State state_;
  LogVector log_;
  bool stale_ = false;
  bool changed_ = false;
  std::vector<unsigned char> bytes_;
};

}  // namespace ratel::capi

/// The right to end one asynchronous apply. Lives inside its rl_op.
struct rl_completion {
  static constexpr uint64_t kMagic = ratel::capi::kCompletionMagic;
  ratel::capi::Magic magic{kMagic};
  std::atomic<uint64_t> ticket{0};  ///< odd while it may be finished; each use has two numbers of its own
  rl_op* op = nullptr;
  ratel::Completion* waiting = nullptr;
  ratel::capi::HostStorage* storage = nullptr;
};

/// Pooled by its storage and freed with it, so that a late rl_step or a second finish meets a closed operation and
/// not freed memory.
struct rl_op {
  static constexpr uint64_t kMagic = ratel::capi::kOpMagic;
  ratel::capi::Magic magic{kMagic};
  std::atomic<ratel::Operation*> operation{nullptr};  ///< null = closed
  rl_status stepped = RL_E_STATE;                     ///< what the last rl_step answered
  std::vector<rl_cell> cells;
  std::vector<ratel::capi::HeldState> states;  ///< one per cell
  rl_completion completion;
  rl_op* next_free = nullptr;
};
