// Many threads on the embedded store: exact under a frozen clock, all or nothing, while the table grows, is swept and is full.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <barrier>
#include <latch>
#include <random>
#include <thread>
#include <vector>

#include "storage/memory/memory_storage.hpp"
#include "tests/storage/support.hpp"

namespace ratel::test {
namespace {

constexpr Micros kStart = 1'700'000'000'000'000;
constexpr size_t kThreads = 8;

/// Runs `work(thread)` on all threads at once.
template <class Work>
void Together(Work work) {
  std::latch ready(kThreads);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      ready.arrive_and_wait();
      work(i);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

Outcome Take(Storage& storage, const Versions& versions, uint64_t key, Micros now = kStart) {
  Charge charge = ChargeFor(versions, 0, key);
  Operation operation{{&charge, 1}, now, Mode::kSpend};
  EXPECT_EQ(storage.Apply(operation), Status::kOk);
  return charge.outcome;
}

class EachAlgorithm : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, EachAlgorithm, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(EachAlgorithm, OneHotKeyAdmitsExactlyTheCapacity) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 1000, 3600'000'000)});
  std::atomic<uint64_t> admitted{0};
  Together([&](size_t) {
    for (int i = 0; i < 1000; ++i) {
      if (Take(*storage, versions, 1).allowed) admitted.fetch_add(1);
    }
  });
  EXPECT_EQ(admitted.load(), 1000u);
}

TEST_P(EachAlgorithm, EveryKeyAdmitsExactlyTheCapacityWhileTheTableGrowsAndIsSwept) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 3, 3600'000'000)});
  constexpr uint64_t kKeys = 4000;
  std::vector<std::atomic<uint32_t>> admitted(kKeys);
  Together([&](size_t thread) {
    std::mt19937_64 random(thread);
    for (uint64_t i = 0; i < 2 * kKeys; ++i) {
      const uint64_t key = i < kKeys ? (i * 7 + thread * 131) % kKeys : random() % kKeys;
      if (Take(*storage, versions, key).allowed) admitted[key].fetch_add(1);
      if (i % 1000 == 0) {
        uint64_t evicted = 0;
        storage->EvictIdle(kStart, evicted);
        EXPECT_EQ(evicted, 0u);
      }
    }
  });
  for (uint64_t key = 0; key < kKeys; ++key) ASSERT_EQ(admitted[key].load(), 3u) << key;
  uint64_t keys = 0;
  storage->KeyCount(keys);
  EXPECT_EQ(keys, kKeys);
}

// Each request spends one unit of two of a few keys. What was admitted must add up on every key, and never be half of a request. Once more with keys
// that share lines.
TEST_P(EachAlgorithm, SeveralLimitsAreAllOrNothing) {
  constexpr uint64_t kKeys = 12;
  const Versions versions({Make(GetParam(), 500, 3600'000'000)});
  for (const bool crowded : {false, true}) {
    const auto storage = MakeMemoryStorage({});
    const auto charge_for = [&](uint64_t key) {
      Charge charge = ChargeFor(versions, 0, key);
      if (crowded) charge.key = KeyInLine(key % 2, key);
      return charge;
    };
    std::array<std::atomic<uint64_t>, kKeys> spent{};
    Together([&](size_t thread) {
      std::mt19937_64 random(thread);
      for (int i = 0; i < 2000; ++i) {
        const uint64_t a = random() % kKeys;
        const uint64_t b = (a + 1 + random() % (kKeys - 1)) % kKeys;
        std::array<Charge, 2> charges{charge_for(a), charge_for(b)};
        Operation operation{charges, kStart, Mode::kSpend};
        ASSERT_EQ(storage->Apply(operation), Status::kOk);
        if (!Admits(charges)) continue;
        spent[a].fetch_add(1);
        spent[b].fetch_add(1);
      }
    });
    for (uint64_t key = 0; key < kKeys; ++key) {
      Charge charge = charge_for(key);
      Operation operation{{&charge, 1}, kStart, Mode::kPeek};
      storage->Apply(operation);
      EXPECT_EQ(charge.outcome.remaining, 500 - spent[key].load()) << key << (crowded ? " crowded" : "");
    }
  }
}

// At each instant all keys held are as new. Some are spent from again while new ones take such slots: one admission each, none lost over it.
TEST_P(EachAlgorithm, WhatIsAsNewIsTakenOverOrGoesOnAndNeverBoth) {
  constexpr uint64_t kKeys = 1'000;
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 1, 1'000)});
  std::array<std::atomic<uint32_t>, kKeys> admitted{};
  std::atomic<uint64_t> wrong{0};
  std::barrier phase(kThreads);
  Together([&](size_t thread) {
    for (uint64_t round = 0; round < 40; ++round) {
      const uint64_t first = round * (kKeys / 2);
      for (uint64_t i = 0; i < kKeys; ++i) {
        const uint64_t key = (i * 7 + thread * 131) % kKeys;
        if (Take(*storage, versions, first + key, kStart + round * 10'000).allowed) admitted[key].fetch_add(1);
      }
      phase.arrive_and_wait();
      for (uint64_t key = thread; key < kKeys; key += kThreads) {
        wrong += admitted[key].exchange(0) != 1;
      }
      phase.arrive_and_wait();
    }
  });
  EXPECT_EQ(wrong, 0u);
}

// Under a bound that is far too small nothing is exact any more, but nothing may break, hang or run past the bound for good.
TEST_P(EachAlgorithm, AFullTableStaysWithinItsBound) {
  const auto storage = MakeMemoryStorage({.max_keys = 200});
  const Versions versions({Make(GetParam(), 3, 3600'000'000)});
  Together([&](size_t thread) {
    std::mt19937_64 random(thread);
    for (int i = 0; i < 3000; ++i) {
      std::array<Charge, 3> charges{ChargeFor(versions, 0, random() % 2000),
                                    ChargeFor(versions, 0, 10'000 + random() % 2000),
                                    ChargeFor(versions, 0, 20'000 + random() % 2000)};
      Operation operation{std::span(charges).first(1 + random() % 3), kStart + static_cast<Micros>(i), Mode::kSpend};
      ASSERT_EQ(storage->Apply(operation), Status::kOk);
    }
  });
  for (uint64_t key = 50'000; key < 50'100; ++key) Take(*storage, versions, key, kStart + 3000);
  uint64_t keys = 0;
  storage->KeyCount(keys);
  EXPECT_LE(keys, 200 + 3 * kThreads);
  EXPECT_GT(storage->Counters().evicted_live, 0u);
}

// B204: settles and spends on one key in a frozen instant end where arithmetic says.
TEST_P(EachAlgorithm, SettlesAndSpendsAddUp) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions({Make(GetParam(), 100'000, 3600'000'000)});
  std::atomic<int64_t> balance{0};
  Together([&](size_t thread) {
    std::mt19937_64 random(thread);
    for (int i = 0; i < 1000; ++i) {
      Charge charge = ChargeFor(versions, 0, 1, 5);
      Operation spend{{&charge, 1}, kStart, Mode::kSpend};
      storage->Apply(spend);
      ASSERT_TRUE(charge.outcome.allowed);
      Operation settle{{&charge, 1}, kStart, Mode::kSettle, kStart, random() % 10};
      storage->Apply(settle);
      balance.fetch_add(static_cast<int64_t>(settle.actual));
    }
  });
  Charge charge = ChargeFor(versions, 0, 1);
  Operation operation{{&charge, 1}, kStart, Mode::kPeek};
  storage->Apply(operation);
  EXPECT_EQ(charge.outcome.remaining, 100'000 - static_cast<uint64_t>(balance.load()));
}

// Eight threads meet a state under other numbers at once: it is converted once, and never more than the larger limit passes in all.
TEST_P(EachAlgorithm, OtherNumbersUnderLoadHandNothingBack) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions(
      {Make(GetParam(), 400, 3600'000'000), Make(GetParam(), 700, 3600'000'000), Make(GetParam(), 1000, 3600'000'000)});
  std::atomic<uint64_t> admitted{0};
  std::barrier phase(kThreads);
  Together([&](size_t) {
    for (uint16_t version = 0; version < 3; ++version) {
      phase.arrive_and_wait();
      for (int i = 0; i < 700; ++i) {
        Charge charge = ChargeFor(versions, version, 1);
        Operation operation{{&charge, 1}, kStart, Mode::kSpend};
        storage->Apply(operation);
        if (charge.outcome.allowed) admitted.fetch_add(1);
      }
    }
  });
  EXPECT_GE(admitted.load(), 400u);
  EXPECT_LE(admitted.load(), 1000u);
}

/// Without the leaky bucket, whose queue a smaller capacity cuts.
class EachThatKeepsAll : public testing::TestWithParam<Algorithm> {};
INSTANTIATE_TEST_SUITE_P(All, EachThatKeepsAll,
                         testing::Values(Algorithm::kTokenBucket, Algorithm::kFixedWindow, Algorithm::kSlidingLog,
                                         Algorithm::kSlidingCounter),
                         [](const auto& each) { return std::string(ToText(each.param)); });

// The same with requests that still decide under older, smaller numbers while the newer ones are in force.
TEST_P(EachThatKeepsAll, OldAndNewNumbersAtOnceHandNothingBack) {
  const auto storage = MakeMemoryStorage({});
  const Versions versions(
      {Make(GetParam(), 400, 3600'000'000), Make(GetParam(), 100, 3600'000'000), Make(GetParam(), 1000, 3600'000'000)});
  std::atomic<uint64_t> admitted{0};
  std::atomic<uint16_t> version{0};
  Together([&](size_t thread) {
    for (int i = 0; i < 2000; ++i) {
      if (thread == 0) version.store(static_cast<uint16_t>(i % 700 / 234));
      Charge charge = ChargeFor(versions, version.load(), 1);
      Operation operation{{&charge, 1}, kStart, Mode::kSpend};
      storage->Apply(operation);
      if (charge.outcome.allowed) admitted.fetch_add(1);
    }
  });
  EXPECT_GE(admitted.load(), 100u);
  EXPECT_LE(admitted.load(), 1000u);
}

}  // namespace
}  // namespace ratel::test
