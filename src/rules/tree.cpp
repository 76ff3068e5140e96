#include "rules/tree.hpp"

#include <map>
#include <tuple>
#include <utility>

#include "rules/pattern.hpp"

namespace ratel {

uint32_t RuleTree::MethodNumber(std::string_view method) const noexcept {
  if (methods_.empty()) return kOtherMethod;
  const auto same = [&](uint32_t i) { return SameText(method, methods_[i], true); };
  const uint32_t number = method_index_.Find(HashOfKey(KeyOfText(method, true), 0), same);
  return number == HashIndex::kAbsent ? kOtherMethod : number;
}

const std::string_view* RuleTree::ValueFor(Shape shape, uint32_t i, const Request& request) const noexcept {
  const std::string_view name = View(attribute_names_[shape.begin + i]);
  for (const AttributeView& attribute : request.attributes) {
    if (attribute.name == name) return &attribute.value;
  }
  return nullptr;
}

bool RuleTree::ConditionsHold(const Group& group, Entry entry, const Request& request) const noexcept {
  if (group.shape == kNone) return true;
  const Shape shape = shapes_[group.shape];
  for (uint32_t i = 0; i < shape.size; ++i) {
    const std::string_view* value = ValueFor(shape, i, request);
    if (value == nullptr || *value != View(values_[entry.values + i])) return false;
  }
  return true;
}

/// Where the walk stood `levels` segments ago.
size_t RuleTree::Rewind(std::string_view path, size_t next, uint32_t levels) noexcept {
  for (; levels > 0; --levels) next = path.rfind('/', next - 2) + 1;
  return next;
}

/// Builds in three steps: a node for each path, the rules sorted into groups, and the links between nodes.
class RuleTreeBuilder {
 public:
  explicit RuleTreeBuilder(const RuleSet& set) : set_(set), ranked_(RankRules(set, TieBreak::kName)) {}

  RuleTree Build() {
    tree_.fold_ = set_.ignore_case;
    tree_.rule_of_rank_ = ranked_.order;
    tree_.nodes_.emplace_back();
    CollectShapes();
    for (uint32_t rank = 0; rank < ranked_.order.size(); ++rank) AddRule(rank);
    MakeGroups();
    LinkNodes();
    MakeLiteralSizes();
    return std::move(tree_);
  }

 private:
  using Names = std::vector<std::string_view>;
  struct MoreNamesFirst {
    bool operator()(const Names& a, const Names& b) const { return a.size() != b.size() ? a.size() > b.size() : a < b; }
  };

  /// A rule under one of its methods, on its way into a group.
  struct Placed {
    uint32_t node;
    RuleTree::Reach reach;
    uint32_t method;
    uint32_t shape;
    uint32_t rank;
    auto GroupKey() const { return std::tuple(node, reach, method == RuleTree::kAnyMethod, shape, method); }
  };

  const Rule& RuleAt(uint32_t rank) const { return set_.rules[ranked_.order[rank]]; }

  RuleTree::Text Store(std::string_view piece) {
    const auto begin = static_cast<uint32_t>(tree_.text_.size());
    tree_.text_ += piece;
    return {begin, static_cast<uint32_t>(piece.size())};
  }

  static Names NamesOf(const Rule& rule) {
    Names names;
    for (const Condition& condition : rule.when) names.push_back(condition.attribute);
    return names;
  }

  void CollectShapes() {
    for (const uint32_t rule : ranked_.order) shape_of_names_.emplace(NamesOf(set_.rules[rule]), RuleTree::kNone);
    for (auto& [names, shape] : shape_of_names_) {
      if (names.empty()) continue;
      shape = static_cast<uint32_t>(tree_.shapes_.size());
      tree_.shapes_.push_back(
          {static_cast<uint32_t>(tree_.attribute_names_.size()), static_cast<uint32_t>(names.size())});
      for (const std::string_view name : names) tree_.attribute_names_.push_back(Store(name));
    }
  }

  void AddRule(uint32_t rank) {
    const Rule& rule = RuleAt(rank);
    const Pattern& pattern = ranked_.patterns[ranked_.order[rank]];
    Placed placed{NodeFor(pattern), ReachOf(pattern), RuleTree::kAnyMethod, shape_of_names_.at(NamesOf(rule)), rank};
    if (rule.methods.empty()) placed_.push_back(placed);
    for (const std::string& method : rule.methods) {
      placed.method = MethodFor(method);
      placed_.push_back(placed);
    }
  }

  static RuleTree::Reach ReachOf(const Pattern& pattern) {
    if (pattern.match != PathMatch::kExact) return RuleTree::Reach::kOnwards;
    const bool slash_at_end = pattern.text.size() > 1 && pattern.text.back() == '/';
    return slash_at_end ? RuleTree::Reach::kEndWithSlash : RuleTree::Reach::kEnd;
  }

  uint32_t MethodFor(std::string_view method) {
    const uint32_t known = tree_.MethodNumber(method);
    if (known != RuleTree::kOtherMethod) return known;
    const auto number = static_cast<uint32_t>(tree_.methods_.size());
    tree_.methods_.push_back(FoldCase(method));
    tree_.method_index_.Insert(HashOfKey(KeyOfText(method, true), 0), number);
    return number;
  }

  uint32_t NodeFor(const Pattern& pattern) {
    if (pattern.match == PathMatch::kLiteral) {
      return LiteralChild(RuleTree::kLiterals, pattern.text, 0);
    }
    uint32_t at = RuleTree::kRoot;
    uint32_t depth = 0;
    for (const Pattern::Segment& segment : pattern.segments) {
      ++depth;
      at = segment.parameter ? ParameterChild(at, depth) : LiteralChild(at, pattern.TextOf(segment), depth);
    }
    return at;
  }

  uint32_t LiteralChild(uint32_t parent, std::string_view text, uint32_t depth) {
    const TextKey key = KeyOfText(text, tree_.fold_);
    const uint32_t known = tree_.FindEdge(parent, key, text, [] {});
    if (known != RuleTree::kNone) return known;
    const uint32_t node = NewNode(parent, depth);
    tree_.nodes_[node].key = key;
    tree_.nodes_[node].text_begin = Store(text).begin;
    tree_.edges_.Insert(HashOfKey(key, parent), node);
    if (parent != RuleTree::kLiterals) {
      uint32_t& child = tree_.nodes_[parent].literal_child;
      child = child == RuleTree::kNone ? node : RuleTree::kMany;
    }
    return node;
  }

  uint32_t ParameterChild(uint32_t parent, uint32_t depth) {
    if (tree_.nodes_[parent].parameter_child == RuleTree::kNone) {
      const uint32_t node = NewNode(parent, depth);
      tree_.nodes_[parent].parameter_child = node;
    }
    return tree_.nodes_[parent].parameter_child;
  }

  uint32_t NewNode(uint32_t parent, uint32_t depth) {
    const auto number = static_cast<uint32_t>(tree_.nodes_.size());
    RuleTree::Node node;
    node.parent = parent;
    node.depth = depth;
    tree_.nodes_.push_back(node);
    return number;
  }

  int CompareValues(uint32_t left, uint32_t right) const {
    const Rule& a = RuleAt(left);
    const Rule& b = RuleAt(right);
    for (size_t i = 0; i < a.when.size(); ++i) {
      if (const int order = a.when[i].value.compare(b.when[i].value); order != 0) return order;
    }
    return 0;
  }

  bool Before(const Placed& a, const Placed& b) const {
    if (a.GroupKey() != b.GroupKey()) return a.GroupKey() < b.GroupKey();
    if (const int order = CompareValues(a.rank, b.rank); order != 0) return order < 0;
    return a.rank < b.rank;
  }

  void MakeGroups() {
    std::sort(placed_.begin(), placed_.end(), [this](const Placed& a, const Placed& b) { return Before(a, b); });
    const Placed* previous = nullptr;
    for (const Placed& placed : placed_) {
      const bool same_group = previous != nullptr && previous->GroupKey() == placed.GroupKey();
      if (same_group && previous->rank == placed.rank) continue;
      if (!same_group) OpenGroup(placed);
      const bool same_values = same_group && CompareValues(previous->rank, placed.rank) == 0;
      AddEntry(placed, same_values);
      previous = &placed;
    }
  }

  void OpenGroup(const Placed& placed) {
    RuleTree::Node& node = tree_.nodes_[placed.node];
    if (node.groups_end == 0) node.groups_begin = static_cast<uint32_t>(tree_.groups_.size());
    const auto begin = static_cast<uint32_t>(tree_.entries_.size());
    tree_.groups_.push_back({placed.method, placed.shape, placed.rank, begin, begin, placed.reach});
    node.groups_end = static_cast<uint32_t>(tree_.groups_.size());
  }

  void AddEntry(const Placed& placed, bool same_values) {
    const auto number = static_cast<uint32_t>(tree_.entries_.size());
    RuleTree::Entry entry{placed.rank, 0};
    if (same_values) {
      entry.values = tree_.entries_.back().values;
    } else if (placed.shape != RuleTree::kNone) {
      entry.values = static_cast<uint32_t>(tree_.values_.size());
      IndexValues(placed.rank, number);
    }
    tree_.entries_.push_back(entry);
    ++tree_.groups_.back().end;
    RuleTree::Node& node = tree_.nodes_[placed.node];
    node.best = std::min(node.best, placed.rank);
  }

  void IndexValues(uint32_t rank, uint32_t entry) {
    uint64_t seed = tree_.groups_.size() - 1;
    for (const Condition& condition : RuleAt(rank).when) {
      tree_.values_.push_back(Store(condition.value));
      seed = RuleTree::AddToSeed(seed, condition.value);
    }
    tree_.conditions_.Insert(HashOfKey({}, seed), entry);
  }

  /// Parents stand before their children.
  void LinkNodes() {
    std::vector<RuleTree::Node>& nodes = tree_.nodes_;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      RuleTree::Node& node = nodes[i];
      const bool has_parent = i != RuleTree::kRoot && node.parent != RuleTree::kLiterals;
      if (has_parent) {
        const RuleTree::Node& parent = nodes[node.parent];
        const bool has_sibling = parent.parameter_child != RuleTree::kNone && parent.parameter_child != i;
        node.choice = has_sibling ? parent.parameter_child : parent.choice;
        node.carrier = parent.carrier;
      }
      if (node.groups_end > 0) node.carrier = i;
    }
    for (auto i = static_cast<uint32_t>(nodes.size()); i-- > 1;) {
      if (nodes[i].parent == RuleTree::kLiterals) continue;
      RuleTree::Node& parent = nodes[nodes[i].parent];
      parent.best = std::min(parent.best, nodes[i].best);
    }
  }

  void MakeLiteralSizes() {
    std::map<uint32_t, uint32_t> best_of_size;
    for (const RuleTree::Node& node : tree_.nodes_) {
      if (node.parent != RuleTree::kLiterals) continue;
      uint32_t& best = best_of_size.emplace(node.key.size, RuleTree::kNone).first->second;
      best = std::min(best, node.best);
    }
    for (const auto& [size, best] : best_of_size) tree_.literal_sizes_.push_back({size, best});
    std::reverse(tree_.literal_sizes_.begin(), tree_.literal_sizes_.end());
  }

  const RuleSet& set_;
  RankedRules ranked_;
  RuleTree tree_;
  std::map<Names, uint32_t, MoreNamesFirst> shape_of_names_;
  std::vector<Placed> placed_;
};

RuleTree RuleTree::Build(const RuleSet& set) { return RuleTreeBuilder(set).Build(); }

}  // namespace ratel
