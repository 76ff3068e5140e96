// What the benchmarks share: keys, and the order in which they come.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

namespace bench {

/// Keys of 32 bytes, made on the fly so that the key's own bytes never miss the cache: a prefix, and the number in letters.
class KeyMaker {
 public:
  std::string_view operator()(uint32_t n) noexcept {
    uint64_t x = n;  // each of the eight nibbles into a byte of its own
    x = (x | x << 16) & 0x0000ffff0000ffff;
    x = (x | x << 8) & 0x00ff00ff00ff00ff;
    x = (x | x << 4) & 0x0f0f0f0f0f0f0f0f;
    x += 0x6161616161616161;
    std::memcpy(text_.data() + text_.size() - sizeof x, &x, sizeof x);
    return {text_.data(), text_.size()};
  }

 private:
  std::array<char, 32> text_{'t', 'e', 'n', 'a', 'n', 't', ':', 'e', 'x', 'a', 'm', 'p',
                             'l', 'e', '/', 'u', 's', 'e', 'r', ':', 'i', 'd', '='};
};

/// SplitMix64 (Steele et al., OOPSLA 2014): a number from a counter, and a hash of small numbers.
inline uint64_t Mix(uint64_t x) noexcept {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

/// A number below `bound`, from 32 bits of chance.
inline uint32_t Below(uint32_t bound, uint64_t chance) noexcept {
  return static_cast<uint32_t>((chance >> 32) * bound >> 32);
}

/// Zipf with s = 0.99, ranks spread over the key space (Gray et al., SIGMOD 1994).
inline std::vector<uint32_t> Zipf(uint64_t keys, size_t count, uint64_t seed) {
  const double theta = 0.99;
  double zeta = 0;
  for (uint64_t i = 1; i <= keys; ++i) zeta += 1.0 / std::pow(static_cast<double>(i), theta);
  const double alpha = 1.0 / (1.0 - theta);
  const double zeta2 = 1.0 + std::pow(0.5, theta);
  const double eta = (1.0 - std::pow(2.0 / static_cast<double>(keys), 1.0 - theta)) / (1.0 - zeta2 / zeta);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<uint32_t> order(count);
  for (uint32_t& key : order) {
    const double u = uniform(random);
    const double uz = u * zeta;
    uint64_t rank = 0;
    if (uz >= 1.0)
      rank = uz < zeta2 ? 1 : static_cast<uint64_t>(static_cast<double>(keys) * std::pow(eta * u - eta + 1.0, alpha));
    key = static_cast<uint32_t>(std::min(rank, keys - 1) * 2654435761u % keys);
  }
  return order;
}

}  // namespace bench
