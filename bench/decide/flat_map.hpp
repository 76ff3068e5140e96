// boost::concurrent_flat_map, the strongest concurrent map of C++, with the same token bucket. Absent where Boost is (scripts/bench fetches it).
#pragma once

#if __has_include(<boost/unordered/concurrent_flat_map.hpp>)
#define BENCH_HAS_BOOST 1
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <array>
#include <boost/unordered/concurrent_flat_map.hpp>
#include <boost/version.hpp>
#include <functional>
#include <string>
#include <string_view>

#include "bucket.hpp"

namespace bench {

/// As it is usually written: boost::hash, a std::string made for each question, room made as it comes.
class FlatMap {
 public:
  FlatMap(Limit limit, uint64_t /*keys*/) : limit_(limit) {}

  Answer Allow(const Question& question) {
    Answer answer;
    const auto spend = [&](auto& entry) { answer = limit_.Spend(entry.second, question.now_us); };
    map_.try_emplace_and_visit(std::string(question.key), spend, spend);
    return answer;
  }

 private:
  const Limit limit_;
  boost::concurrent_flat_map<std::string, Bucket> map_;
};

/// At its best: room made beforehand, a fast hash, no string for a key that is there, many at once by its own bulk visit.
class TunedFlatMap {
 public:
  TunedFlatMap(Limit limit, uint64_t keys) : limit_(limit) { map_.reserve(keys * 9 / 8); }

  Answer Allow(const Question& question) {
    Answer answer;
    const auto spend = [&](auto& entry) { answer = limit_.Spend(entry.second, question.now_us); };
    if (map_.visit(question.key, spend) == 0) map_.try_emplace_and_visit(std::string(question.key), spend, spend);
    return answer;
  }
  /// Denials by a look under the shared lock; only what is allowed is asked again.
  Answer AllowReadFirst(const Question& question) {
    Answer answer;
    const size_t found = map_.cvisit(question.key, [&](const auto& entry) {
      Bucket bucket = entry.second;
      answer = limit_.Spend(bucket, question.now_us);
    });
    return found == 0 || answer.allowed ? Allow(question) : answer;
  }
  /// Keys that are there; all at one instant.
  uint32_t Many(const std::array<Question, kBatch>& questions) {
    std::array<std::string_view, kBatch> keys;
    for (uint32_t i = 0; i < kBatch; ++i) keys[i] = questions[i].key;
    uint32_t allowed = 0;
    map_.visit(keys.begin(), keys.end(),
               [&](auto& entry) { allowed += limit_.Spend(entry.second, questions[0].now_us).allowed; });
    return allowed;
  }

 private:
  struct Hash {
    using is_transparent = void;
    using is_avalanching = void;
    size_t operator()(std::string_view key) const noexcept { return XXH3_64bits(key.data(), key.size()); }
  };
  const Limit limit_;
  boost::concurrent_flat_map<std::string, Bucket, Hash, std::equal_to<>> map_;
};

}  // namespace bench
#endif
