#include "rules/matcher.hpp"

#include <algorithm>
#include <utility>

#include "rules/tree.hpp"

namespace ratel {

struct Matcher::Impl {
  RuleTree tree;
  uint32_t default_rule = kNone;
  bool match_all = false;
};

namespace {

struct NoCount {
  void operator()() const noexcept {}
};

struct Counter {
  size_t* count;
  void operator()() const noexcept { ++*count; }
};

/// Keeps the best rank; the first hit ends a branch.
template <class StepFunction>
class BestVisitor {
 public:
  BestVisitor(const RuleTree& tree, const MatchQuery& query, StepFunction step) noexcept
      : tree_(tree), request_(tree.Prepare(query)), step_(step) {}

  uint32_t bar() const noexcept { return best_; }
  void Step() const noexcept { step_(); }
  bool At(const RuleTree::Node& node, RuleTree::Reach reach) noexcept {
    for (uint32_t i = node.groups_begin; i < node.groups_end; ++i) {
      step_();
      const RuleTree::Group& group = tree_.groups()[i];
      if (!RuleTree::Covers(group.reach, reach)) continue;
      const uint32_t entry = tree_.FirstHolding(i, request_, step_);
      if (entry == RuleTree::kNone) continue;
      best_ = std::min(best_, entry == group.begin ? group.first_rank : tree_.entries()[entry].rank);
      return true;
    }
    return false;
  }

 private:
  const RuleTree& tree_;
  RuleTree::Request request_;
  StepFunction step_;
  uint32_t best_ = RuleTree::kNone;
};

/// Keeps the best ranks, as many as `out` holds, in order.
class AllVisitor {
 public:
  AllVisitor(const RuleTree& tree, const MatchQuery& query, std::span<uint32_t> out) noexcept
      : tree_(tree), request_(tree.Prepare(query)), out_(out) {}

  size_t size() const noexcept { return size_; }
  uint32_t bar() const noexcept { return size_ < out_.size() ? RuleTree::kNone : out_.back(); }
  void Step() const noexcept {}
  bool At(const RuleTree::Node& node, RuleTree::Reach reach) noexcept {
    for (uint32_t i = node.groups_begin; i < node.groups_end; ++i) {
      const RuleTree::Group& group = tree_.groups()[i];
      if (!RuleTree::Covers(group.reach, reach)) continue;
      const uint32_t first = tree_.FirstHolding(i, request_, NoCount());
      if (first == RuleTree::kNone) continue;
      const uint32_t values = tree_.entries()[first].values;
      for (uint32_t j = first; j < group.end && tree_.entries()[j].values == values; ++j) {
        if (!Take(tree_.entries()[j].rank)) break;
      }
    }
    return false;
  }

 private:
  bool Take(uint32_t rank) noexcept {
    if (rank >= bar()) return false;
    if (size_ < out_.size()) ++size_;
    size_t i = size_ - 1;
    for (; i > 0 && out_[i - 1] > rank; --i) out_[i] = out_[i - 1];
    out_[i] = rank;
    return true;
  }

  const RuleTree& tree_;
  RuleTree::Request request_;
  std::span<uint32_t> out_;
  size_t size_ = 0;
};

/// Notes of every rule whose path covers the query how far it got.
class ExplainVisitor {
 public:
  enum class How : uint8_t { kMethod, kCondition, kHolds };
  struct Note {
    uint32_t rank;
    How how;
  };

  ExplainVisitor(const RuleTree& tree, const MatchQuery& query) : tree_(tree), request_(tree.Prepare(query)) {}

  uint32_t bar() const noexcept { return RuleTree::kNone; }
  void Step() const noexcept {}
  bool At(const RuleTree::Node& node, RuleTree::Reach reach) {
    for (uint32_t i = node.groups_begin; i < node.groups_end; ++i) {
      const RuleTree::Group& group = tree_.groups()[i];
      if (!RuleTree::Covers(group.reach, reach)) continue;
      for (uint32_t j = group.begin; j < group.end; ++j) {
        const RuleTree::Entry entry = tree_.entries()[j];
        notes_.push_back({entry.rank, HowFar(group, entry)});
      }
    }
    return false;
  }

  /// By rank, each rule once: a rule with several methods counts with the one that came furthest.
  std::vector<Note> Notes() {
    std::sort(notes_.begin(), notes_.end(),
              [](Note a, Note b) { return a.rank != b.rank ? a.rank < b.rank : a.how > b.how; });
    const auto same = [](Note a, Note b) { return a.rank == b.rank; };
    notes_.erase(std::unique(notes_.begin(), notes_.end(), same), notes_.end());
    return std::move(notes_);
  }

 private:
  How HowFar(const RuleTree::Group& group, RuleTree::Entry entry) const {
    if (!RuleTree::MethodHolds(group, request_)) return How::kMethod;
    return tree_.ConditionsHold(group, entry, request_) ? How::kHolds : How::kCondition;
  }

  const RuleTree& tree_;
  RuleTree::Request request_;
  std::vector<Note> notes_;
};

}  // namespace

Matcher::Matcher() : impl_(std::make_unique<const Impl>(Impl{RuleTree::Build(RuleSet{})})) {}
Matcher::Matcher(Matcher&&) noexcept = default;
Matcher& Matcher::operator=(Matcher&&) noexcept = default;
Matcher::~Matcher() = default;

Matcher Matcher::Compile(const RuleSet& set) {
  Impl impl{RuleTree::Build(set)};
  impl.match_all = set.match_all;
  for (uint32_t i = 0; i < set.rules.size(); ++i) {
    if (set.rules[i].is_default) impl.default_rule = i;
  }
  Matcher matcher;
  matcher.impl_ = std::make_unique<const Impl>(std::move(impl));
  return matcher;
}

uint32_t Matcher::Match(const MatchQuery& query) const noexcept {
  BestVisitor visitor(impl_->tree, query, NoCount());
  impl_->tree.Walk(query.path, visitor);
  return visitor.bar() == kNone ? impl_->default_rule : impl_->tree.RuleOf(visitor.bar());
}

size_t Matcher::CountSteps(const MatchQuery& query) const noexcept {
  size_t steps = 0;
  BestVisitor visitor(impl_->tree, query, Counter{&steps});
  impl_->tree.Walk(query.path, visitor);
  return steps;
}

size_t Matcher::MatchAll(const MatchQuery& query, std::span<uint32_t> out) const noexcept {
  if (out.empty()) return 0;
  AllVisitor visitor(impl_->tree, query, out);
  impl_->tree.Walk(query.path, visitor);
  for (size_t i = 0; i < visitor.size(); ++i) out[i] = impl_->tree.RuleOf(out[i]);
  if (visitor.size() > 0 || impl_->default_rule == kNone) return visitor.size();
  out[0] = impl_->default_rule;
  return 1;
}

std::vector<Matcher::PassedOver> Matcher::Explain(const MatchQuery& query) const {
  ExplainVisitor visitor(impl_->tree, query);
  impl_->tree.Walk(query.path, visitor);
  std::vector<PassedOver> passed_over;
  bool matched = false;
  for (const ExplainVisitor::Note& note : visitor.Notes()) {
    const uint32_t rule = impl_->tree.RuleOf(note.rank);
    if (note.how == ExplainVisitor::How::kMethod) passed_over.push_back({rule, PassedOver::Why::kMethod});
    if (note.how == ExplainVisitor::How::kCondition) passed_over.push_back({rule, PassedOver::Why::kCondition});
    if (note.how != ExplainVisitor::How::kHolds) continue;
    if (matched && !impl_->match_all) passed_over.push_back({rule, PassedOver::Why::kLessSpecific});
    matched = true;
  }
  return passed_over;
}

}  // namespace ratel
