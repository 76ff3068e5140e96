// What every subject is asked, and what it answers.
#pragma once

#include <cstdint>
#include <string_view>

namespace bench {

struct Question {
  std::string_view key;
  uint32_t number = 0;  ///< the key's number, for the floors
  uint64_t now_us = 0;
};

struct Answer {
  bool allowed = false;
  uint64_t remaining = 0;
  friend bool operator==(const Answer&, const Answer&) = default;
};

constexpr uint32_t kBatch = 32;
constexpr uint64_t kStartUs = 1'700'000'000'000'000;

}  // namespace bench
