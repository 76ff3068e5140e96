#include "core/hash.hpp"

#include <sys/random.h>

#include <cerrno>
#include <system_error>

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace ratel {

std::string ToHex(Hash128 hash) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  for (size_t i = 0; i < 16; ++i) {
    text[15 - i] = kDigits[(hash.high >> (4 * i)) & 15];
    text[31 - i] = kDigits[(hash.low >> (4 * i)) & 15];
  }
  return text;
}

KeyedHasher KeyedHasher::Random() {
  KeyedHasher hasher;
  size_t have = 0;
  while (have < kSecretSize) {
    const ssize_t got = getrandom(hasher.secret_.data() + have, kSecretSize - have, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    have += static_cast<size_t>(got);
  }
  return hasher;
}

KeyedHasher KeyedHasher::FromSecret(std::string_view secret) {
  KeyedHasher hasher;
  for (size_t block = 0; block < kSecretSize / 16; ++block) {
    const XXH128_hash_t part = XXH3_128bits_withSeed(secret.data(), secret.size(), 0x526174656c000000u + block);
    XXH128_canonical_t bytes;
    XXH128_canonicalFromHash(&bytes, part);
    for (size_t i = 0; i < 16; ++i) hasher.secret_[block * 16 + i] = bytes.digest[i];
  }
  return hasher;
}

Hash128 KeyedHasher::operator()(const void* data, size_t size) const noexcept {
  const XXH128_hash_t hash = XXH3_128bits_withSecret(data, size, secret_.data(), kSecretSize);
  return {hash.low64, hash.high64};
}

}  // namespace ratel
