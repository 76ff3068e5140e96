// Whose budget: the key of one limit, built from what is known about the request.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/address.hpp"
#include "core/hash.hpp"
#include "rules/matcher.hpp"
#include "rules/rule.hpp"

namespace ratel {

/// What a key can be made of. Empty = not known.
struct Identity {
  std::string_view user;
  std::string_view api_key;
  std::string_view ip;            ///< text, as the caller gave it
  std::string_view key;           ///< with `has_key`: the value of every part but global
  bool has_key = false;
  std::span<const AttributeView> attributes;
};

/// A key value, tagged and with lengths so that no two different ones meet.
struct BuiltKey {
  Hash128 hash;                ///< of the value alone; the limit's salt is mixed in by the caller
  std::string_view override_value;  ///< what overrides are looked up by: the value of a single-part scope; empty for a composite key or global
  bool unknown_client = false; ///< it fell back to the address and there was no usable one
};

/// Builds keys for one request: the address is parsed once, nothing is allocated, any length is taken (long values enter as their hash).
/// user and api_key fall back to the address, an unusable address to the shared value "unknown", a missing attribute to the address likewise.
class KeyBuilder {
 public:
  KeyBuilder(const KeyedHasher& hasher, const Identity& identity, unsigned ipv6_prefix) noexcept;
  BuiltKey Build(const Scope& scope) const noexcept;
  /// "user=alice,ip=192.0.2.1": for explain and for readable keys; bytes that are not printable ASCII (and '%', ',', '=') as %XX.
  std::string Readable(const Scope& scope) const;

 private:
  const KeyedHasher& hasher_;
  const Identity& identity_;
  std::optional<Address> address_;
  std::string_view address_text_;
  char address_buffer_[48];
};

/// The state identity of a limit: hashed with the same secret from the rule's and the limit's name and the algorithm (never its numbers).
Hash128 LimitSalt(const KeyedHasher& hasher, std::string_view rule, std::string_view limit, const Scope& scope, Algorithm algorithm) noexcept;

}  // namespace ratel
