// Bytes from one thread to another, a bounded number at a time.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

namespace gateway {

class Pipe {
 public:
  /// Waits while much is under way; false when the reader has gone.
  bool Write(std::string chunk) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return size_ < kCapacity || reader_gone_; });
    if (reader_gone_) return false;
    size_ += chunk.size();
    chunks_.push_back(std::move(chunk));
    changed_.notify_all();
    return true;
  }

  /// No more comes; `complete` says whether that is all of it.
  void Close(bool complete) {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    complete_ = complete;
    changed_.notify_all();
  }

  /// Waits; nothing when no more comes.
  std::optional<std::string> Read() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !chunks_.empty() || closed_; });
    if (chunks_.empty()) return std::nullopt;
    std::string chunk = std::move(chunks_.front());
    chunks_.pop_front();
    size_ -= chunk.size();
    changed_.notify_all();
    return chunk;
  }

  /// After Read() said that no more comes.
  bool Complete() {
    const std::lock_guard lock(mutex_);
    return complete_;
  }

  void LeaveReader() {
    const std::lock_guard lock(mutex_);
    reader_gone_ = true;
    changed_.notify_all();
  }

 private:
  static constexpr size_t kCapacity = 256 * 1024;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::string> chunks_;
  size_t size_ = 0;
  bool closed_ = false;
  bool complete_ = false;
  bool reader_gone_ = false;
};

}  // namespace gateway
