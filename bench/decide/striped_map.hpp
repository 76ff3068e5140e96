// What one would write instead: 64 mutexes, each over a map from string to a token bucket.
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>

#include "bucket.hpp"

namespace bench {

/// As it is usually written: std::hash, and a std::string made for each question.
class StripedMap {
 public:
  StripedMap(Limit limit, uint64_t /*keys*/) : limit_(limit) {}

  Answer Allow(const Question& question) {
    Stripe& stripe = stripes_[std::hash<std::string_view>()(question.key) % stripes_.size()];
    const std::lock_guard lock(stripe.mutex);
    return limit_.Spend(stripe.map[std::string(question.key)], question.now_us);
  }

 private:
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::unordered_map<std::string, Bucket> map;
  };
  const Limit limit_;
  std::array<Stripe, 64> stripes_;
};

/// At its best: room made beforehand, a fast hash that is computed once, and no string for a key that is there.
class TunedStripedMap {
 public:
  TunedStripedMap(Limit limit, uint64_t keys) : limit_(limit) {
    for (Stripe& stripe : stripes_) stripe.map.reserve(keys / stripes_.size() * 9 / 8);
  }

  Answer Allow(const Question& question) {
    const Hashed key{question.key, XXH3_64bits(question.key.data(), question.key.size())};
    Stripe& stripe = stripes_[key.hash >> 58];
    const std::lock_guard lock(stripe.mutex);
    const auto found = stripe.map.find(key);
    Bucket& bucket = found != stripe.map.end() ? found->second : stripe.map[std::string(question.key)];
    return limit_.Spend(bucket, question.now_us);
  }

 private:
  struct Hashed {
    std::string_view key;
    uint64_t hash;
  };
  struct Hash {
    using is_transparent = void;
    size_t operator()(const Hashed& key) const noexcept { return key.hash; }
    size_t operator()(const std::string& key) const noexcept { return XXH3_64bits(key.data(), key.size()); }
  };
  struct Equal {
    using is_transparent = void;
    bool operator()(const std::string& a, const std::string& b) const noexcept { return a == b; }
    bool operator()(const Hashed& a, const std::string& b) const noexcept { return a.key == b; }
    bool operator()(const std::string& a, const Hashed& b) const noexcept { return a == b.key; }
  };
  struct alignas(64) Stripe {
    std::mutex mutex;
    std::unordered_map<std::string, Bucket, Hash, Equal> map;
  };
  const Limit limit_;
  std::array<Stripe, 64> stripes_;
};

}  // namespace bench
