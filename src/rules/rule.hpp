// What a rule file says, validated: plain values, no behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "algorithm/numbers.hpp"
#include "core/address.hpp"
#include "core/forwarded.hpp"
#include "core/result.hpp"

namespace ratel {

enum class ScopePart : uint8_t { kUser = 1, kApiKey = 2, kIp = 3, kGlobal = 4, kAttribute = 5 };

/// One part of whose budget it is; several make a composite key.
struct ScopeElement {
  ScopePart part = ScopePart::kUser;
  std::string attribute;  ///< kAttribute: its name
  friend bool operator==(const ScopeElement&, const ScopeElement&) = default;
};
using Scope = std::vector<ScopeElement>;

/// "user", "attribute:tenant", "user,ip" ...
std::string ToText(const Scope& scope);

/// Another limit for one value of a limit's (single-part) scope.
struct Override {
  std::string value;
  LimitSpec spec;
  Position position;
};

struct Limit {
  std::string name;  ///< unique within its rule; never empty after loading
  Scope scope;
  LimitSpec spec;
  bool shadow = false;
  std::vector<Override> overrides;
  Position position;
};

enum class PathMatch : uint8_t { kPrefix, kLiteral, kExact };
enum class OnStoreError : uint8_t { kLocal, kOpen, kClosed };
/// What a process may decide without asking a shared store: each includes the one before.
enum class LocalTier : uint8_t { kNone, kDenials, kLeases };
/// As rule files say it.
const char* ToText(LocalTier tier) noexcept;
enum class Action : uint8_t { kLimit, kBlock, kUnlimited };

struct Condition {
  std::string attribute;
  std::string value;
  friend bool operator==(const Condition&, const Condition&) = default;
  friend auto operator<=>(const Condition&, const Condition&) = default;
};

struct Rule {
  std::string name;                  ///< unique, printable ASCII, no quote or backslash
  std::vector<std::string> methods;  ///< in capitals, sorted; empty = any
  std::string path;                  ///< in normal form, with {name} segments; empty = any
  PathMatch path_match = PathMatch::kPrefix;
  std::vector<Condition> when;  ///< sorted by attribute; all must hold
  std::vector<Limit> limits;    ///< empty exactly when action is not kLimit
  Action action = Action::kLimit;
  OnStoreError on_store_error = OnStoreError::kLocal;
  LocalTier local_tier = LocalTier::kNone;
  bool shadow = false;  ///< every limit of it is a shadow
  bool is_default = false;
  bool is_global = false;  ///< `region: global`: its limits are whole in every region
  uint64_t cost = 1;       ///< units of a request that states none
  std::string file;
  Position position;
};

/// Which header forms; bits are those of RL_HEADERS_*.
struct HeaderOptions {
  uint32_t forms = 0;  ///< 0 = X-RateLimit-* and Retry-After
};

/// Who has which share of the limits.
struct Region {
  std::string name;
  uint64_t weight = 1;
  friend bool operator==(const Region&, const Region&) = default;
};

/// A whole rule file (or several), validated.
struct RuleSet {
  std::vector<Rule> rules;   ///< as loaded; at most one is_default
  bool match_all = false;    ///< `match: all`
  bool ignore_case = false;  ///< paths
  std::vector<Network> trusted_proxies;
  ForwardedField client_ip_from = ForwardedField::kAny;  ///< the field that trusted proxies write
  unsigned ipv6_prefix = 64;
  uint64_t max_keys = 0;   ///< 0 = not stated
  uint32_t instances = 1;  ///< how many processes share the store, for local limits while it is down
  double local_factor = 1.0;
  Micros lease_life = 1'000'000;  ///< units paid in advance are used within this, or a tenth of the window
  uint64_t lease_units = 10'000;  ///< the most that one payment asks for
  HeaderOptions headers;
  std::vector<Region> regions;
  std::string region;  ///< whose share the limits are; empty = they are whole
};

}  // namespace ratel
