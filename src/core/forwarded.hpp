// Who the client is behind trusted proxies.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/address.hpp"

namespace ratel {

/// The field in which the trusted proxies tell of the hops.
enum class ForwardedField : uint8_t {
  kAny,            ///< X-Forwarded-For when there is any line of it, else Forwarded
  kXForwardedFor,  ///< X-Forwarded-For alone
  kForwarded,      ///< Forwarded alone
};

/// The client's address. `peer` is the other end of the connection as text; a peer that is no address gives nothing.
///
/// Headers are looked at only when the peer is trusted. Then the hops that proxies have noted are walked from the right, the last line's last one first,
/// and the first that is not trusted is the client. When all are trusted it is the left-most. A hop that is not an address ("unknown", a
/// name, "_hidden", a malformed element) ends the walk: the client is the trusted hop that reported it.
///
/// The hops are the elements of the X-Forwarded-For lines, or the `for` parameters of the Forwarded lines (RFC 7239), as `field` says. Lines stand in the order of
/// the message. Empty elements of a list count for nothing.
///
/// What lies left of the client is never parsed, so nothing that a client sends can change how the proxies' own elements are read. Linear
/// in the size of the lines times the number of networks; never allocates.
std::optional<Address> ClientAddress(std::string_view peer, std::span<const std::string_view> x_forwarded_for,
                                     std::span<const std::string_view> forwarded, std::span<const Network> trusted,
                                     ForwardedField field = ForwardedField::kAny) noexcept;

}  // namespace ratel
