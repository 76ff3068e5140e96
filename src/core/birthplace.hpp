// Whether this is still the process in which something was made.
#pragma once

#include <atomic>
#include <cstdint>

namespace ratel {

/// What has threads of its own keeps one of these. A child of fork gets a copy of all memory, but none of those threads, and the locks as they were held at
/// that moment: there, such a copy can be left alone and no more. Waiting for its threads or destroying what they wait on would never end. Any threads.
class Birthplace {
 public:
  Birthplace() noexcept;
  bool IsForked() const noexcept { return forks_ != forks.load(std::memory_order_relaxed); }

 private:
  /// How often this process is a child of fork, since the first Birthplace. A number to read and no system call: decisions ask.
  static std::atomic<uint32_t> forks;

  uint32_t forks_;
};

/// For what a child leaves alone: it stays where a search for leaks finds it. Any threads.
void LeaveToTheProcess(const void* what) noexcept;

}  // namespace ratel
