// An obviously right, slow model of the five algorithms, written from their definitions: event lists and exact fractions, no formula for any
// wait. Every instant an answer names is searched for by asking the definition at one tick after another (by halving, as everything fades).
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "algorithm/numbers.hpp"

namespace ratel::naive {

__extension__ typedef __int128 Int;

struct Answer {
  bool allowed = false;
  bool never_fits = false;
  Int remaining = 0;
  Int retry_at = 0;
  Int reset_at = 0;
  Int delay = 0;

  Answer AsSettled() const { return {true, false, remaining, 0, reset_at, 0}; }
};

/// What the definitions are about.
struct Terms {
  Int limit = 0;
  Int window = 0;  ///< ticks
  Int capacity = 0;
};

/// The first x in [from, from + span] for which `holds`; it holds from then on.
inline Int First(Int from, Int span, const std::function<bool(Int)>& holds) {
  Int low = from;
  Int high = from + span;
  while (low < high) {
    const Int middle = low + (high - low) / 2;
    if (holds(middle)) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// One key's state under one limit.
class Model {
 public:
  explicit Model(Terms terms) : terms_(terms) {}
  virtual ~Model() = default;

  Answer Ask(Int now, Int cost, bool spend) {
    const std::unique_ptr<Model> untouched = Clone();
    const bool pulled_back = PullBack(now);
    Answer answer;
    answer.never_fits = cost > terms_.capacity;
    answer.allowed = !answer.never_fits && Fits(now, cost);
    if (answer.allowed) {
      answer.delay = Delay(now);
      if (spend) Spend(now, cost);
    } else if (!answer.never_fits) {
      answer.retry_at = First(now, LongestFade(), [&](Int x) { return Fits(x, cost); });
    }
    Tell(now, answer);
    if (!spend || !(answer.allowed || pulled_back)) Restore(*untouched);
    return answer;
  }

  /// Replaces `spent` at `charged_at` by `actual`.
  virtual Answer Correct(Int now, Int charged_at, Int spent, Int actual) {
    PullBack(now);
    Add(now, charged_at, actual - spent);
    Answer answer;
    answer.allowed = true;
    Tell(now, answer);
    return answer;
  }

 protected:
  virtual std::unique_ptr<Model> Clone() const = 0;
  virtual void Restore(const Model& other) = 0;
  /// The clock firewall; true when it moved anything.
  virtual bool PullBack(Int now) = 0;
  virtual bool Fits(Int at, Int cost) const = 0;
  virtual void Spend(Int at, Int cost) = 0;
  virtual bool IsNew(Int at) const = 0;
  virtual void Add(Int now, Int charged_at, Int units) = 0;
  virtual Int Delay(Int) const { return 0; }
  /// A span after which anything has faded.
  virtual Int LongestFade() const { return 4 * terms_.window; }
  void Tell(Int now, Answer& answer) const {
    const Int too_many = First(1, terms_.capacity, [&](Int m) { return !Fits(now, m); });
    answer.remaining = too_many - 1;
    answer.reset_at = First(now, LongestFade(), [&](Int x) { return IsNew(x); });
  }

  const Terms terms_;
};

/// level = min(C, level + (t - last) * L / W), as a fraction over W.
class TokenBucket : public Model {
 public:
  explicit TokenBucket(Terms terms) : Model(terms), level_(terms.capacity * terms.window) {}

 protected:
  std::unique_ptr<Model> Clone() const override { return std::make_unique<TokenBucket>(*this); }
  void Restore(const Model& other) override {
    level_ = static_cast<const TokenBucket&>(other).level_;
    last_ = static_cast<const TokenBucket&>(other).last_;
  }
  bool PullBack(Int now) override {
    if (level_ == Full() || last_ <= now + terms_.window) return false;
    last_ = now;
    return true;
  }
  Int Full() const { return terms_.capacity * terms_.window; }
  Int LevelAt(Int t) const { return std::min(Full(), level_ + std::max<Int>(0, t - last_) * terms_.limit); }
  bool Fits(Int at, Int cost) const override { return LevelAt(at) >= cost * terms_.window; }
  void Set(Int at, Int level) {
    last_ = LevelAt(at) == Full() ? at : std::max(at, last_);
    level_ = level;
  }
  void Spend(Int at, Int cost) override { Set(at, LevelAt(at) - cost * terms_.window); }
  bool IsNew(Int at) const override { return LevelAt(at) == Full(); }
  void Add(Int now, Int, Int units) override {
    const Int bounded = std::clamp(units, -4 * terms_.capacity, 4 * terms_.capacity);
    const Int level = std::clamp(LevelAt(now) - bounded * terms_.window, -Full(), Full());
    if (level != LevelAt(now)) Set(now, level);
  }
  Int LongestFade() const override { return terms_.window + 3 * Full() / terms_.limit + 2; }

  Int level_;  ///< units * W
  Int last_ = 0;
};

/// A queue of depth C that drains at L / W, as a fraction over W.
class LeakyBucket : public Model {
 public:
  explicit LeakyBucket(Terms terms) : Model(terms) {}

 protected:
  std::unique_ptr<Model> Clone() const override { return std::make_unique<LeakyBucket>(*this); }
  void Restore(const Model& other) override {
    queue_ = static_cast<const LeakyBucket&>(other).queue_;
    last_ = static_cast<const LeakyBucket&>(other).last_;
  }
  bool PullBack(Int now) override {
    if (queue_ == 0 || last_ <= now + terms_.window) return false;
    last_ = now;
    return true;
  }
  Int QueueAt(Int t) const { return std::max<Int>(0, queue_ - std::max<Int>(0, t - last_) * terms_.limit); }
  bool Fits(Int at, Int cost) const override {
    return QueueAt(at) + cost * terms_.window <= terms_.capacity * terms_.window;
  }
  void Set(Int at, Int queue) {
    last_ = QueueAt(at) == 0 ? at : std::max(at, last_);
    queue_ = queue;
  }
  void Spend(Int at, Int cost) override { Set(at, QueueAt(at) + cost * terms_.window); }
  bool IsNew(Int at) const override { return QueueAt(at) == 0; }
  void Add(Int now, Int, Int units) override {
    const Int bounded = std::clamp(units, -4 * terms_.capacity, 4 * terms_.capacity);
    const Int queue = std::clamp<Int>(QueueAt(now) + bounded * terms_.window, 0, 2 * terms_.capacity * terms_.window);
    if (queue != QueueAt(now)) Set(now, queue);
  }
  Int Delay(Int now) const override {
    const Int queued = QueueAt(now);
    return First(0, LongestFade(), [&](Int x) { return x * terms_.limit >= queued; });
  }
  Int LongestFade() const override { return terms_.window + 3 * terms_.capacity * terms_.window / terms_.limit + 2; }

  Int queue_ = 0;  ///< units * W
  Int last_ = 0;
};

/// Counts by window; what fixed window and sliding counter have in common.
class Counts : public Model {
 public:
  explicit Counts(Terms terms) : Model(terms) {}

 protected:
  Int WindowOf(Int t) const { return t / terms_.window; }
  Int Count(Int window) const {
    const auto found = counts_.find(window);
    return found == counts_.end() ? 0 : found->second;
  }
  virtual bool Live(Int window_at) const = 0;
  /// The instant as which t counts: the start of the window held when that is later.
  Int Effective(Int t) const { return Live(held_) && held_ > WindowOf(t) ? held_ * terms_.window : t; }
  bool PullBack(Int now) override {
    if (!Live(held_) || held_ * terms_.window <= now + terms_.window) return false;
    const Int current = Count(held_);
    const Int previous = Count(held_ - 1);
    counts_.clear();
    held_ = WindowOf(now);
    counts_[held_] = current;
    counts_[held_ - 1] = previous;
    return true;
  }
  void Spend(Int at, Int cost) override {
    Hold(WindowOf(Effective(at)));
    counts_[held_] += cost;
  }
  /// What lies before can no longer count, not even for a clock that goes backwards.
  void Hold(Int window) {
    held_ = window;
    std::erase_if(counts_, [&](const auto& entry) { return entry.first < window - 1; });
    if (!Live(window)) counts_.clear();
  }
  void Restore(const Model& other) override {
    counts_ = static_cast<const Counts&>(other).counts_;
    held_ = static_cast<const Counts&>(other).held_;
  }
  bool Change(Int window, Int units) {
    const Int before = Count(window);
    const Int room = std::max<Int>(0, 2 * terms_.limit - before);
    counts_[window] = std::max<Int>(0, before + std::min(units, room));
    return counts_[window] != before;
  }

  std::map<Int, Int> counts_;
  Int held_ = 0;
};

class FixedWindow : public Counts {
 public:
  using Counts::Counts;

 protected:
  std::unique_ptr<Model> Clone() const override { return std::make_unique<FixedWindow>(*this); }
  bool Live(Int window) const override { return Count(window) > 0; }
  bool Fits(Int at, Int cost) const override { return Count(WindowOf(Effective(at))) + cost <= terms_.limit; }
  bool IsNew(Int at) const override { return Count(WindowOf(Effective(at))) == 0; }
  void Add(Int now, Int charged_at, Int units) override {
    const Int window = WindowOf(Effective(now));
    if (window == WindowOf(charged_at) && Change(window, units)) Hold(window);
  }
};

class SlidingCounter : public Counts {
 public:
  using Counts::Counts;

 protected:
  std::unique_ptr<Model> Clone() const override { return std::make_unique<SlidingCounter>(*this); }
  bool Live(Int window) const override { return Count(window) > 0 || Count(window - 1) > 0; }
  bool Fits(Int at, Int cost) const override {
    const Int t = Effective(at);
    const Int e = t % terms_.window;
    const Int previous = Count(WindowOf(t) - 1);
    const Int current = Count(WindowOf(t));
    return previous * (terms_.window - e) + (current + cost) * terms_.window <= terms_.limit * terms_.window;
  }
  bool IsNew(Int at) const override { return !Live(WindowOf(Effective(at))); }
  void Add(Int now, Int charged_at, Int units) override {
    const Int window = WindowOf(Effective(now));
    const Int charged = WindowOf(charged_at);
    if ((charged == window || charged == window - 1) && Change(charged, units)) Hold(window);
  }
};

/// The entries admitted in (t - W, t].
class SlidingLog : public Model {
 public:
  explicit SlidingLog(Terms terms) : Model(terms) {}

  /// A settle does not store the firewall's repair: entries ahead of now stay where they are, and out of its reach.
  Answer Correct(Int now, Int charged_at, Int spent, Int actual) override {
    const bool ahead = Effective(now) > now + terms_.window;
    SlidingLog kept(*this);
    std::erase_if(events_, [&](const Event& event) { return ahead && event.at >= now; });
    std::erase_if(kept.events_, [&](const Event& event) { return !ahead || event.at < now; });
    Int elsewhere = 0;
    for (const Event& event : kept.events_) elsewhere += event.cost;
    Add(now, charged_at, actual - spent, elsewhere);
    events_.insert(events_.end(), kept.events_.begin(), kept.events_.end());
    SlidingLog seen(*this);
    return seen.Ask(now, terms_.limit + 1, false).AsSettled();
  }

 protected:
  struct Event {
    Int at;
    Int cost;
  };
  std::unique_ptr<Model> Clone() const override { return std::make_unique<SlidingLog>(*this); }
  void Restore(const Model& other) override { events_ = static_cast<const SlidingLog&>(other).events_; }
  Int Effective(Int t) const {
    for (const Event& event : events_) t = std::max(t, event.at);
    return t;
  }
  bool InForce(const Event& event, Int t) const { return event.at > t - terms_.window && event.at <= t; }
  Int Units(Int at) const {
    const Int t = Effective(at);
    Int units = 0;
    for (const Event& event : events_) units += InForce(event, t) ? event.cost : 0;
    return units;
  }
  bool PullBack(Int now) override {
    if (Effective(now) <= now + terms_.window) return false;
    for (Event& event : events_) event.at = std::min(event.at, now);
    return true;
  }
  bool Fits(Int at, Int cost) const override { return Units(at) + cost <= terms_.limit; }
  void Spend(Int at, Int cost) override {
    const Int t = Effective(at);
    std::erase_if(events_, [&](const Event& event) { return !InForce(event, t); });
    events_.push_back({t, cost});
  }
  bool IsNew(Int at) const override { return Units(at) == 0; }
  /// Only the entry of that very tick, while it is in force.
  void Add(Int now, Int charged_at, Int units) override { Add(now, charged_at, units, 0); }
  void Add(Int now, Int charged_at, Int units, Int elsewhere) {
    const Int t = Effective(now);
    Int held = 0;
    for (const Event& event : events_) held += event.at == charged_at && InForce(event, t) ? event.cost : 0;
    if (held == 0) return;
    const Int others = Units(now) - held + elsewhere;
    std::erase_if(events_, [&](const Event& event) { return event.at == charged_at; });
    const Int left = std::max<Int>(0, std::min(held + units, 2 * terms_.limit - others));
    if (left > 0) events_.push_back({charged_at, left});
  }
  std::vector<Event> events_;
};

inline std::unique_ptr<Model> MakeModel(const Numbers& numbers) {
  const Terms terms{static_cast<Int>(numbers.spec.limit), static_cast<Int>(numbers.spec.window / numbers.tick),
                    static_cast<Int>(numbers.spec.burst == 0 ? numbers.spec.limit : numbers.spec.burst)};
  switch (numbers.spec.algorithm) {
    case Algorithm::kTokenBucket:
      return std::make_unique<TokenBucket>(terms);
    case Algorithm::kLeakyBucket:
      return std::make_unique<LeakyBucket>(terms);
    case Algorithm::kFixedWindow:
      return std::make_unique<FixedWindow>(terms);
    case Algorithm::kSlidingLog:
      return std::make_unique<SlidingLog>(terms);
    case Algorithm::kSlidingCounter:
      return std::make_unique<SlidingCounter>(terms);
  }
  return nullptr;
}

}  // namespace ratel::naive
