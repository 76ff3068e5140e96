// What reloads a registry by itself: a file that is looked at, or a key of a Redis. One at a time.
#pragma once

#include <memory>
#include <mutex>

#include "core/birthplace.hpp"

namespace ratel::redis {
class KeyWatch;
}

namespace ratel::capi {

/// The watch of a key; that of a file is the engine's own. Any threads.
class Watches {
 public:
  Watches();
  ~Watches();
  Watches(const Watches&) = delete;
  Watches& operator=(const Watches&) = delete;

  /// Whether this is the copy in a child of fork, where the threads are not.
  bool IsForked() const noexcept { return birthplace_.IsForked(); }
  /// Whether the caller is the watch's thread, on which it cannot be ended.
  bool IsThisThread();
  /// Ends the watch there was, on this thread and without a lock: it may be reloading, which calls the host's log.
  void Replace(std::unique_ptr<redis::KeyWatch> watch);

 private:
  const Birthplace birthplace_;
  std::mutex mutex_;
  std::unique_ptr<redis::KeyWatch> key_;
};

}  // namespace ratel::capi
