// IP addresses as bits: parsed strictly, IPv4-mapped IPv6 taken as IPv4, zones dropped, ports stripped.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ratel {

/// An IPv4 (4 bytes) or IPv6 (16 bytes) address in network order.
class Address {
 public:
  /// The longest canonical text, of an IPv6 address with eight groups.
  static constexpr size_t kMaxText = 39;

  /// "192.0.2.1", "192.0.2.1:80", "[2001:db8::1]:443", "2001:db8::1%eth0", "::ffff:192.0.2.1"; surrounding blanks and double quotes are cut.
  /// A port is 0 to 65535, or RFC 7239's obfuscated form ("_p1"). Nothing for anything else (names, "unknown", numbers out of range, octal or
  /// shortened IPv4 forms, an IPv6 address with a port but no brackets). Linear in text.size(), never allocates.
  static std::optional<Address> Parse(std::string_view text) noexcept;

  bool is_v4() const noexcept { return v4_; }
  /// 4 or 16 bytes.
  std::string_view bytes() const noexcept {
    return {reinterpret_cast<const char*>(bytes_.data()), v4_ ? size_t{4} : size_t{16}};
  }
  /// An IPv6 address cut to its first `bits` (0 to 128); IPv4 stays whole.
  Address Cut(unsigned ipv6_bits) const noexcept;
  /// Canonical text: dotted quad, or RFC 5952. Without a prefix length.
  std::string ToText() const;
  /// The same without allocating: writes into `out` and returns a view of it.
  std::string_view WriteText(std::span<char, kMaxText> out) const noexcept;

  friend bool operator==(const Address&, const Address&) = default;

 private:
  friend class Network;
  static Address FromV4(const uint8_t* bytes) noexcept;
  std::array<uint8_t, 16> bytes_{};
  bool v4_ = true;
};

/// A CIDR block such as 10.0.0.0/8 or 2001:db8::/32, or a single address. Host bits must be zero. A block of IPv4-mapped addresses is the IPv4 block.
class Network {
 public:
  /// Plain addresses only: no port, brackets, zone, quotes or blanks.
  static std::optional<Network> Parse(std::string_view text) noexcept;
  /// An IPv6 block, ::/0 too, holds no IPv4 address.
  bool Contains(const Address& address) const noexcept;

  friend bool operator==(const Network&, const Network&) = default;

 private:
  Address base_;
  unsigned bits_ = 0;
};

}  // namespace ratel
