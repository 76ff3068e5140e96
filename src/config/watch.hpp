// Notices that a rule file (or folder) has other bytes than before.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace ratel {

/// Polls on a thread of its own; contents decide, so that a touched file is no change and a swapped symlink is one.
class FileWatch {
 public:
  /// `changed` runs on the watch's thread, never concurrently with itself. Throws std::system_error when no thread can be had.
  FileWatch(std::string path, std::chrono::milliseconds interval, std::function<void()> changed);
  ~FileWatch();  ///< ends and joins the thread
  FileWatch(const FileWatch&) = delete;
  FileWatch& operator=(const FileWatch&) = delete;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratel
