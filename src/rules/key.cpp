#include "rules/key.hpp"

#include <cstring>

namespace ratel {
namespace {

/// What a value is: its kind for the hash, and as one of several the byte in front of it. Stored state depends on these: never renumber.
enum class Tag : uint8_t {
  kUser = KeyBuilder::kPlainUser,
  kApiKey = KeyBuilder::kPlainApiKey,
  kAddress = 3,
  kGlobal = 4,
  kAttribute = 5,
  kUnknown = 6,
  kComposite = 7,
  kCompositeKey = 8,
  kAddressText = 9,  ///< `key` in an ip scope that is no address: never equal to the bytes of one
};

/// Set in the tag of a value that enters as its hash.
constexpr uint8_t kLong = 0x80;
constexpr size_t kMaxInline = 64;
constexpr size_t kHashSize = 16;
constexpr size_t kEncodedPart = 2 + kMaxInline;

template <class Integer>
size_t PutInteger(Integer value, unsigned char* out) noexcept {
  for (size_t i = 0; i < sizeof(value); ++i) out[i] = static_cast<unsigned char>(value >> (8 * i));
  return sizeof(value);
}

size_t PutHash(Hash128 hash, unsigned char* out) noexcept {
  PutInteger(hash.low, out);
  PutInteger(hash.high, out + 8);
  return kHashSize;
}

void AppendEscaped(std::string_view bytes, std::string& out) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f && c != '%' && c != ',' && c != '=') {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
}

/// Composite keys of any number of parts in a fixed buffer: when it is full, what it holds is replaced by its hash.
class CompositeHash {
 public:
  explicit CompositeHash(const KeyedHasher& hasher) noexcept : hasher_(hasher) {
    buffer_[size_++] = static_cast<unsigned char>(Tag::kComposite);
  }

  unsigned char* Reserve() noexcept {
    if (size_ + kEncodedPart > sizeof(buffer_)) {
      const Hash128 so_far = hasher_(buffer_, size_);
      buffer_[0] = static_cast<unsigned char>(Tag::kComposite) | kLong;
      size_ = 1 + PutHash(so_far, buffer_ + 1);
    }
    return buffer_ + size_;
  }
  void Add(size_t size) noexcept { size_ += size; }
  Hash128 Finish() const noexcept { return hasher_(buffer_, size_); }

 private:
  const KeyedHasher& hasher_;
  unsigned char buffer_[4 * kEncodedPart];
  size_t size_ = 0;
};

}  // namespace

/// One part's value: what kind it is, and its bytes.
struct KeyBuilder::Value {
  Tag tag;
  std::string_view bytes;

  /// Writes tag and bytes (at most 1 + kMaxInline); returns how many.
  size_t Put(const KeyedHasher& hasher, unsigned char* out) const noexcept {
    out[0] = static_cast<unsigned char>(tag);
    if (bytes.size() <= kMaxInline) {
      if (!bytes.empty()) std::memcpy(out + 1, bytes.data(), bytes.size());
      return 1 + bytes.size();
    }
    out[0] |= kLong;
    return 1 + PutHash(hasher(bytes), out + 1);
  }

  Hash128 Hash(const KeyedHasher& hasher) const noexcept { return hasher.OfKind(static_cast<size_t>(tag), bytes); }

  /// As one of several parts: with its length between the tag and the bytes.
  size_t PutPart(const KeyedHasher& hasher, unsigned char* out) const noexcept {
    unsigned char* const length = out;
    const size_t size = Put(hasher, out + 1);
    *length = static_cast<unsigned char>(size);
    return 1 + size;
  }
};

KeyBuilder::Value KeyBuilder::AddressValue(std::string_view text) const noexcept {
  if (!parsed_) {
    parsed_ = true;
    address_ = Address::Parse(text);
    if (address_) address_ = address_->Cut(ipv6_prefix_);
  }
  if (address_) return {Tag::kAddress, address_->bytes()};
  return {Tag::kUnknown, {}};
}

KeyBuilder::Value KeyBuilder::ClientAddress() const noexcept {
  if (identity_.has_key) return {Tag::kUnknown, {}};
  return AddressValue(identity_.ip);
}

KeyBuilder::Value KeyBuilder::ValueOf(const ScopeElement& element) const noexcept {
  const auto value = [&](Tag tag, std::string_view bytes) -> Value {
    if (identity_.has_key) bytes = identity_.key;
    return bytes.empty() ? ClientAddress() : Value{tag, bytes};
  };
  switch (element.part) {
    case ScopePart::kUser:
      return value(Tag::kUser, identity_.user);
    case ScopePart::kApiKey:
      return value(Tag::kApiKey, identity_.api_key);
    case ScopePart::kGlobal:
      return {Tag::kGlobal, {}};
    case ScopePart::kAttribute:
      for (const AttributeView& attribute : identity_.attributes) {
        if (attribute.name == element.attribute) return value(Tag::kAttribute, attribute.value);
      }
      return value(Tag::kAttribute, {});
    case ScopePart::kIp:
      break;
  }
  if (!identity_.has_key || identity_.key.empty()) return ClientAddress();
  const Value address = AddressValue(identity_.key);
  return address.tag == Tag::kAddress ? address : Value{Tag::kAddressText, identity_.key};
}

std::string_view KeyBuilder::OverrideValue(const Value& value, ScopePart part) const noexcept {
  switch (value.tag) {
    case Tag::kUser:
    case Tag::kApiKey:
    case Tag::kAttribute:
    case Tag::kAddressText:
      return value.bytes;
    case Tag::kAddress:
      return part == ScopePart::kIp ? address_->WriteText(address_text_) : std::string_view();
    default:
      return {};
  }
}

BuiltKey KeyBuilder::Build(const Scope& scope, bool with_override_value) const noexcept {
  BuiltKey built;
  if (scope.size() == 1) {
    const Value value = ValueOf(scope.front());
    built.hash = value.Hash(hasher_);
    built.unknown_client = value.tag == Tag::kUnknown;
    if (with_override_value) built.override_value = OverrideValue(value, scope.front().part);
    return built;
  }
  if (identity_.has_key) {
    const Value value = identity_.key.empty() ? ClientAddress() : Value{Tag::kCompositeKey, identity_.key};
    built.hash = value.Hash(hasher_);
    built.unknown_client = value.tag == Tag::kUnknown;
    return built;
  }
  CompositeHash composite(hasher_);
  for (const ScopeElement& element : scope) {
    const Value value = ValueOf(element);
    composite.Add(value.PutPart(hasher_, composite.Reserve()));
    built.unknown_client |= value.tag == Tag::kUnknown;
  }
  built.hash = composite.Finish();
  return built;
}

std::string KeyBuilder::Readable(const Scope& scope) const {
  if (scope.size() > 1 && identity_.has_key) {
    if (identity_.key.empty()) return "unknown";
    std::string text = "key=";
    AppendEscaped(identity_.key, text);
    return text;
  }
  std::string text;
  for (const ScopeElement& element : scope) {
    if (!text.empty()) text += ',';
    const Value value = ValueOf(element);
    switch (value.tag) {
      case Tag::kUser:
        text += "user=";
        break;
      case Tag::kApiKey:
        text += "api_key=";
        break;
      case Tag::kAddress:
        text += "ip=" + address_->ToText();
        continue;
      case Tag::kAddressText:
        text += "ip=";
        break;
      case Tag::kAttribute:
        text += "attribute:";
        AppendEscaped(element.attribute, text);
        text += '=';
        break;
      case Tag::kGlobal:
        text += "global";
        continue;
      default:
        text += "unknown";
        continue;
    }
    AppendEscaped(value.bytes, text);
  }
  return text;
}

Hash128 LimitSalt(const KeyedHasher& hasher, std::string_view rule, std::string_view limit, const Scope& scope,
                  Algorithm algorithm) noexcept {
  const auto both = [&](Hash128 a, Hash128 b) {
    unsigned char buffer[2 * kHashSize];
    PutHash(b, buffer + PutHash(a, buffer));
    return hasher(buffer, sizeof(buffer));
  };
  Hash128 salt = both(hasher(rule), hasher(limit));
  for (const ScopeElement& element : scope) {
    salt = both(salt, hasher(element.attribute));
    salt.low ^= static_cast<uint8_t>(element.part);
  }
  salt = both(salt, Hash128{static_cast<uint8_t>(algorithm), scope.size()});
  return salt;
}

}  // namespace ratel
