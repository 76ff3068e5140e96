// What the benchmarks share: keys, the order in which they come, memory in use, and what a user would write instead.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace bench {

/// Keys of 32 bytes, made on the fly so that the key's own bytes never miss the cache.
class KeyMaker {
 public:
  std::string_view operator()(uint64_t n) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, n).ptr;
    std::memcpy(text_.data() + text_.size() - (end - digits), digits, static_cast<size_t>(end - digits));
    // Digits of an earlier, longer number must not stay.
    std::memset(text_.data() + 12, '0', text_.size() - 12 - static_cast<size_t>(end - digits));
    return {text_.data(), text_.size()};
  }

 private:
  std::array<char, 32> text_{'u', 's', 'e', 'r', ':', 't', 'e', 'n', 'a', 'n', 't', ':'};
};

/// The order of keys, drawn before the clock runs.
inline std::vector<uint32_t> Uniform(uint64_t keys, size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<uint32_t> order(count);
  for (uint32_t& key : order) key = static_cast<uint32_t>(random() % keys);
  return order;
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

inline uint64_t ResidentBytes() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long long total = 0;
  unsigned long long resident = 0;
  if (file != nullptr) {
    if (std::fscanf(file, "%llu %llu", &total, &resident) != 2) resident = 0;
    std::fclose(file);
  }
  return resident * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

/// What one would write instead: 64 mutexes, each over a map from string to an integer token bucket (the same arithmetic: debt in credits).
class StripedMap {
 public:
  StripedMap(uint64_t limit, uint64_t window_us)
      : unit_(window_us / std::gcd(limit, window_us)),
        refill_(limit / std::gcd(limit, window_us)),
        full_(limit * unit_) {}

  bool Allow(std::string_view key, uint64_t cost, uint64_t now_us, uint64_t* remaining) {
    const size_t hash = std::hash<std::string_view>()(key);
    Stripe& stripe = stripes_[hash % kStripes];
    const std::lock_guard lock(stripe.mutex);
    const auto [entry, is_new] = stripe.map.try_emplace(std::string(key));
    Bucket& bucket = entry->second;
    const uint64_t refilled = now_us > bucket.at ? std::min((now_us - bucket.at) * refill_, bucket.debt) : 0;
    const uint64_t debt = bucket.debt - refilled + cost * unit_;
    if (debt > full_) {
      *remaining = (full_ - (bucket.debt - refilled)) / unit_;
      return false;
    }
    bucket.debt = debt;
    bucket.at = std::max(now_us, bucket.at);
    *remaining = (full_ - debt) / unit_;
    return true;
  }

 private:
  static constexpr size_t kStripes = 64;
  struct Bucket {
    uint64_t debt = 0;
    uint64_t at = 0;
  };
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::unordered_map<std::string, Bucket> map;
  };
  const uint64_t unit_;
  const uint64_t refill_;
  const uint64_t full_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace bench
