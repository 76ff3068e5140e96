// States as bytes.

#include "algorithm/codec.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "property/engine.hpp"

namespace ratel {
namespace {

using enum Algorithm;

constexpr Micros kSecond = 1'000'000;
constexpr Tick kStart = 1'700'000'040 * kSecond;

Numbers Make(const LimitSpec& spec) {
  auto numbers = Resolve(spec);
  EXPECT_TRUE(numbers);
  return *numbers;
}

std::string Bytes(const Numbers& numbers, const State& state, std::span<const LogEntry> entries = {}) {
  const std::vector<uint8_t> bytes = Encode(numbers, state, entries);
  return {bytes.begin(), bytes.end()};
}

/// The checksum made right again, so that what lies behind it is reached.
std::string Signed(std::string bytes) {
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i + 4 < bytes.size(); ++i) hash = (hash ^ static_cast<uint8_t>(bytes[i])) * 16777619u;
  for (size_t i = 0; i < 4; ++i) bytes[bytes.size() - 4 + i] = static_cast<char>(hash >> (8 * i));
  return bytes;
}

TEST(Codec, HasTheDocumentedLayout) {
  const Numbers numbers = Make({kTokenBucket, 5, kSecond, 7});
  const std::string bytes = Bytes(numbers, {0x0102030405u, 0x0a0b});
  const std::string expected(
      "RtlS\x01\x01\x00\x00"
      "\x05\x00\x00\x00\x00\x00\x00\x00"
      "\x40\x42\x0f\x00\x00\x00\x00\x00"
      "\x07\x00\x00\x00\x00\x00\x00\x00"
      "\x05\x04\x03\x02\x01\x00\x00\x00"
      "\x0b\x0a\x00\x00\x00\x00\x00\x00"
      "\x00\x00\x00\x00",
      52);
  EXPECT_EQ(bytes.substr(0, 52), expected);
  EXPECT_EQ(bytes.size(), 56u);
  EXPECT_EQ(bytes, Signed(bytes));
}

TEST(Codec, RoundTripsWhatStepsLeave) {
  constexpr uint64_t kSeed = 99;
  SCOPED_TRACE(kSeed);
  std::mt19937_64 random(kSeed);
  int live = 0;
  for (int i = 0; i < 20'000; ++i) {
    LimitSpec spec{static_cast<Algorithm>(1 + random() % 5), 1 + (random() >> (random() % 64)),
                   1 + (random() >> (11 + random() % 53)), 0};
    if (IsBucket(spec.algorithm) && random() % 2) spec.burst = 1 + (random() >> (random() % 64));
    auto numbers = Resolve(spec);
    if (!numbers) continue;
    Engine engine(*numbers);
    Tick now = (random() >> 11) / numbers->tick;
    for (int spent = 0; spent < 4; ++spent) {
      if (engine.Ask(now, 1 + random() % numbers->capacity).allowed)
        engine.Correct(now, now, 0, random() % (2 * numbers->capacity + 1));
      now = std::min(now + random() % numbers->window, kMaxMicros / numbers->tick);
    }
    const auto decoded = Decode(Bytes(*numbers, engine.state, engine.log.entries()));
    ASSERT_TRUE(decoded) << ToText(spec.algorithm) << ' ' << spec.limit << ' ' << spec.window << ' ' << spec.burst;
    ASSERT_EQ(decoded->numbers.spec, spec);
    ASSERT_EQ(decoded->numbers.tick, numbers->tick);
    ASSERT_EQ(decoded->state, engine.state);
    ASSERT_EQ(decoded->entries, std::vector<LogEntry>(engine.log.entries().begin(), engine.log.entries().end()));
    live += engine.state == State{} ? 0 : 1;
  }
  EXPECT_GT(live, 1000);
}

TEST(Codec, RefusesEveryCutAndEveryDamagedByte) {
  Engine engine(Make({kSlidingLog, 5, kSecond, 0}));
  for (Tick i = 0; i < 3; ++i) engine.Ask(kStart + i, 1);
  const std::string bytes = Bytes(engine.numbers, engine.state, engine.log.entries());
  ASSERT_TRUE(Decode(bytes));
  for (size_t length = 0; length < bytes.size(); ++length) EXPECT_FALSE(Decode(bytes.substr(0, length))) << length;
  EXPECT_FALSE(Decode(bytes + '\0'));
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ (1 << bit));
      EXPECT_FALSE(Decode(damaged)) << i << ' ' << bit;
    }
  }
  EXPECT_FALSE(Decode(""));
  EXPECT_FALSE(Decode("{\"tokens\":5,\"last\":1700000000}, what another program may have left under this key"));
}

TEST(Codec, RefusesValuesThatNoStepLeavesEvenWithARightChecksum) {
  const Numbers bucket = Make({kTokenBucket, 5, kSecond, 0});
  const Numbers window = Make({kFixedWindow, 5, kSecond, 0});
  const Numbers counter = Make({kSlidingCounter, 5, kSecond, 0});
  const Numbers log = Make({kSlidingLog, 5, kSecond, 0});
  const uint64_t six_before = uint64_t{6} << 32;
  EXPECT_TRUE(Decode(Bytes(bucket, {kStart + 2 * kSecond, 2 * bucket.full})));
  EXPECT_FALSE(Decode(Bytes(bucket, {kStart + 2 * kSecond, 2 * bucket.full + 1})));
  EXPECT_FALSE(Decode(Bytes(bucket, {kStart, 0})));
  EXPECT_FALSE(Decode(Bytes(bucket, {0, 5})));
  EXPECT_FALSE(Decode(Bytes(bucket, {399'999, 400'000})));
  EXPECT_FALSE(Decode(Bytes(bucket, {UINT64_MAX, 400'000})));
  EXPECT_TRUE(Decode(Bytes(window, {kStart + kSecond, 2 * (kMaxExact / 3)})));
  EXPECT_FALSE(Decode(Bytes(window, {kStart + kSecond, 2 * (kMaxExact / 3) + 1})));
  EXPECT_FALSE(Decode(Bytes(window, {kStart + kSecond + 1, 1})));
  EXPECT_FALSE(Decode(Bytes(window, {kStart + kSecond, 0})));
  EXPECT_FALSE(Decode(Bytes(window, {UINT64_MAX / kSecond * kSecond, 1})));
  EXPECT_TRUE(Decode(Bytes(counter, {kStart + 2 * kSecond, six_before | 1})));
  EXPECT_FALSE(Decode(Bytes(counter, {kStart + 2 * kSecond + 5, six_before | 1})));
  EXPECT_FALSE(Decode(Bytes(counter, {kSecond, six_before | 1})));
  EXPECT_TRUE(Decode(Bytes(counter, {kStart + 2 * kSecond, UINT64_MAX})));
  EXPECT_FALSE(Decode(Bytes(counter, {kStart + 2 * kSecond, 0})));
  const std::vector<LogEntry> entries{{kStart, 1}, {kStart + 1, 2}};
  const State words{kStart + 1 + kSecond, 3};
  EXPECT_TRUE(Decode(Bytes(log, words, entries)));
  EXPECT_FALSE(Decode(Bytes(log, words, {})));
  EXPECT_FALSE(Decode(Bytes(log, {}, entries)));
  EXPECT_FALSE(Decode(Bytes(log, {words.expiry, 4}, entries)));
  EXPECT_FALSE(Decode(Bytes(log, {words.expiry + 1, 3}, entries)));
  EXPECT_FALSE(Decode(Bytes(log, words, std::vector<LogEntry>{{kStart + 1, 1}, {kStart + 1, 2}})));
  EXPECT_FALSE(Decode(Bytes(log, {words.expiry, 1}, std::vector<LogEntry>{{kStart, 0}, {kStart + 1, 1}})));
  EXPECT_FALSE(Decode(Bytes(log, {UINT64_MAX, 1}, std::vector<LogEntry>{{UINT64_MAX - kSecond, 1}})));
  EXPECT_FALSE(Decode(Bytes(log, {words.expiry, 2}, std::vector<LogEntry>{{kStart, 3}, {kStart + 1, UINT64_MAX}})));
  EXPECT_FALSE(Decode(Bytes(bucket, {kStart + 400'000, 400'000}, entries)));
}

TEST(Codec, RefusesOtherVersionsAlgorithmsTicksAndImpossibleNumbers) {
  const Numbers numbers = Make({kTokenBucket, 5, kSecond, 0});
  const std::string bytes = Bytes(numbers, {kStart + 400'000, 400'000});
  ASSERT_TRUE(Decode(bytes));
  for (const auto& [offset, value] : std::vector<std::pair<size_t, char>>{
           {0, 'r'}, {4, 2}, {4, 0}, {5, 0}, {5, 6}, {6, 1}, {7, 1}, {48, 1}, {8, 0}, {23, 1}, {31, 1}}) {
    std::string other = bytes;
    other[offset] = value;
    EXPECT_FALSE(Decode(Signed(other))) << offset;
  }
}

TEST(Codec, ALogMayHoldUnitsThatHaveAgedOut) {
  Engine engine(Make({kSlidingLog, kMaxWordLimit, kSecond, 0}));
  EXPECT_TRUE(engine.Ask(kStart, kMaxWordLimit - 1).allowed);
  EXPECT_TRUE(engine.Ask(kStart + 1, 1).allowed);
  engine.Correct(kStart + 1, kStart, 0, kMaxWordLimit);
  engine.Correct(kStart + kSecond, kStart + 1, 0, UINT64_MAX);
  EXPECT_GT(engine.state.value, 3 * kMaxWordLimit);
  EXPECT_TRUE(Decode(Bytes(engine.numbers, engine.state, engine.log.entries())));
}

TEST(Codec, ALogMayHoldMoreThanALoweredLimit) {
  const Numbers lowered = Make({kSlidingLog, 2, kSecond, 0});
  const std::vector<LogEntry> entries{{kStart, 40}, {kStart + 1, 60}};
  const auto decoded = Decode(Bytes(lowered, {kStart + 1 + kSecond, 100}, entries));
  ASSERT_TRUE(decoded);
  Engine engine(decoded->numbers);
  engine.log = LogVector(decoded->entries);
  const Outcome denied = engine.Ask(kStart + 2, 1);
  EXPECT_EQ(denied.retry_at, kStart + 1 + kSecond);
  EXPECT_EQ(denied.remaining, 0u);
}

}  // namespace
}  // namespace ratel
