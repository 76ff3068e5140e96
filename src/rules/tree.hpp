// The tree of paths that a rule set is compiled to. One node per distinct beginning of a rule's path; below a node, literal segments are found in one
// hash table that all nodes share, a {name} segment by a link:
//
//     GET  /orders/{id}          (root) --orders--> 1 --{}--> 2 --items--> 3
//     POST /orders                                  1 --export--> 4
//     GET  /orders/{id}/items
//     GET  /orders/export
//
// A walk goes down as long as a segment leads on, prefers the literal one, and then looks upwards for a rule that covers the query. Length decides
// first, so the first hit is the best of its branch. `choice` leads from each node to the {name} branch that was left out last on the way
// to it, so going back needs no stack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/hash_index.hpp"
#include "rules/matcher.hpp"
#include "rules/rule.hpp"
#include "rules/text_key.hpp"

namespace ratel {

/// A compiled rule set. Rules appear by rank: 0 is the most specific. Immutable once built.
class RuleTree {
 public:
  static constexpr uint32_t kNone = Matcher::kNone;
  static constexpr uint32_t kAnyMethod = kNone;

  /// How far a rule reaches from its node, and where in the path a walk stands at a node.
  enum class Reach : uint8_t { kEnd, kEndWithSlash, kOnwards };
  static constexpr bool Covers(Reach rule, Reach walk) { return rule == Reach::kOnwards || rule == walk; }

  /// A piece of the tree's own text.
  struct Text {
    uint32_t begin = 0;
    uint32_t size = 0;
  };

  /// One cache line.
  struct alignas(64) Node {
    TextKey key;              ///< of its segment; of all of a starts-with pattern
    uint32_t text_begin = 0;  ///< where that stands in the tree's text
    uint32_t parent = kNone;
    uint32_t literal_child = kNone;  ///< the only one; kMany: found in the table of edges
    uint32_t parameter_child = kNone;
    uint32_t choice = kNone;   ///< where a walk that has been here goes on; never this node or one below
    uint32_t carrier = kNone;  ///< the nearest node with rules: itself or above
    uint32_t depth = 0;
    uint32_t groups_begin = 0;
    uint32_t groups_end = 0;
    uint32_t best = kNone;  ///< the best rank here or below

    bool is_leaf() const noexcept { return (literal_child & parameter_child) == kNone; }
  };

  /// Rules of one node with the same method and the same attribute names, told apart by the values they ask for. A node's groups stand in
  /// order of specificity.
  struct Group {
    uint32_t method = kAnyMethod;
    uint32_t shape = kNone;       ///< kNone: no attributes
    uint32_t first_rank = kNone;  ///< of the first entry
    uint32_t begin = 0;           ///< entries, ordered by values, then rank
    uint32_t end = 0;
    Reach reach = Reach::kOnwards;
  };

  /// One rule in a group. Those that ask for the same values share `values`.
  struct Entry {
    uint32_t rank = 0;
    uint32_t values = 0;
  };

  /// The attribute names of a group.
  struct Shape {
    uint32_t begin = 0;
    uint32_t size = 0;
  };

  struct Request {
    uint32_t method = 0;
    std::span<const AttributeView> attributes;
  };

  static RuleTree Build(const RuleSet& set);

  uint32_t rule_count() const noexcept { return static_cast<uint32_t>(rule_of_rank_.size()); }
  uint32_t RuleOf(uint32_t rank) const noexcept { return rule_of_rank_[rank]; }
  std::span<const Group> groups() const noexcept { return groups_; }
  std::span<const Entry> entries() const noexcept { return entries_; }
  Request Prepare(const MatchQuery& query) const noexcept { return {MethodNumber(query.method), query.attributes}; }

  /// Takes every node that the path leads to before a visitor, branch by branch and each branch from its deepest node upwards.
  /// `visit.At(node, reach)` says whether the rest of the branch may be left out, `visit.bar()` is the rank from which on nothing is wanted,
  /// `visit.Step()` counts.
  template <class Visitor>
  void Walk(std::string_view path, Visitor& visit) const;

  /// The first entry of a group whose method and conditions hold, kNone when there is none. The others that hold follow it and share its `values`.
  template <class Step>
  uint32_t FirstHolding(uint32_t number, const Request& request, Step step) const noexcept {
    const Group& group = groups_[number];
    if (!MethodHolds(group, request)) return kNone;
    return group.shape == kNone ? group.begin : FirstWithValues(number, request, step);
  }
  static bool MethodHolds(const Group& group, const Request& request) noexcept {
    return group.method == kAnyMethod || group.method == request.method;
  }
  bool ConditionsHold(const Group& group, Entry entry, const Request& request) const noexcept;

 private:
  friend class RuleTreeBuilder;
  static constexpr uint32_t kRoot = 0;
  static constexpr uint32_t kLiterals = kNone - 1;     ///< the parent of starts-with patterns
  static constexpr uint32_t kMany = kNone - 1;         ///< as literal_child
  static constexpr uint32_t kOtherMethod = kNone - 1;  ///< one that no rule names

  /// A size that starts-with patterns have, and the best rank among those.
  struct LiteralSize {
    uint32_t size = 0;
    uint32_t best = kNone;
  };

  std::string_view View(Text piece) const noexcept { return {text_.data() + piece.begin, piece.size}; }
  uint32_t MethodNumber(std::string_view method) const noexcept;
  const std::string_view* ValueFor(Shape shape, uint32_t i, const Request& request) const noexcept;
  /// Whether a node's text is `text`, whose key is `key`.
  bool HasText(const Node& node, const TextKey& key, std::string_view text) const noexcept {
    return node.key == key && (key.is_whole() || SameText(text, View({node.text_begin, key.size}), fold_));
  }
  template <class Step>
  uint32_t FirstWithValues(uint32_t number, const Request& request, Step step) const noexcept;
  template <class Step>
  uint32_t FindEdge(uint32_t parent, const TextKey& key, std::string_view text, Step step) const noexcept;
  /// The literal child, of many, that the segment at `at` leads to.
  template <class Step>
  uint32_t ChildOfMany(uint32_t parent, std::string_view path, size_t at, Step step) const noexcept;
  /// Whether the segment at `at` (below the path's size) is a node's.
  [[gnu::always_inline]] bool IsSegment(const Node& node, std::string_view path, size_t at) const noexcept {
    const size_t size = node.key.size;
    const size_t left = path.size() - at;
    if (left < size || (left > size && path[at + size] != '/')) return false;
    if (node.key.is_whole()) [[likely]]
      return HasKeyAt(path, at, node.key, fold_);
    return SameText(path.substr(at, size), View({node.text_begin, node.key.size}), fold_);
  }
  template <class Visitor>
  void VisitBranch(uint32_t deepest, uint32_t shared_depth, Reach reach, Visitor& visit) const;
  template <class Visitor>
  void VisitLiterals(std::string_view path, Visitor& visit) const;
  static Reach ReachAt(std::string_view path, size_t next) noexcept {
    if (next < path.size()) return Reach::kOnwards;
    return next == path.size() && next > 1 ? Reach::kEndWithSlash : Reach::kEnd;
  }
  static size_t Rewind(std::string_view path, size_t next, uint32_t levels) noexcept;
  static uint64_t AddToSeed(uint64_t seed, std::string_view value) noexcept {
    return seed << 32 | HashOfKey(KeyOfText(value, false), seed);
  }

  std::string text_;
  std::vector<Node> nodes_;
  HashIndex edges_;  ///< (parent, segment) -> node
  std::vector<LiteralSize> literal_sizes_;
  std::vector<Group> groups_;
  std::vector<Entry> entries_;
  HashIndex conditions_;  ///< (group, values) -> the first entry that asks for them
  std::vector<Text> values_;
  std::vector<Shape> shapes_;
  std::vector<Text> attribute_names_;
  HashIndex method_index_;
  std::vector<std::string> methods_;  ///< folded
  std::vector<uint32_t> rule_of_rank_;
  bool fold_ = false;
};

template <class Step>
uint32_t RuleTree::FindEdge(uint32_t parent, const TextKey& key, std::string_view text, Step step) const noexcept {
  const auto same = [&](uint32_t i) { return nodes_[i].parent == parent && HasText(nodes_[i], key, text); };
  return edges_.Find(HashOfKey(key, parent), same, step);
}

// Not inlined: a walk whose nodes have one literal child each, as most have, then stays in registers.
template <class Step>
[[gnu::noinline]] uint32_t RuleTree::ChildOfMany(uint32_t parent, std::string_view path, size_t at,
                                                 Step step) const noexcept {
  const TextKey key = KeyOfSegment(path, at, fold_);
  return FindEdge(parent, key, path.substr(at, key.size), step);
}

template <class Visitor>
void RuleTree::Walk(std::string_view path, Visitor& visit) const {
  const auto step = [&visit] { visit.Step(); };
  uint32_t at = kRoot;
  uint32_t shared_depth = 0;
  size_t next = 1;
  for (;;) {
    while (next < path.size() && !nodes_[at].is_leaf()) {
      uint32_t child = nodes_[at].literal_child;
      if (child == kMany) {
        child = ChildOfMany(at, path, next, step);
      } else if (child != kNone) {
        step();
        if (!IsSegment(nodes_[child], path, next)) child = kNone;
      }
      if (child != kNone) {
        next += nodes_[child].key.size + 1;
      } else {
        child = nodes_[at].parameter_child;
        if (child == kNone) break;
        next = std::min(path.find('/', next), path.size()) + 1;
      }
      step();
      at = child;
    }
    VisitBranch(at, shared_depth, ReachAt(path, next), visit);
    uint32_t choice = nodes_[at].choice;
    while (choice != kNone && nodes_[choice].best >= visit.bar()) {
      step();
      choice = nodes_[choice].choice;
    }
    if (choice == kNone) break;
    shared_depth = nodes_[choice].depth;
    next = Rewind(path, next, nodes_[at].depth - shared_depth);
    at = choice;
  }
  VisitLiterals(path, visit);
}

template <class Visitor>
void RuleTree::VisitBranch(uint32_t deepest, uint32_t shared_depth, Reach reach, Visitor& visit) const {
  uint32_t at = nodes_[deepest].carrier;
  while (at != kNone && nodes_[at].depth >= shared_depth) {
    visit.Step();
    if (visit.At(nodes_[at], at == deepest ? reach : Reach::kOnwards)) return;
    const uint32_t parent = nodes_[at].parent;
    at = parent == kNone ? kNone : nodes_[parent].carrier;
  }
}

template <class Visitor>
void RuleTree::VisitLiterals(std::string_view path, Visitor& visit) const {
  const auto step = [&visit] { visit.Step(); };
  for (const LiteralSize& literal : literal_sizes_) {
    step();
    if (literal.size > path.size() || literal.best >= visit.bar()) continue;
    const std::string_view start = path.substr(0, literal.size);
    const uint32_t node = FindEdge(kLiterals, KeyOfText(start, fold_), start, step);
    if (node != kNone) visit.At(nodes_[node], Reach::kOnwards);
  }
}

template <class Step>
uint32_t RuleTree::FirstWithValues(uint32_t number, const Request& request, Step step) const noexcept {
  const Group& group = groups_[number];
  const Shape shape = shapes_[group.shape];
  uint64_t seed = number;
  for (uint32_t i = 0; i < shape.size; ++i) {
    const std::string_view* value = ValueFor(shape, i, request);
    if (value == nullptr) return kNone;
    seed = AddToSeed(seed, *value);
  }
  const auto same = [&](uint32_t i) {
    return i >= group.begin && i < group.end && ConditionsHold(group, entries_[i], request);
  };
  return conditions_.Find(HashOfKey({}, seed), same, step);
}

}  // namespace ratel
