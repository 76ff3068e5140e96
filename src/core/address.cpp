#include "core/address.hpp"

#include <algorithm>
#include <cstring>

namespace ratel {
namespace {

using V4Bytes = std::array<uint8_t, 4>;
using V6Bytes = std::array<uint8_t, 16>;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAlnum(char c) { return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

int HexValue(char c) {
  if (IsDigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

/// A decimal number without sign or leading zero, at most `max`.
std::optional<unsigned> ParseDecimal(std::string_view text, unsigned max) noexcept {
  if (text.empty() || text.size() > 5 || (text.size() > 1 && text.front() == '0')) return std::nullopt;
  unsigned value = 0;
  for (const char c : text) {
    if (!IsDigit(c)) return std::nullopt;
    value = value * 10 + static_cast<unsigned>(c - '0');
  }
  if (value > max) return std::nullopt;
  return value;
}

/// Four octets in one pass: no sign, no leading zero, nothing around them.
std::optional<V4Bytes> ParseV4(std::string_view text) noexcept {
  V4Bytes bytes{};
  size_t at = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && (at == text.size() || text[at++] != '.')) return std::nullopt;
    const size_t start = at;
    unsigned octet = 0;
    while (at < text.size() && at < start + 3 && IsDigit(text[at]))
      octet = octet * 10 + static_cast<unsigned>(text[at++] - '0');
    const size_t digits = at - start;
    if (digits == 0 || octet > 255 || (digits > 1 && text[start] == '0')) return std::nullopt;
    bytes[i] = static_cast<uint8_t>(octet);
  }
  if (at != text.size()) return std::nullopt;
  return bytes;
}

/// Groups of an IPv6 address, filled from the left; `gap` remembers where "::" stood.
class V6Reader {
 public:
  std::optional<V6Bytes> Read(std::string_view text) noexcept {
    if (text.substr(0, 2) == "::") {
      gap_ = 0;
      text.remove_prefix(2);
    }
    if (text.empty() && !gap_) return std::nullopt;
    while (!text.empty()) {
      if (!Group(text)) return std::nullopt;
    }
    return Close();
  }

 private:
  /// Takes one group and the colons behind it, or the IPv4 tail. Never leaves a single colon at the end.
  bool Group(std::string_view& text) noexcept {
    unsigned value = 0;
    size_t digits = 0;
    for (; digits < text.size() && digits < 4 && HexValue(text[digits]) >= 0; ++digits) {
      value = value * 16 + static_cast<unsigned>(HexValue(text[digits]));
    }
    if (digits < text.size() && text[digits] == '.') {
      const bool fits = AppendV4(text);
      text = {};
      return fits;
    }
    if (digits == 0 || size_ + 2 > bytes_.size()) return false;
    bytes_[size_++] = static_cast<uint8_t>(value >> 8);
    bytes_[size_++] = static_cast<uint8_t>(value & 0xff);
    text.remove_prefix(digits);
    return text.empty() || Colons(text);
  }

  bool Colons(std::string_view& text) noexcept {
    if (text.front() != ':') return false;
    text.remove_prefix(1);
    if (text.empty()) return false;
    if (text.front() != ':') return true;
    if (gap_) return false;
    gap_ = size_;
    text.remove_prefix(1);
    return true;
  }

  bool AppendV4(std::string_view text) noexcept {
    const std::optional<V4Bytes> v4 = ParseV4(text);
    if (!v4 || size_ + v4->size() > bytes_.size()) return false;
    std::copy(v4->begin(), v4->end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
    size_ += v4->size();
    return true;
  }

  std::optional<V6Bytes> Close() noexcept {
    if (!gap_) return size_ == bytes_.size() ? std::optional(bytes_) : std::nullopt;
    if (size_ == bytes_.size()) return std::nullopt;
    const auto gap = bytes_.begin() + static_cast<std::ptrdiff_t>(*gap_);
    const auto written = bytes_.begin() + static_cast<std::ptrdiff_t>(size_);
    std::rotate(gap, written, bytes_.end());
    return bytes_;
  }

  V6Bytes bytes_{};
  size_t size_ = 0;
  std::optional<size_t> gap_;
};

bool IsMapped(const V6Bytes& bytes) noexcept {
  static constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), bytes.begin());
}

std::string_view TrimBlanks(std::string_view text) noexcept {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string_view TrimQuotes(std::string_view text) noexcept {
  text = TrimBlanks(text);
  if (text.size() < 2 || text.front() != '"' || text.back() != '"') return text;
  return TrimBlanks(text.substr(1, text.size() - 2));
}

bool IsPort(std::string_view text) noexcept {
  if (!text.empty() && text.front() == '_') {
    text.remove_prefix(1);
    const auto allowed = [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-'; };
    return !text.empty() && std::all_of(text.begin(), text.end(), allowed);
  }
  return ParseDecimal(text, 65535).has_value();
}

/// Cuts "%eth0"; false when there is a '%' that names no zone.
bool CutZone(std::string_view& text) noexcept {
  const size_t percent = text.find('%');
  if (percent == std::string_view::npos) return true;
  const std::string_view zone = text.substr(percent + 1);
  text = text.substr(0, percent);
  const auto allowed = [](char c) { return IsAlnum(c) || c == '.' || c == '_' || c == '-' || c == '~'; };
  return !zone.empty() && std::all_of(zone.begin(), zone.end(), allowed);
}

/// Takes "[address]:port" apart, or "192.0.2.1:80"; false when brackets or port are not well formed.
bool CutPort(std::string_view& text, bool& bracketed) noexcept {
  bracketed = !text.empty() && text.front() == '[';
  if (bracketed) {
    const size_t close = text.find(']');
    if (close == std::string_view::npos) return false;
    const std::string_view rest = text.substr(close + 1);
    text = text.substr(1, close - 1);
    return rest.empty() || (rest.front() == ':' && IsPort(rest.substr(1)));
  }
  const size_t colon = text.find(':');
  const bool has_port = colon != std::string_view::npos && text.find('.') < colon;
  if (!has_port) return true;
  const std::string_view port = text.substr(colon + 1);
  text = text.substr(0, colon);
  return IsPort(port);
}

bool HasZeroHostBits(const uint8_t* bytes, unsigned size, unsigned prefix) noexcept {
  for (unsigned bit = prefix; bit < size; ++bit) {
    if ((bytes[bit / 8] >> (7 - bit % 8)) & 1) return false;
  }
  return true;
}

struct Run {
  size_t start = 0;
  size_t size = 0;
};

/// The longest run of at least two zero groups, the first of equals.
Run LongestZeroRun(const std::array<unsigned, 8>& groups) noexcept {
  Run best;
  Run run;
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i] != 0) {
      run.size = 0;
      continue;
    }
    if (run.size++ == 0) run.start = i;
    if (run.size > best.size) best = run;
  }
  return best.size >= 2 ? best : Run{};
}

char* WriteDecimal(unsigned value, char* out) noexcept {
  if (value >= 100) *out++ = static_cast<char>('0' + value / 100);
  if (value >= 10) *out++ = static_cast<char>('0' + value / 10 % 10);
  *out++ = static_cast<char>('0' + value % 10);
  return out;
}

char* WriteHex(unsigned group, char* out) noexcept {
  for (int shift = 12; shift >= 0; shift -= 4) {
    if (group >> shift == 0 && shift > 0) continue;
    *out++ = "0123456789abcdef"[(group >> shift) & 15];
  }
  return out;
}

char* WriteV4(const V6Bytes& bytes, char* out) noexcept {
  for (size_t i = 0; i < 4; ++i) {
    if (i > 0) *out++ = '.';
    out = WriteDecimal(bytes[i], out);
  }
  return out;
}

char* WriteV6(const V6Bytes& bytes, char* out) noexcept {
  std::array<unsigned, 8> groups{};
  for (size_t i = 0; i < groups.size(); ++i) groups[i] = bytes[2 * i] * 256u + bytes[2 * i + 1];
  const Run gap = LongestZeroRun(groups);
  for (size_t i = 0; i < groups.size(); ++i) {
    if (gap.size > 0 && i == gap.start) {
      *out++ = ':';
      *out++ = ':';
      i += gap.size - 1;
      continue;
    }
    if (i > 0 && out[-1] != ':') *out++ = ':';
    out = WriteHex(groups[i], out);
  }
  return out;
}

}  // namespace

std::optional<Address> Address::Parse(std::string_view text) noexcept {
  if (const std::optional<V4Bytes> plain = ParseV4(text)) return FromV4(plain->data());
  text = TrimQuotes(text);
  bool bracketed = false;
  if (!CutPort(text, bracketed)) return std::nullopt;
  if (text.find(':') == std::string_view::npos) {
    const std::optional<V4Bytes> v4 = bracketed ? std::nullopt : ParseV4(text);
    return v4 ? std::optional(FromV4(v4->data())) : std::nullopt;
  }
  if (!CutZone(text)) return std::nullopt;
  const std::optional<V6Bytes> v6 = V6Reader().Read(text);
  if (!v6) return std::nullopt;
  if (IsMapped(*v6)) return FromV4(v6->data() + 12);
  Address address;
  address.bytes_ = *v6;
  address.v4_ = false;
  return address;
}

Address Address::FromV4(const uint8_t* bytes) noexcept {
  Address address;
  std::copy(bytes, bytes + 4, address.bytes_.begin());
  return address;
}

Address Address::Cut(unsigned ipv6_bits) const noexcept {
  if (v4_ || ipv6_bits >= 128) return *this;
  Address cut = *this;
  size_t i = ipv6_bits / 8;
  if (ipv6_bits % 8 != 0) {
    cut.bytes_[i] = static_cast<uint8_t>(cut.bytes_[i] & (0xff00u >> (ipv6_bits % 8)));
    ++i;
  }
  std::fill(cut.bytes_.begin() + static_cast<std::ptrdiff_t>(i), cut.bytes_.end(), uint8_t{0});
  return cut;
}

std::string_view Address::WriteText(std::span<char, kMaxText> out) const noexcept {
  const char* end = v4_ ? WriteV4(bytes_, out.data()) : WriteV6(bytes_, out.data());
  return {out.data(), static_cast<size_t>(end - out.data())};
}

std::string Address::ToText() const {
  std::array<char, kMaxText> text;
  return std::string(WriteText(text));
}

std::optional<Network> Network::Parse(std::string_view text) noexcept {
  const size_t slash = text.find('/');
  const std::string_view base = text.substr(0, slash);
  if (base.find_first_of("[]%\" \t") != std::string_view::npos) return std::nullopt;
  const bool colon = base.find(':') != std::string_view::npos;
  if (colon && base.find('.') < base.find(':')) return std::nullopt;
  const std::optional<Address> address = Address::Parse(base);
  if (!address) return std::nullopt;
  const bool mapped = colon && address->is_v4();
  const unsigned written_size = colon ? 128 : 32;
  unsigned bits = written_size;
  if (slash != std::string_view::npos) {
    const std::optional<unsigned> given = ParseDecimal(text.substr(slash + 1), written_size);
    if (!given) return std::nullopt;
    bits = *given;
  }
  // The ffff of a mapped address is part of its network, so a shorter prefix would leave host bits set.
  if (mapped && bits < 96) return std::nullopt;
  Network network;
  network.base_ = *address;
  network.bits_ = mapped ? bits - 96 : bits;
  const unsigned size = address->is_v4() ? 32 : 128;
  if (!HasZeroHostBits(address->bytes_.data(), size, network.bits_)) return std::nullopt;
  return network;
}

bool Network::Contains(const Address& address) const noexcept {
  if (address.v4_ != base_.v4_) return false;
  const size_t whole = bits_ / 8;
  if (std::memcmp(base_.bytes_.data(), address.bytes_.data(), whole) != 0) return false;
  if (bits_ % 8 == 0) return true;
  return ((base_.bytes_[whole] ^ address.bytes_[whole]) >> (8 - bits_ % 8)) == 0;
}

}  // namespace ratel
