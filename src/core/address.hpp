// IP addresses as bits: parsed strictly, IPv4-mapped IPv6 taken as IPv4, zones dropped, ports stripped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ratel {

/// An IPv4 (4 bytes) or IPv6 (16 bytes) address in network order.
class Address {
 public:
  /// "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:443", "2001:db8::1%eth0", "::ffff:192.0.2.1"; surrounding blanks and double quotes are cut.
  /// Nothing for anything else (names, "unknown", numbers out of range, octal or shortened IPv4 forms). Never allocates.
  static std::optional<Address> Parse(std::string_view text) noexcept;

  bool is_v4() const noexcept { return v4_; }
  /// 4 or 16 bytes.
  std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), v4_ ? size_t{4} : size_t{16}};
  }
  /// An IPv6 address cut to its first `bits` (32 to 128); IPv4 stays whole.
  Address Cut(unsigned ipv6_bits) const noexcept;
  /// Canonical text: dotted quad, or RFC 5952. Without a prefix length. At most 45 characters.
  std::string ToText() const;

  friend bool operator==(const Address&, const Address&) = default;

 private:
  friend class Network;
  std::array<uint8_t, 16> bytes_{};
  bool v4_ = true;
};

/// A CIDR block such as 10.0.0.0/8 or 2001:db8::/32, or a single address. Host bits must be zero.
class Network {
 public:
  static std::optional<Network> Parse(std::string_view text) noexcept;
  bool Contains(const Address& address) const noexcept;

 private:
  Address base_;
  unsigned bits_ = 0;
};

}  // namespace ratel
