// Which rule covers a request: compiled once, then a cost that does not grow with the number of rules.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "rules/rule.hpp"

namespace ratel {

/// An attribute of a request, borrowed.
struct AttributeView {
  std::string_view name;
  std::string_view value;
};

struct MatchQuery {
  std::string_view method;  ///< any case
  std::string_view path;    ///< in normal form
  std::span<const AttributeView> attributes;
};

/// Immutable after Compile, so free to share between threads.
class Matcher {
 public:
  static constexpr uint32_t kNone = UINT32_MAX;
  static constexpr size_t kMaxMatches = 32;  ///< rules that one request may meet under `match: all`

  Matcher();
  Matcher(Matcher&&) noexcept;
  Matcher& operator=(Matcher&&) noexcept;
  ~Matcher();

  /// Refers to rules by their index in `set.rules`. Throws std::bad_alloc only; the set is already validated.
  static Matcher Compile(const RuleSet& set);

  /// The most specific rule that covers the query: longest path (segments, a literal segment before a {name} one, exact before prefix before
  /// literal starts-with), then exact method over any, then more conditions. Else the default rule, else kNone.
  uint32_t Match(const MatchQuery& query) const noexcept;

  /// Every rule that covers the query, most specific first, without the default unless nothing else matches. Returns how many; never more than out.size().
  size_t MatchAll(const MatchQuery& query, std::span<uint32_t> out) const noexcept;

  /// For explain: the rules whose path covers the query but which were passed over, each with the reason, in order of preference after the match.
  struct PassedOver {
    uint32_t rule;
    enum class Why : uint8_t { kMethod, kCondition, kLessSpecific } why;
  };
  std::vector<PassedOver> Explain(const MatchQuery& query) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// Pairs of rules of which the second can never be reached because the first covers just the same requests (same path, methods, conditions).
struct Unreachable {
  uint32_t rule;
  uint32_t because_of;
};
std::vector<Unreachable> FindUnreachable(const RuleSet& set);

}  // namespace ratel
