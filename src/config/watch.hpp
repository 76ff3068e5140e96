// Notices that a rule file (or folder) has other bytes than before.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ratel {

/// Polls on a thread of its own; contents decide, so that a touched file is no change and a swapped symlink is one. That it cannot
/// be read any more is told once, as a change. A change is told once the bytes have stood still for a moment, so a
/// file that is being written is not read by halves.
class FileWatch {
 public:
  /// What `path` holds now is what later looks are compared with: make the watch first, then read the file. `changed` runs on the
  /// watch's thread, never concurrently with itself; it may neither throw nor destroy the watch. Throws std::system_error when no
  /// thread can be had.
  FileWatch(std::string path, std::chrono::milliseconds interval, std::function<void()> changed);
  ~FileWatch();  ///< ends and joins the thread
  /// Whether the caller is this watch's thread, on which it cannot be ended.
  bool IsThisThread() const noexcept;
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratel
