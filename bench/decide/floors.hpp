// What no limiter can be faster than: one random cache line of a memory as large as the engine's, read and written by one compare-and-swap.
#pragma once

#define XXH_INLINE_ALL
#include <sys/mman.h>
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <new>

#include "../workload.hpp"
#include "question.hpp"

namespace bench {

/// Lines of 64 bytes on huge pages, if the system gives them: the least that a miss can cost.
class Lines {
 public:
  explicit Lines(uint64_t bytes) : count_(std::max<uint64_t>(bytes / sizeof(Line), 1)) {
    void* memory = mmap(nullptr, Bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    madvise(memory, Bytes(), MADV_HUGEPAGE);
    lines_ = static_cast<Line*>(memory);
    for (uint64_t i = 0; i < count_; ++i) lines_[i].word.store(i, std::memory_order_relaxed);
  }
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;
  ~Lines() { munmap(lines_, Bytes()); }

  std::atomic<uint64_t>& At(uint64_t hash) noexcept {
    __extension__ using Wide = unsigned __int128;
    return lines_[static_cast<uint64_t>(static_cast<Wide>(hash) * count_ >> 64)].word;
  }
  static Answer Write(std::atomic<uint64_t>& word) noexcept {
    uint64_t seen = word.load(std::memory_order_relaxed);
    while (!word.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel)) {
    }
    return {true, seen};
  }

 private:
  struct alignas(64) Line {
    std::atomic<uint64_t> word;
  };
  uint64_t Bytes() const noexcept { return count_ * sizeof(Line); }

  uint64_t count_;
  Line* lines_;
};

struct LineFloor {
  Lines& lines;
  Answer Allow(const Question& question) noexcept { return Lines::Write(lines.At(Mix(question.number))); }
  uint32_t Many(const std::array<Question, kBatch>& questions) noexcept {
    std::array<std::atomic<uint64_t>*, kBatch> words;
    for (uint32_t i = 0; i < kBatch; ++i) {
      words[i] = &lines.At(Mix(questions[i].number));
      __builtin_prefetch(words[i], 1);
    }
    uint32_t written = 0;
    for (std::atomic<uint64_t>* word : words) written += Lines::Write(*word).allowed;
    return written;
  }
};

/// The same, found by a keyed 128-bit hash of the key.
struct HashFloor {
  Lines& lines;
  std::array<unsigned char, 192> secret = Secret();

  static std::array<unsigned char, 192> Secret() noexcept {
    std::array<unsigned char, 192> bytes;
    for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<unsigned char>(Mix(i));
    return bytes;
  }
  Answer Allow(const Question& question) noexcept {
    const XXH128_hash_t hash =
        XXH3_128bits_withSecret(question.key.data(), question.key.size(), secret.data(), secret.size());
    return Lines::Write(lines.At(hash.low64 ^ hash.high64));
  }
};

}  // namespace bench
