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

namespace {

constexpr size_t kSecretBlocks = KeyedHasher::kSecretSize / 16;
constexpr size_t kBlocks = kSecretBlocks + KeyedHasher::kKinds;

void PutBigEndian(uint64_t value, unsigned char* out) noexcept {
  for (size_t i = 0; i < 8; ++i) out[i] = static_cast<unsigned char>(value >> (56 - 8 * i));
}

}  // namespace

void KeyedHasher::Draw(size_t block, uint64_t low, uint64_t high) noexcept {
  if (block >= kSecretBlocks) {
    kinds_[block - kSecretBlocks] = {low, high};
    return;
  }
  PutBigEndian(high, secret_.data() + block * 16);
  PutBigEndian(low, secret_.data() + block * 16 + 8);
}

KeyedHasher KeyedHasher::Random() {
  std::array<uint64_t, 2 * kBlocks> drawn;
  size_t have = 0;
  while (have < sizeof(drawn)) {
    const ssize_t got = getrandom(reinterpret_cast<char*>(drawn.data()) + have, sizeof(drawn) - have, 0);
    if (got < 0) {
      if (errno == EINTR) continue;
      throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    have += static_cast<size_t>(got);
  }
  KeyedHasher hasher;
  for (size_t block = 0; block < kBlocks; ++block) hasher.Draw(block, drawn[2 * block], drawn[2 * block + 1]);
  return hasher;
}

KeyedHasher KeyedHasher::FromSecret(std::string_view secret) {
  KeyedHasher hasher;
  for (size_t block = 0; block < kBlocks; ++block) {
    const XXH128_hash_t part = XXH3_128bits_withSeed(secret.data(), secret.size(), 0x526174656c000000u + block);
    hasher.Draw(block, part.low64, part.high64);
  }
  return hasher;
}

namespace {

[[gnu::noinline]] XXH128_hash_t HashLong(const void* data, size_t size, const unsigned char* secret) noexcept {
  return XXH3_128bits_withSecret(data, size, secret, KeyedHasher::kSecretSize);
}

}  // namespace

// Flattened, and long texts apart: what is left of XXH3 then needs few registers and no memory.
[[gnu::flatten]] Hash128 KeyedHasher::operator()(const void* data, size_t size) const noexcept {
  const XXH128_hash_t hash = size > 128 ? HashLong(data, size, secret_.data())
                                        : XXH3_128bits_withSecret(data, size, secret_.data(), kSecretSize);
  return {hash.low64, hash.high64};
}

}  // namespace ratel
