// The keyed 128-bit hash under which stores know a key. The secret is drawn per registry, or given by the host when several processes
// share a store; without it nobody can look for two keys that meet.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ratel {

struct Hash128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Hash128&, const Hash128&) = default;
  friend Hash128 operator^(Hash128 a, Hash128 b) noexcept { return {a.low ^ b.low, a.high ^ b.high}; }
};

/// 32 lower-case hex digits, high half first.
std::string ToHex(Hash128 hash);

/// XXH3-128 over a full-width secret. Immutable, so free to share between threads.
class KeyedHasher {
 public:
  static constexpr size_t kSecretSize = 192;
  static constexpr size_t kKinds = 16;

  /// A secret from the system's random source; throws std::system_error when there is none.
  static KeyedHasher Random();
  /// The same secret from the same bytes in every process (16 to 1024 bytes, stretched).
  static KeyedHasher FromSecret(std::string_view secret);

  Hash128 operator()(const void* data, size_t size) const noexcept;
  Hash128 operator()(std::string_view bytes) const noexcept { return (*this)(bytes.data(), bytes.size()); }
  /// The same for bytes of a kind: those of two kinds never meet, though they be equal. `kind` < kKinds.
  Hash128 OfKind(size_t kind, std::string_view bytes) const noexcept { return (*this)(bytes) ^ Kind(kind); }
  /// What OfKind adds to the hash of the bytes.
  Hash128 Kind(size_t kind) const noexcept { return kinds_[kind]; }

 private:
  KeyedHasher() = default;
  void Draw(size_t block, uint64_t low, uint64_t high) noexcept;

  alignas(64) std::array<unsigned char, kSecretSize> secret_{};
  std::array<Hash128, kKinds> kinds_{};  ///< secret as well: no hash of anybody's bytes
};

}  // namespace ratel
