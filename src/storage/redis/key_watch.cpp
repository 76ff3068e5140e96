#include "storage/redis/key_watch.hpp"

#include <exception>
#include <utility>

#include "core/signals.hpp"

namespace ratel::redis {

KeyWatch::~KeyWatch() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  client_->Stop();
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<std::string> KeyWatch::Look() {
  auto got = client_->Get(key_);
  if (!got) {
    missing_ = got.error().message;
  } else if (!got->has_value()) {
    missing_ = "there is no such key";
  } else {
    missing_.clear();
    seen_ = **got;
    return **got;
  }
  return Error{Status::kIo, missing_, Shown(), {}, {}};
}

void KeyWatch::Start(std::chrono::milliseconds interval, Hearer hearer) {
  interval_ = interval;
  hearer_ = std::move(hearer);
  thread_ = std::thread([this] { Run(); });
}

void KeyWatch::Run() {
  LeaveSignalsToTheHost();
  while (Wait()) {
    try {
      const auto seen = seen_;
      const std::string was_missing = missing_;
      const Result<std::string> text = Look();
      {
        const std::lock_guard lock(mutex_);
        if (ending_) return;
      }
      if (text && *text != seen) hearer_.changed(*text);
      if (!text && missing_ != was_missing) hearer_.missing(missing_);
    } catch (const std::exception&) {
      // Memory ran out: the next look may find some.
    }
  }
}

/// False when the watch is to end.
bool KeyWatch::Wait() {
  const auto quarter = interval_.count() / 4;
  const std::chrono::milliseconds span(interval_.count() - quarter +
                                       static_cast<int64_t>(random_() % static_cast<uint64_t>(2 * quarter + 1)));
  std::unique_lock lock(mutex_);
  return !wake_.wait_for(lock, span, [this] { return ending_; });
}

}  // namespace ratel::redis
