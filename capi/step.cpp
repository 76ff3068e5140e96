#include <utility>

#include "algorithm/codec.hpp"
#include "algorithm/convert.hpp"
#include "bytes.hpp"
#include "op.hpp"

namespace ratel::capi {

void HeldState::Read(std::string_view bytes, const Charge& charge, Micros now) {
  numbers_ = charge.numbers;
  now_ = now;
  tick_ = numbers_->TickOf(now);
  state_ = {};
  log_ = LogVector();
  stale_ = changed_ = false;
  if (bytes.empty()) return;
  auto held = Decode(bytes);
  if (!held || held->numbers.spec.algorithm != numbers_->spec.algorithm) return;
  stale_ = held->numbers.spec != numbers_->spec;
  if (is_log()) {
    if (stale_) held->entries = ConvertEntries(held->numbers, *numbers_, held->entries, now);
    log_ = LogVector(std::move(held->entries));
  } else {
    state_ = stale_ ? Convert(held->numbers, *numbers_, held->state, now) : held->state;
  }
}

Outcome HeldState::Decide(uint64_t cost, Spend spend) {
  Outcome outcome;
  if (is_log()) {
    LogChange change;
    outcome = EvaluateLog(*numbers_, log_, tick_, cost, spend, change);
    if (outcome.changed) log_.Apply(change);
  } else {
    outcome = Step(*numbers_, state_, tick_, cost, spend);
  }
  changed_ = changed_ || outcome.changed;
  return outcome;
}

void HeldState::Repair() { Decide(numbers_->capacity + 1, Spend::kYes); }

Outcome HeldState::Correct(Micros charged_at, uint64_t spent, uint64_t actual) {
  const Tick charged_tick = numbers_->TickOf(charged_at);
  Outcome outcome;
  if (is_log()) {
    LogCorrection correction;
    outcome = SettleLog(*numbers_, log_, tick_, charged_tick, spent, actual, correction);
    log_.Apply(correction);
  } else {
    outcome = Settle(*numbers_, state_, tick_, charged_tick, spent, actual);
  }
  changed_ = changed_ || outcome.changed;
  return outcome;
}

State HeldState::Shown() const noexcept {
  if (!is_log()) return state_;
  const LogWindow window = LogWindowAt(*numbers_, log_, tick_);
  return window.units == 0 ? State{} : State{window.newest + numbers_->window, window.units};
}

void HeldState::Write(rl_cell& cell) {
  const State state = is_log() ? log_.StateOf(*numbers_) : state_;
  cell.write = 1;
  cell.new_state = nullptr;
  cell.new_size = 0;
  cell.ttl_ns = 0;
  if (state.expiry <= tick_) return;
  bytes_ = Encode(*numbers_, state, log_.entries());
  cell.new_state = bytes_.data();
  cell.new_size = bytes_.size();
  const Wide until = static_cast<Wide>(state.expiry) * numbers_->tick - now_;
  cell.ttl_ns = until > UINT64_MAX / 1000 ? UINT64_MAX : static_cast<uint64_t>(until) * 1000;
}

namespace {

rl_status CheckCells(const rl_op& op, const rl_cell* cells, uint32_t count) noexcept {
  if (cells != op.cells.data() || count != op.cells.size()) return RL_E_INVALID_ARGUMENT;
  for (uint32_t i = 0; i < count; ++i) {
    if (cells[i].state == nullptr && cells[i].state_size != 0) return RL_E_INVALID_ARGUMENT;
    if (cells[i].state_size > kMaxBytes) return RL_E_INVALID_ARGUMENT;
  }
  return RL_OK;
}

void ReadCells(rl_op& op, const Operation& operation) {
  for (size_t i = 0; i < op.cells.size(); ++i) {
    rl_cell& cell = op.cells[i];
    cell.new_state = nullptr;
    cell.new_size = cell.ttl_ns = cell.write = 0;
    op.states[i].Read({static_cast<const char*>(cell.state), cell.state_size}, operation.charges[i], operation.now);
  }
}

/// Nothing is written: what is told is the state as it is, and what spending would leave.
void Peek(rl_op& op, Operation& operation) {
  for (size_t i = 0; i < op.states.size(); ++i) {
    Charge& charge = operation.charges[i];
    charge.before = op.states[i].Shown();
    charge.outcome = op.states[i].Decide(charge.cost, Spend::kNo);
    op.states[i].Decide(charge.cost, Spend::kYes);
    charge.after = op.states[i].Shown();
  }
}

void WriteCells(rl_op& op) {
  for (size_t i = 0; i < op.states.size(); ++i) {
    if (op.states[i].must_write()) op.states[i].Write(op.cells[i]);
  }
}

/// All or nothing: when a charge that is no shadow is denied, nothing is spent anywhere.
void SpendAll(rl_op& op, Operation& operation) {
  const std::span<Charge> charges = operation.charges;
  for (size_t i = 0; i < charges.size(); ++i) charges[i].outcome = op.states[i].Decide(charges[i].cost, Spend::kNo);
  const bool admitted = Admits(charges);
  for (size_t i = 0; i < charges.size(); ++i) {
    if (admitted) {
      charges[i].outcome = op.states[i].Decide(charges[i].cost, Spend::kYes);
    } else {
      op.states[i].Repair();
    }
  }
  WriteCells(op);
}

void CorrectAll(rl_op& op, Operation& operation) {
  for (size_t i = 0; i < op.states.size(); ++i) {
    Charge& charge = operation.charges[i];
    charge.outcome = op.states[i].Correct(operation.charged_at, charge.cost, operation.actual);
  }
  WriteCells(op);
}

void ForgetAll(rl_op& op) noexcept {
  for (rl_cell& cell : op.cells) cell.write = 1;
}

void StepAll(rl_op& op, Operation& operation) {
  ReadCells(op, operation);
  switch (operation.mode) {
    case Mode::kSpend:
      return SpendAll(op, operation);
    case Mode::kPeek:
      return Peek(op, operation);
    case Mode::kSettle:
      return CorrectAll(op, operation);
    case Mode::kForget:
      return ForgetAll(op);
  }
}

}  // namespace
}  // namespace ratel::capi

rl_status rl_step(rl_op* op, rl_cell* cells, uint32_t count) {
  using namespace ratel::capi;
  return Guard(nullptr, [&](const ErrorOut& error) -> rl_status {
    if (const rl_status status = CheckHandle(op, "op", error)) return status;
    ratel::Operation* operation = op->operation.load();
    if (operation == nullptr) return RL_E_STATE;
    if (const rl_status status = CheckCells(*op, cells, count)) return op->stepped = status;
    op->stepped = RL_E_NO_MEMORY;  // what an exception means here
    StepAll(*op, *operation);
    op->stepped = RL_OK;
    return RL_OK;
  });
}
