// Notices that a key of a Redis has another text than before.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <thread>

#include "core/result.hpp"
#include "storage/redis/key_client.hpp"

namespace ratel::redis {

/// Looks now and then on a thread of its own. Each text is told once, and so is that there is none or that no server answers, until that changes.
class KeyWatch {
 public:
  struct Hearer {
    std::function<void(const std::string& text)> changed;
    std::function<void(const std::string& why)> missing;
  };

  KeyWatch(std::unique_ptr<KeyClient> client, std::string key) : client_(std::move(client)), key_(std::move(key)) {}
  ~KeyWatch();  ///< ends and joins the thread
  KeyWatch(const KeyWatch&) = delete;
  KeyWatch& operator=(const KeyWatch&) = delete;

  /// Looks on this thread, before Start: the text, or why there is none. What it finds counts as told.
  Result<std::string> Look();
  /// Looks from now on every `interval`, a quarter more or less by chance. The hearer is called on the watch's thread; it may neither throw nor destroy
  /// the watch. Throws std::system_error when no thread can be had.
  void Start(std::chrono::milliseconds interval, Hearer hearer);
  /// "redis://host:6379/0#key", for messages.
  std::string Shown() const { return client_->Shown(key_); }
  bool IsThisThread() const noexcept { return std::this_thread::get_id() == thread_.get_id(); }

 private:
  void Run();
  bool Wait();

  const std::unique_ptr<KeyClient> client_;
  const std::string key_;
  std::chrono::milliseconds interval_{};
  Hearer hearer_;
  std::optional<std::string> seen_;  ///< the text that was told last
  std::string missing_;              ///< why there was none when it was looked last; empty = there was one
  std::minstd_rand random_{std::random_device{}()};
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace ratel::redis
