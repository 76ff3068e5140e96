#include "config/watch.hpp"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "config/files.hpp"
#include "core/hash.hpp"
#include "core/signals.hpp"

namespace ratel {
namespace {

/// Each file with the hash of its bytes.
using Fingerprint = std::vector<std::pair<std::string, Hash128>>;

constexpr std::chrono::milliseconds kSettle{50};

}  // namespace

struct FileWatch::Impl {
  Impl(std::string path_in, std::chrono::milliseconds interval_in, std::function<void()> changed_in)
      : path(std::move(path_in)), interval(interval_in), changed(std::move(changed_in)), seen(Look()), thread([this] {
          Run();
        }) {}

  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    thread.join();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void Run() {
    LeaveSignalsToTheHost();
    while (Wait(interval)) {
      std::optional<Fingerprint> now = Look();
      if (now ? now == seen : unreadable) {
        unreadable = !now;
        continue;
      }
      if (!Wait(std::min(interval, kSettle))) return;
      if (Look() != now) continue;
      unreadable = !now;
      if (now) seen = std::move(now);
      changed();
    }
  }

  /// False when the watch is to end.
  bool Wait(std::chrono::milliseconds span) {
    std::unique_lock lock(mutex);
    return !wake.wait_for(lock, span, [this] { return ending; });
  }

  /// Nothing when it cannot be read, for lack of memory too.
  std::optional<Fingerprint> Look() const noexcept {
    try {
      const Result<std::vector<std::string>> files = ListRuleFiles(path);
      if (!files) return std::nullopt;
      Fingerprint prints;
      for (const std::string& file : *files) {
        const Result<std::string> text = ReadFile(file);
        if (!text) return std::nullopt;
        prints.emplace_back(file, hasher(*text));
      }
      return prints;
    } catch (const std::exception&) {
      return std::nullopt;
    }
  }

  const KeyedHasher hasher = KeyedHasher::Random();
  const std::string path;
  const std::chrono::milliseconds interval;
  const std::function<void()> changed;
  std::optional<Fingerprint> seen;
  std::mutex mutex;
  std::condition_variable wake;
  bool ending = false;
  bool unreadable = !seen;  ///< and told
  std::thread thread;       // last: it uses all of the above
};

FileWatch::FileWatch(std::string path, std::chrono::milliseconds interval, std::function<void()> changed)
    : impl_(std::make_unique<Impl>(std::move(path), interval, std::move(changed))) {}

FileWatch::~FileWatch() = default;

bool FileWatch::IsThisThread() const noexcept { return std::this_thread::get_id() == impl_->thread.get_id(); }

}  // namespace ratel
