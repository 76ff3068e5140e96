#include "storage/memory/memory_storage.hpp"

#include <algorithm>

#include "algorithm/convert.hpp"
#include "algorithm/sliding_log.hpp"
#include "algorithm/step.hpp"
#include "core/fixed_vector.hpp"
#include "storage/memory/held.hpp"
#include "storage/memory/ring.hpp"
#include "storage/memory/table.hpp"

namespace ratel {
namespace memory {
namespace {

/// How long a slot stays reserved for a request with several limits that is being decided.
constexpr Micros kBlankFor = 1'000'000;

/// What a ring that was written under other numbers has to lose before it counts under the charge's: what had aged out under those is gone, and what
/// their clock firewall would have pulled back counts as made now. (Every log has ticks of 1 us, so there is nothing else to convert.)
struct Carried {
  size_t skipped = 0;       ///< so many of the oldest
  size_t ahead = SIZE_MAX;  ///< from this one on
  Tick pulled_back_to = 0;
};

class RingView {
 public:
  RingView(Ring ring, const Carried& carried) noexcept : ring_(ring), carried_(carried) {}
  size_t size() const noexcept { return SubtractFloor(ring_.size(), carried_.skipped); }
  Tick At(size_t i) const noexcept {
    const size_t at = carried_.skipped + i;
    return at >= carried_.ahead ? carried_.pulled_back_to : ring_.At(at);
  }
  uint64_t UnitsThrough(size_t i) const noexcept {
    return ring_.UnitsThrough(carried_.skipped + i) -
           (carried_.skipped == 0 ? 0 : ring_.UnitsThrough(carried_.skipped - 1));
  }

 private:
  Ring ring_;
  Carried carried_;
};

/// One charge being decided: where its state is, what it was, what it will be.
class Cell {
 public:
  void Begin(Charge& charge, Micros now) noexcept {
    charge_ = &charge;
    now_ = now;
    tag_ = Tag::Of(charge.key);
    tick_ = charge.numbers->TickOf(now);
  }

  Charge& charge() const noexcept { return *charge_; }
  const Place& place() const noexcept { return place_; }
  const Numbers& numbers() const noexcept { return *charge_->numbers; }
  Tag tag() const noexcept { return tag_; }
  bool found() const noexcept { return static_cast<bool>(place_); }
  bool write() const noexcept { return write_; }
  bool is_log() const noexcept { return numbers().spec.algorithm == Algorithm::kSlidingLog; }
  bool at_limit() const noexcept { return charge_->outcome.remaining == 0; }
  /// Whether what was read of a key that was found still stands.
  bool Unchanged() const noexcept { return place_.line->Unchanged(place_.header); }
  /// The same for every key: absence has to be sure before it may be the answer. Takes a page's lock, so no line may be held.
  bool StillTrue(Table& table) const noexcept { return found() ? Unchanged() : !table.FindSurely(tag_); }

  /// Copies out what `place` holds. False when it was being written meanwhile. A log's entries are read later: for them only Unchanged() or the
  /// lock tells.
  [[nodiscard]] bool Read(Place place) noexcept {
    place_ = place;
    state_ = {};
    ring_ = Ring();
    carried_ = {};
    stale_ = false;
    if (!place) return true;
    const Lead lead = place.line->ReadLead(place.slot);
    const uint64_t value = place.line->ReadValue(place.slot);
    if (!Unchanged()) return false;
    if (lead.blank()) return true;
    state_ = {lead.expiry(), value};
    if (lead.log()) {
      ring_ = Ring(value);
      state_.value = 0;
    }
    const uint16_t version = Line::NumbersOf(place.header, place.slot);
    if (version != charge_->version) ReadUnder(version);
    return true;
  }

  /// Fills charge().outcome; afterwards the cell knows what it would write.
  void Decide(Spend spend) noexcept { Evaluate(charge_->cost, spend); }

  /// The request as a whole is denied by others: nothing is spent here, but what the clock firewall pulled back stays so.
  void Uncharge() noexcept {
    Evaluate(charge_->cost, Spend::kNo);
    const Outcome outcome = charge_->outcome;
    Evaluate(numbers().capacity + 1, Spend::kYes);
    charge_->outcome = outcome;
  }

  /// What was read, and what spending would leave, for explain.
  void Describe() noexcept {
    Evaluate(charge_->cost, Spend::kYes);
    charge_->before = AsShown(state_);
    charge_->after = AsShown(next_);
    if (is_log()) {
      charge_->after.value += change_.append_cost;
      charge_->after.expiry = charge_->outcome.reset_at;
    }
    Evaluate(charge_->cost, Spend::kNo);
  }

  void Correct(Micros charged_at, uint64_t actual) noexcept {
    const Tick charged_tick = numbers().TickOf(charged_at);
    if (is_log()) {
      charge_->outcome = SettleLog(numbers(), View(), tick_, charged_tick, charge_->cost, actual, correction_);
      next_.expiry = charge_->outcome.reset_at;
    } else {
      next_ = state_;
      charge_->outcome = Settle(numbers(), next_, tick_, charged_tick, charge_->cost, actual);
    }
    write_ = charge_->outcome.changed || stale_;
  }

  /// Sees to it that the entries will fit. False when memory is out.
  bool Reserve(RingPool& rings) noexcept {
    if (!is_log() || change_.append_cost == 0) return true;
    const size_t size = View().size();
    const size_t need = size - std::min(change_.drop_front, size) + 1;
    if (need > ring_.capacity() && need <= bigger_.capacity()) return true;
    GiveBack(rings);
    if (need <= ring_.capacity()) return true;
    bigger_ = rings.Get(need);
    return !bigger_.none();
  }
  void GiveBack(RingPool& rings) noexcept {
    rings.Put(bigger_);
    bigger_ = Ring();
  }

  /// The entry of a key that has none yet. Once it is inserted, the ring is the entry's, and this cell is done with.
  Entry NewEntry() noexcept {
    uint64_t value = next_.value;
    if (is_log()) {
      bigger_.Clear();
      bigger_.Append(change_.append_at, change_.append_cost);
      value = bigger_.handle();
    }
    return {tag_, NewLead(), value, charge_->version};
  }

  /// The reservation of a key that has no entry yet.
  Entry BlankEntry() const noexcept {
    return {tag_, Lead::Of(now_ + kBlankFor, 0, false, false, true), 0, charge_->version};
  }

  /// Writes the state into its line, which is locked; returns the line's header to be. `retired` is a ring to put back after the unlock.
  uint64_t Write(uint64_t header, Ring& retired) noexcept {
    uint64_t value = next_.value;
    if (is_log()) value = WriteLog(retired);
    place_.line->WriteState(place_.slot, NewLead(), value);
    return Line::WithNumbers(header, place_.slot, charge_->version);
  }

 private:
  RingView View() const noexcept { return {ring_, carried_}; }

  void ReadUnder(uint16_t version) noexcept {
    stale_ = true;
    const Numbers* old = charge_->history->At(version);
    if (old == nullptr) {
      state_ = {};
      carried_.skipped = ring_.size();
      return;
    }
    if (is_log()) {
      const LogWindow window = LogWindowAt(*old, ring_, tick_);
      carried_ = {window.first, window.pulled_back ? window.ahead : SIZE_MAX, tick_};
    } else {
      state_ = Convert(*old, numbers(), state_, now_);
    }
  }

  void Evaluate(uint64_t cost, Spend spend) noexcept {
    Outcome& outcome = charge_->outcome;
    if (is_log()) {
      outcome = EvaluateLog(numbers(), View(), tick_, cost, spend, change_);
      next_.expiry = outcome.reset_at;
    } else {
      next_ = state_;
      outcome = Step(numbers(), next_, tick_, cost, spend);
    }
    // A state written under other numbers is brought up to date by whoever meets it, so that it does not go on under the old ones.
    write_ = spend == Spend::kYes && (outcome.changed || stale_);
  }

  Lead NewLead() const noexcept { return Lead::Of(next_.expiry, numbers().tick_exponent, at_limit(), is_log(), false); }

  uint64_t WriteLog(Ring& retired) noexcept {
    Ring ring = ring_;
    if (!bigger_.none()) {
      bigger_.CopyFrom(ring_);
      retired = ring_;
      ring = bigger_;
      bigger_ = Ring();
    }
    if (ring.none()) return 0;
    if (carried_.ahead != SIZE_MAX) ring.MergeFrom(carried_.ahead, carried_.pulled_back_to);
    ring.DropFront(carried_.skipped);
    if (correction_.change) {
      ring.Replace(correction_.index, correction_.cost);
      return ring.handle();
    }
    ring.DropFront(change_.drop_front);
    if (change_.retime) ring.MergeFrom(change_.retime_from - change_.drop_front, change_.retime_to);
    if (change_.append_cost != 0) {
      if (ring.size() != 0 && ring.At(ring.size() - 1) == change_.append_at) {
        ring.AddToNewest(change_.append_cost);
      } else {
        ring.Append(change_.append_at, change_.append_cost);
      }
    }
    return ring.handle();
  }

  State AsShown(State state) const noexcept {
    if (is_log()) {
      const LogWindow window = LogWindowAt(numbers(), View(), tick_);
      state.value = window.units;
      state.expiry = window.units == 0 ? 0 : window.newest + numbers().window;
    }
    return state;
  }

  Charge* charge_ = nullptr;
  Micros now_ = 0;
  Tick tick_ = 0;
  Tag tag_;
  Place place_;
  State state_;  ///< as read, under the charge's numbers
  State next_;   ///< as it would be written
  Ring ring_;
  Ring bigger_;
  Carried carried_;
  LogChange change_;
  LogCorrection correction_;
  bool stale_ = false;
  bool write_ = false;
};

class MemoryStorage final : public Storage {
 public:
  explicit MemoryStorage(const MemoryOptions& options) : table_(std::max<uint64_t>(options.max_keys, 1), rings_) {}

  Status Apply(Operation& operation) noexcept override {
    switch (operation.mode) {
      case Mode::kSpend:
        if (operation.charges.size() == 1) {
          Charge& charge = operation.charges[0];
          return MemoryStorage::SpendSingle(SingleCharge::Of(charge), operation.now, charge.outcome);
        }
        return SpendAll(operation);
      case Mode::kPeek:
        return ApplyAll(operation);
      case Mode::kSettle:
        for (Charge& charge : operation.charges) CorrectOne(charge, operation);
        return Status::kOk;
      case Mode::kForget:
        for (const Charge& charge : operation.charges) table_.Erase(Tag::Of(charge.key));
        return Status::kOk;
    }
    return Status::kInternal;
  }

  Status SpendSingle(const SingleCharge& single, Micros now, Outcome& outcome) noexcept override {
    switch (single.numbers->spec.algorithm) {
      case Algorithm::kTokenBucket:
        return SpendAs<StepTokenBucket>(single, now, outcome);
      case Algorithm::kLeakyBucket:
        return SpendAs<StepLeakyBucket>(single, now, outcome);
      case Algorithm::kFixedWindow:
        return SpendAs<StepFixedWindow>(single, now, outcome);
      case Algorithm::kSlidingCounter:
        return SpendAs<StepSlidingCounter>(single, now, outcome);
      case Algorithm::kSlidingLog:
        break;
    }
    return SpendAny(single, now, outcome);
  }

  void Prefetch(std::span<const Hash128> keys) const noexcept override {
    for (const Hash128 key : keys) table_.Prefetch(Tag::Of(key));
  }

  Status EvictIdle(Micros cutoff, uint64_t& evicted) noexcept override {
    evicted = table_.Sweep(cutoff);
    table_.MakeHuge();
    return Status::kOk;
  }
  Status KeyCount(uint64_t& keys) noexcept override {
    keys = table_.used();
    return Status::kOk;
  }
  StorageCounters Counters() const noexcept override { return {table_.evicted_live()}; }
  bool is_local() const noexcept override { return true; }

 private:
  static constexpr size_t kMaxCharges = kMaxChargesPerOperation;

  Status SpendAll(Operation& operation) noexcept {
    HeldAll held(table_, operation);
    for (;;) {
      const Way way = held.TryToSpend();
      if (way == Way::kDone) return Status::kOk;
      if (way == Way::kLong) return ApplyAll(operation);
    }
  }

  /// A function for each algorithm: all in one, hardly a value would stay in a register.
  template <auto kStep>
  [[gnu::noinline, gnu::flatten]] Status SpendAs(const SingleCharge& single, Micros now, Outcome& outcome) noexcept {
    return SpendHeld<kStep>(table_, single, now, outcome) ? Status::kOk : SpendAny(single, now, outcome);
  }

  [[gnu::noinline]] Status SpendAny(const SingleCharge& single, Micros now, Outcome& outcome) noexcept {
    Charge charge = single.Whole();
    const Status status = SpendAny(charge, now);
    outcome = charge.outcome;
    return status;
  }

  /// The long way, for whatever there is.
  [[gnu::noinline]] Status SpendAny(Charge& charge, Micros now) noexcept {
    Cell cell;
    cell.Begin(charge, now);
    for (;;) {
      if (!cell.Read(table_.Find(cell.tag()))) continue;
      cell.Decide(Spend::kYes);
      if (!cell.write()) {
        if (cell.StillTrue(table_)) break;
        continue;
      }
      if (!cell.Reserve(rings_)) return Status::kNoMemory;
      if (cell.found() ? WriteOne(cell) : table_.Insert(cell.NewEntry(), now)) return Status::kOk;
    }
    cell.GiveBack(rings_);
    return Status::kOk;
  }

  bool WriteOne(Cell& cell) noexcept {
    Line& line = *cell.place().line;
    if (!line.TryLock(cell.place().header)) return false;
    Ring retired;
    const uint64_t header = cell.Write(cell.place().header, retired);
    if (!cell.at_limit()) table_.NoteBelowLimit(&line);
    line.Unlock(header);
    rings_.Put(retired);
    return true;
  }

  void CorrectOne(Charge& charge, const Operation& operation) noexcept {
    Cell cell;
    cell.Begin(charge, operation.now);
    for (;;) {
      if (!cell.Read(table_.Find(cell.tag()))) continue;
      cell.Correct(operation.charged_at, operation.actual);
      if (!cell.write()) {
        if (cell.StillTrue(table_)) return;
      } else if (cell.found() ? WriteOne(cell) : table_.Insert(cell.NewEntry(), operation.now)) {
        return;
      }
    }
  }

  /// Several limits, all or nothing, or a peek: read all, decide, and write all under their lines' locks, which also prove that what was read still stands.
  Status ApplyAll(Operation& operation) noexcept {
    if (operation.charges.size() > kMaxCharges) return Status::kUnsupported;
    FixedVector<Cell, kMaxCharges> storage;
    for (Charge& charge : operation.charges) storage.Add().Begin(charge, operation.now);
    const std::span<Cell> cells = storage.From(0);
    Status status = Status::kOk;
    while (!TryAll(operation, cells, status)) {
    }
    for (Cell& cell : cells) cell.GiveBack(rings_);
    return status;
  }

  bool TryAll(Operation& operation, std::span<Cell> cells, Status& status) noexcept {
    for (Cell& cell : cells) {
      if (!cell.Read(table_.Find(cell.tag()))) return false;
      if (operation.mode == Mode::kPeek) {
        cell.Describe();
      } else {
        cell.Decide(Spend::kYes);
      }
    }
    const auto still_true = [this](const Cell& cell) { return cell.StillTrue(table_); };
    if (operation.mode == Mode::kPeek) return std::ranges::all_of(cells, still_true);
    if (!Admits(operation.charges)) {
      for (Cell& cell : cells) {
        if (cell.charge().outcome.allowed) cell.Uncharge();
      }
    }
    bool complete = true;
    for (Cell& cell : cells) {
      if (!cell.write()) {
        if (!cell.found() && !cell.StillTrue(table_)) return false;
        continue;
      }
      if (!cell.Reserve(rings_)) {
        status = Status::kNoMemory;
        return true;
      }
      if (cell.found()) continue;
      table_.Insert(cell.BlankEntry(), operation.now);
      complete = false;
    }
    return complete && WriteAll(cells);
  }

  bool WriteAll(std::span<Cell> cells) noexcept {
    struct Held {
      Line* line;
      uint64_t header;
    };
    FixedVector<Cell*, kMaxCharges> order;
    for (Cell& cell : cells) {
      if (cell.write()) order.Add(&cell);
    }
    // Of one line what was read first comes first: while its header stands, what was read later stands too.
    std::sort(order.begin(), order.end(), [](const Cell* a, const Cell* b) {
      return a->place().line != b->place().line ? a->place().line < b->place().line : a < b;
    });
    FixedVector<Held, kMaxCharges> held;
    bool good = true;
    for (const Cell* cell : order) {
      const Place& place = cell->place();
      if (held.size() != 0 && held.end()[-1].line == place.line) continue;
      good = place.line->TryLock(place.header);
      if (!good) break;
      held.Add(place.line, place.header);
    }
    // What is only read has to stand at the moment when everything that is written is held.
    for (const Cell& cell : cells)
      good = good && (cell.write() || !cell.found() || cell.Unchanged() || HeldUnchanged(cell, held));
    if (!good) {
      for (const Held& line : held) line.line->UnlockUntouched(line.header);
      return false;
    }
    FixedVector<Ring, kMaxCharges> retired;
    Cell** next = order.begin();
    for (const Held& line : held) {
      uint64_t header = line.header;
      for (; next != order.end() && (*next)->place().line == line.line; ++next) {
        header = (*next)->Write(header, retired.Add());
        if (!(*next)->at_limit()) table_.NoteBelowLimit(line.line);
      }
      line.line->Unlock(header);
    }
    for (const Ring ring : retired) rings_.Put(ring);
    return true;
  }

  /// A line that this request itself holds has its lock bit set, which is no change.
  template <class HeldLines>
  static bool HeldUnchanged(const Cell& cell, const HeldLines& held) noexcept {
    for (const auto& line : held) {
      if (line.line == cell.place().line) return line.header == cell.place().header;
    }
    return false;
  }

  RingPool rings_;
  Table table_;
};

}  // namespace
}  // namespace memory

std::unique_ptr<Storage> MakeMemoryStorage(const MemoryOptions& options) {
  return std::make_unique<memory::MemoryStorage>(options);
}

uint64_t MemoryTableBytes(uint64_t max_keys) noexcept {
  return memory::Table::PagesFor(max_keys) * memory::Table::kLinesPerPage * sizeof(memory::Line);
}

}  // namespace ratel
