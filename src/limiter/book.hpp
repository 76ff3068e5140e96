// What outlives a rule set: the ids of rules and limits by name, the rules' counters, and the numbers that states may have been written under.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/hash.hpp"
#include "limiter/counters.hpp"
#include "rules/rule.hpp"
#include "storage/storage.hpp"

namespace ratel {

/// A list that only grows; elements never move, reading takes no lock.
template <class T>
class GrowingList {
 public:
  ~GrowingList() {
    for (auto& segment : segments_) delete[] segment.load(std::memory_order_relaxed);
  }
  /// nullptr past the end.
  const T* At(uint32_t index) const noexcept {
    if (index >= size_.load(std::memory_order_acquire)) return nullptr;
    const auto [segment, offset] = Place(index);
    return &segments_[segment].load(std::memory_order_acquire)[offset];
  }
  T* At(uint32_t index) noexcept { return const_cast<T*>(std::as_const(*this).At(index)); }
  uint32_t size() const noexcept { return size_.load(std::memory_order_acquire); }

  /// One writer at a time. Throws std::bad_alloc, and then nothing changed.
  T& Add(T value) {
    const uint32_t index = size_.load(std::memory_order_relaxed);
    const auto [segment, offset] = Place(index);
    if (segments_[segment].load(std::memory_order_relaxed) == nullptr)
      segments_[segment].store(new T[size_t{1} << segment], std::memory_order_release);
    T& place = segments_[segment].load(std::memory_order_relaxed)[offset];
    place = std::move(value);
    size_.store(index + 1, std::memory_order_release);
    return place;
  }

 private:
  /// Segment k holds 2^k elements.
  static std::pair<size_t, size_t> Place(uint32_t index) noexcept {
    const uint64_t one_based = uint64_t{index} + 1;
    const auto segment = static_cast<size_t>(std::bit_width(one_based) - 1);
    return {segment, static_cast<size_t>(one_based - (uint64_t{1} << segment))};
  }
  std::array<std::atomic<T*>, 33> segments_{};
  std::atomic<uint32_t> size_{0};
};

/// A rule by name, for the registry's life.
struct RuleRecord {
  std::string name;
  RuleCounters counters;
};

/// All numbers a limit has had, by version. Versions are given out once each.
class NumbersList final : public NumbersHistory {
 public:
  const Numbers* At(uint16_t version) const noexcept override { return list_.At(version); }
  /// The version of these numbers: the newest with the same spec, else a new one. Full = nothing (65,535 changes of one limit).
  std::optional<uint16_t> VersionOf(const Numbers& numbers);

 private:
  GrowingList<Numbers> list_;
};

/// The state identity of one limit: rule, limit, scope and algorithm, and never its numbers.
struct LimitRecord {
  uint32_t id = 0;  ///< of the name, for decisions
  Hash128 salt;
  NumbersList numbers;  ///< in the registry's storage
  NumbersList local;    ///< in the fallback

  /// Notes that `generation` has it; returns the first of the generations, without a gap, that have had it. The reload only.
  uint64_t InForce(uint64_t generation) noexcept {
    if (last_ != generation && last_ + 1 != generation) since_ = generation;
    last_ = generation;
    return since_;
  }

 private:
  uint64_t since_ = 0;
  uint64_t last_ = 0;
};

/// Written by one thread at a time (the reload), read by all.
class Book {
 public:
  explicit Book(const KeyedHasher& hasher) : hasher_(hasher) {}

  const KeyedHasher& hasher() const noexcept { return hasher_; }
  uint32_t RuleId(const std::string& name);   ///< gives one if need be; ids start at 1
  uint32_t LimitId(const std::string& name);  ///< likewise
  std::shared_ptr<LimitRecord> LimitOf(const Rule& rule, const Limit& limit);
  /// The same state identity anew, for a limit whose versions are used up: its states start new.
  std::shared_ptr<LimitRecord> Renew(const Rule& rule, const Limit& limit);

  // Any thread.
  const RuleRecord* rule(uint32_t id) const noexcept { return id == 0 ? nullptr : rules_.At(id - 1); }
  RuleRecord* rule(uint32_t id) noexcept { return id == 0 ? nullptr : rules_.At(id - 1); }
  uint32_t rule_count() const noexcept { return rules_.size(); }
  std::string_view LimitName(uint32_t id) const noexcept;

 private:
  std::shared_ptr<LimitRecord> Make(const Rule& rule, const Limit& limit, uint32_t renewal);
  static std::string IdentityOf(const Rule& rule, const Limit& limit);

  const KeyedHasher& hasher_;
  std::vector<std::unique_ptr<RuleCounterBlock>> counters_;
  GrowingList<RuleRecord> rules_;
  GrowingList<std::string> limit_names_;
  std::unordered_map<std::string, uint32_t> rule_ids_;
  std::unordered_map<std::string, uint32_t> limit_ids_;
  struct Known {
    std::shared_ptr<LimitRecord> record;
    uint32_t renewals = 0;
  };
  std::unordered_map<std::string, Known> limits_;
};

}  // namespace ratel
