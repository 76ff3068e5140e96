#include "host.hpp"

namespace ratel::capi {
namespace {

class HostClock final : public Clock {
 public:
  explicit HostClock(const rl_clock& clock) noexcept : clock_(clock) {}
  ~HostClock() override {
    if (clock_.destroy != nullptr) clock_.destroy(clock_.self);
  }
  HostClock(const HostClock&) = delete;
  HostClock& operator=(const HostClock&) = delete;

  uint64_t NowNs() noexcept override { return clock_.now_ns(clock_.self); }

 private:
  rl_clock clock_;
};

class HostLog final : public Log {
 public:
  explicit HostLog(const rl_log& log) noexcept : log_(log) {}
  ~HostLog() override {
    if (log_.destroy != nullptr) log_.destroy(log_.self);
  }
  HostLog(const HostLog&) = delete;
  HostLog& operator=(const HostLog&) = delete;

  void Write(Level level, std::string_view text) noexcept override {
    log_.write(log_.self, static_cast<int32_t>(level), text.data(), text.size());
  }

 private:
  rl_log log_;
};

static_assert(static_cast<int32_t>(Log::Level::kError) == RL_LOG_ERROR);
static_assert(static_cast<int32_t>(Log::Level::kWarning) == RL_LOG_WARNING);
static_assert(static_cast<int32_t>(Log::Level::kInfo) == RL_LOG_INFO);

}  // namespace

std::unique_ptr<Clock> MakeHostClock(const rl_clock& clock) { return std::make_unique<HostClock>(clock); }
std::unique_ptr<Log> MakeHostLog(const rl_log& log) { return std::make_unique<HostLog>(log); }

}  // namespace ratel::capi
