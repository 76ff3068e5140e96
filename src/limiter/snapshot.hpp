// A rule set compiled for deciding. Immutable; requests read it while the next one is made.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/hash.hpp"
#include "limiter/book.hpp"
#include "report/decision.hpp"
#include "rules/matcher.hpp"
#include "rules/rule.hpp"
#include "rules/shared_scope.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// One set of numbers of a limit with its versions in the storage and in the fallback.
struct VersionedNumbers {
  Numbers numbers;
  Numbers local;  ///< the share of this process while the storage fails
  uint16_t version = 0;
  uint16_t local_version = 0;
};

/// What an answer says about the numbers that it was decided under.
inline void TellNumbers(const Numbers& numbers, Decision& out) noexcept {
  out.limit = numbers.spec.limit;
  out.window_ns = numbers.spec.window * 1000;
  out.capacity = numbers.capacity;
}

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
};

struct CompiledLimit {
  const Limit* source = nullptr;
  std::shared_ptr<LimitRecord> record;
  Hash128 salt;
  uint32_t id = 0;
  uint64_t since = 0;  ///< the first generation of those, without a gap, that have had it
  bool shadow = false;
  uint8_t plain_kind = 0;  ///< KeyBuilder::PlainKind of its only part, if there is one and no overrides
  Hash128 plain_salt;      ///< turns the hash of such a part's bytes into the key
  VersionedNumbers base;
  std::unordered_map<std::string, VersionedNumbers, TextHash, std::equal_to<>> overrides;

  const VersionedNumbers& NumbersFor(std::string_view value) const noexcept {
    if (overrides.empty()) return base;
    const auto found = overrides.find(value);
    return found == overrides.end() ? base : found->second;
  }
};

struct CompiledRule {
  const Rule* source = nullptr;
  uint32_t id = 0;
  RuleCounters counters;
  std::vector<CompiledLimit> limits;
  SharedScope shared;     ///< what Charge::group is made from, unless it is each limit's own affair
  bool enforced = false;  ///< some limit is no shadow
  bool single = false;    ///< exactly one limit, and it is no shadow: the short way is open
  Decision answer;        ///< of the short way, under the limit's base numbers: what does not depend on the request
};

class Snapshot : public std::enable_shared_from_this<Snapshot> {
 public:
  /// May throw std::bad_alloc; what was added to the book by then does no harm.
  static std::shared_ptr<const Snapshot> Compile(RuleSet set, Book& book, uint64_t generation,
                                                 Grouping grouping = Grouping::kByLimit);

  const RuleSet& set() const noexcept { return set_; }
  const Matcher& matcher() const noexcept { return matcher_; }
  uint64_t generation() const noexcept { return generation_; }
  Grouping grouping() const noexcept { return grouping_; }
  const std::vector<CompiledRule>& rules() const noexcept { return rules_; }
  /// nullptr when no such rule is in force.
  const CompiledRule* ById(uint32_t id) const noexcept { return id < by_id_.size() ? by_id_[id] : nullptr; }
  /// The id of a rule in force by its name, 0 when there is none.
  uint32_t IdOf(std::string_view name) const noexcept {
    const auto found = ids_.find(name);
    return found == ids_.end() ? 0 : found->second;
  }

 private:
  void CompileRule(const Rule& rule, Book& book);

  RuleSet set_;
  Matcher matcher_;
  std::vector<CompiledRule> rules_;  ///< same order as set_.rules
  std::vector<const CompiledRule*> by_id_;
  std::unordered_map<std::string, uint32_t, TextHash, std::equal_to<>> ids_;
  uint64_t generation_ = 0;
  Grouping grouping_ = Grouping::kByLimit;
};

/// The rules by name whose states a store that groups them (`after` says how) will not find any more, as what their limits share has changed.
std::vector<std::string> RulesThatMove(const Snapshot& before, const Snapshot& after);

}  // namespace ratel
