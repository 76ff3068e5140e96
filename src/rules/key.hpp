// Whose budget: the key of one limit, built from what is known about the request.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
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
  std::string_view ip;  ///< text, as the caller gave it
  std::string_view
      key;  ///< with `has_key`: the value of every part but global; user, api_key, ip and attributes are not looked at then
  bool has_key = false;
  std::span<const AttributeView> attributes;  ///< the first of a name counts

  static Identity OfKey(std::string_view key) noexcept {
    Identity identity;
    identity.key = key;
    identity.has_key = true;
    return identity;
  }
};

/// A key value, tagged and with lengths so that no two different ones meet.
struct BuiltKey {
  Hash128 hash;  ///< of the value alone; the limit's salt is mixed in by the caller
  /// What overrides are looked up by: the value of a single-part scope (an address as canonical text, cut). Empty = no override can apply: a composite
  /// key, global, or a fallback to the address. Valid while the builder and the identity are.
  std::string_view override_value;
  bool unknown_client = false;  ///< it fell back to the address and there was no usable one
};

/// Builds keys for one request: the address is parsed once and only when a scope needs it, nothing is allocated, any length is taken (long values
/// enter as their hash).
///
/// user, api_key and attribute fall back to the address when their value is missing or empty; an unusable address is the shared value "unknown".
/// `key` stands for a single part as if it were that part's value: under `ip` it is parsed as an address, else taken as bytes that no address equals. For
/// a composite scope it stands for the whole. An empty `key` is "unknown".
///
/// Belongs to one thread. Refers to the hasher and the identity.
class KeyBuilder {
 public:
  KeyBuilder(const KeyedHasher& hasher, const Identity& identity, unsigned ipv6_prefix) noexcept
      : hasher_(hasher), identity_(identity), ipv6_prefix_(ipv6_prefix) {}

  /// `with_override_value` false leaves override_value empty, which spares an ip scope the text.
  BuiltKey Build(const Scope& scope, bool with_override_value = true) const noexcept;
  /// The kind, for KeyedHasher::OfKind, of a part whose value is hashed as it is given: user and api_key. 0 = another part.
  static constexpr uint8_t PlainKind(ScopePart part) noexcept {
    if (part == ScopePart::kUser) return kPlainUser;
    return part == ScopePart::kApiKey ? kPlainApiKey : 0;
  }
  static constexpr uint8_t kPlainUser = 1;
  static constexpr uint8_t kPlainApiKey = 2;
  /// The value of a scope of one such part: Build's hash is theirs, of that kind. Empty when it is not given: then it takes Build to tell.
  static std::string_view PlainBytes(const Identity& identity, uint8_t kind) noexcept {
    if (identity.has_key) return identity.key;
    return kind == kPlainUser ? identity.user : identity.api_key;
  }
  /// "user=alice,ip=192.0.2.1": for explain and for readable keys; bytes that are not printable ASCII (and '%', ',', '=') as %XX.
  std::string Readable(const Scope& scope) const;

 private:
  struct Value;
  Value ValueOf(const ScopeElement& element) const noexcept;
  Value AddressValue(std::string_view text) const noexcept;
  Value ClientAddress() const noexcept;
  std::string_view OverrideValue(const Value& value, ScopePart part) const noexcept;

  const KeyedHasher& hasher_;
  const Identity& identity_;
  unsigned ipv6_prefix_;
  mutable bool parsed_ = false;
  mutable std::optional<Address> address_;
  mutable std::array<char, Address::kMaxText> address_text_;
};

/// The state identity of a limit: hashed with the same secret from the rule's and the limit's name, its scope and the algorithm (never its numbers).
Hash128 LimitSalt(const KeyedHasher& hasher, std::string_view rule, std::string_view limit, const Scope& scope,
                  Algorithm algorithm) noexcept;

}  // namespace ratel
