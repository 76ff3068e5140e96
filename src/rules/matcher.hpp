// Which rule covers a request: compiled once, then a cost that does not grow with the number of rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"

namespace ratel {

/// An attribute of a request, borrowed.
struct AttributeView {
  std::string_view name;
  std::string_view value;
};

struct MatchQuery {
  std::string_view method;                    ///< any case
  std::string_view path;                      ///< in normal form
  std::span<const AttributeView> attributes;  ///< the first of a name counts
};

/// Immutable after Compile, so free to share between threads.
///
/// Which of two rules is more specific, first difference decides: more path segments; from the left, a literal segment before a {name} one; exact before
/// prefix before literal starts-with, and of two of these the longer; a named method before any; more conditions. Rules that are still equal
/// are told apart by what they say (attribute names, fewer methods, values, the methods, the name), never by their place in the file.
///
/// A query costs one look-up per segment, as deep as the rules' paths go, and one per kind of rule found there. Where a literal and a {name} segment
/// both lead on, the other branch is looked at only while it could hold something more specific: at worst each node of the tree
/// of paths that agrees with the query once, so never more than there are segments in the rules.
class Matcher {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxMatches = 32;  ///< rules that one request may meet under `match: all`

  Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Refers to rules by their index in `set.rules` and keeps nothing of `set`. Throws std::bad_alloc only; the set is already validated.
  static Matcher Compile(const RuleSet& set);

  /// The most specific rule that covers the query, else the default rule, else kNone. Never allocates.
  uint32_t Match(const MatchQuery& query) const noexcept;

  /// Every rule that covers the query, most specific first, without the default unless nothing else matches. Returns how many; never more than out.size()
  /// (then the most specific ones). Never allocates.
  size_t MatchAll(const MatchQuery& query, std::span<uint32_t> out) const noexcept;

  /// For explain: the rules whose path covers the query but which were passed over, each with the reason, most specific first. Under
  /// `match: all` a rule that covers the query applies, so kLessSpecific does not occur. The default is never listed.
  struct PassedOver {
    uint32_t rule;
    enum class Why : uint8_t { kMethod, kCondition, kLessSpecific } why;
  };
  std::vector<PassedOver> Explain(const MatchQuery& query) const;

  /// For tests: how many places (table slots, nodes, groups of rules) Match looks at for a query.
  size_t CountSteps(const MatchQuery& query) const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

/// Pairs of rules of which the first can never be reached because the second covers every request that it covers and is preferred: the same path
/// (parameter names do not matter), conditions and methods; a default beside a rule for everything. Under `match: all` only the latter.
struct Unreachable {
  uint32_t rule;
  uint32_t because_of;
};
std::vector<Unreachable> FindUnreachable(const RuleSet& set);

}  // namespace ratel
