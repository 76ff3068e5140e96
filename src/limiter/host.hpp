// What the surroundings supply: a clock and a place for messages.
#pragma once

#include <cstdint>
#include <string_view>

namespace ratel {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Nanoseconds since the Unix epoch. Any thread.
  virtual uint64_t NowNs() noexcept = 0;
};

class Log {
 public:
  enum class Level : int32_t { kError = 1, kWarning = 2, kInfo = 3 };
  virtual ~Log() = default;
  /// One line of UTF-8. Any thread; never called with a lock held.
  virtual void Write(Level level, std::string_view text) noexcept = 0;
};

}  // namespace ratel
