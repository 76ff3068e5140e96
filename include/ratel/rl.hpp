// rl.hpp - C++17 over rl.h: owners that release, exceptions in place of statuses, std::string in place of buffers.
//
//  Nothing is decided here: every function is one call of rl.h, whose contract holds (threads, units, ownership).
//
//  - Errors: a call that fails throws ratel::Error. A denial is an answer and never throws. TryAllow does not throw.
//  - Bytes: std::string_view in, borrowed for the call; std::string out.
//  - Callbacks: std::function. They must not throw: one that does makes the storage answer RL_E_STORE; in a clock, a
//    log or a decision's callback it ends the program.
//
//  Header only, links against libratel alone. The names live in an inline namespace, so that a program that links the
//  static library and this header has no two classes of one name.
#ifndef RATEL_RL_HPP
#define RATEL_RL_HPP

#include <ratel/rl.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ratel {
inline namespace v1 {

inline rl_str ToStr(std::string_view text) noexcept { return rl_str{text.data(), text.size()}; }
inline std::string_view ToView(rl_str text) noexcept {
  return std::string_view(text.data, static_cast<std::size_t>(text.size));
}

/// Why a call failed: a status, a text, and for rule files the place.
class Error : public std::exception {
 public:
  explicit Error(rl_status status) noexcept { raw_.status = status; }
  explicit Error(const rl_error& raw) noexcept : raw_(raw) {
    char place[32] = "";
    if (raw_.line != 0)
      std::snprintf(place, sizeof place, ":%u:%u", static_cast<unsigned>(raw_.line),
                    static_cast<unsigned>(raw_.column));
    std::snprintf(what_, sizeof what_, "%s%s%s%s%s%s", raw_.file, place, raw_.file[0] != '\0' ? ": " : "", raw_.path,
                  raw_.path[0] != '\0' ? ": " : "", raw_.message);
  }

  /// "file:line:column: path: message", as much of it as there is.
  const char* what() const noexcept override { return what_[0] != '\0' ? what_ : rl_status_name(raw_.status); }
  rl_status Status() const noexcept { return raw_.status; }
  std::string_view Message() const noexcept { return raw_.message; }
  std::string_view File() const noexcept { return raw_.file; }
  std::string_view Path() const noexcept { return raw_.path; }
  std::uint32_t Line() const noexcept { return raw_.line; }
  std::uint32_t Column() const noexcept { return raw_.column; }
  std::uint32_t FaultCount() const noexcept { return raw_.fault_count; }

 private:
  rl_error raw_ = RL_ERROR_INIT;
  char what_[sizeof(rl_error) + 64] = "";  ///< here and not in a std::string: memory may be what has run out
};

namespace detail {

/// Runs `call(rl_error*)` and throws what it reports.
template <class Call>
void Check(Call&& call) {
  rl_error error = RL_ERROR_INIT;
  const rl_status status = call(&error);
  if (status == RL_OK) return;
  if (error.status != status) throw Error(status);
  throw Error(error);
}

/// Runs `call(buffer, capacity, needed, rl_error*)` until the text fits: it may grow between two calls.
template <class Call>
std::string Text(Call&& call) {
  std::string text(512, '\0');
  for (;;) {
    std::uint64_t needed = 0;
    rl_error error = RL_ERROR_INIT;
    const rl_status status = call(&text[0], text.size(), &needed, &error);
    if (status != RL_OK && status != RL_E_BUFFER_TOO_SMALL) throw error.status == status ? Error(error) : Error(status);
    text.resize(static_cast<std::size_t>(needed));
    if (status == RL_OK) return text;
  }
}

template <class Function>
void Destroy(void* self) {
  delete static_cast<Function*>(self);
}

}  // namespace detail

/// The answer to a request: rl_decision with names.
class Decision {
 public:
  using Span = std::chrono::duration<std::uint64_t, std::nano>;

  Decision() noexcept = default;
  explicit Decision(const rl_decision& raw) noexcept : raw_(raw) {}

  explicit operator bool() const noexcept { return Allowed(); }
  bool Allowed() const noexcept { return raw_.allowed != 0; }
  std::uint64_t Remaining() const noexcept { return raw_.remaining; }
  std::uint64_t Capacity() const noexcept { return raw_.capacity; }
  /// Empty when waiting does not help.
  std::optional<Span> RetryAfter() const noexcept {
    if (raw_.retry_after_ns == RL_NEVER) return std::nullopt;
    return Span(raw_.retry_after_ns);
  }
  Span ResetAfter() const noexcept { return Span(raw_.reset_after_ns); }
  Span Delay() const noexcept { return Span(raw_.delay_ns); }
  int Source() const noexcept { return raw_.source; }
  int Reason() const noexcept { return raw_.reason; }
  bool ShadowDenied() const noexcept { return (raw_.flags & RL_DECISION_SHADOW_DENIED) != 0; }
  std::uint32_t Rule() const noexcept { return raw_.rule; }
  std::uint32_t LimitId() const noexcept { return raw_.limit_id; }
  std::uint64_t Generation() const noexcept { return raw_.generation; }

  const rl_decision& Raw() const noexcept { return raw_; }
  rl_decision* Out() noexcept { return &raw_; }

 private:
  rl_decision raw_ = RL_DECISION_INIT;
};

/// A request, filled in by chained calls. Borrows every byte it is given: they have to outlive the call it is used in.
class Request {
 public:
  Request& Method(std::string_view method) noexcept { return Set(raw_.method, method); }
  Request& Path(std::string_view path) noexcept { return Set(raw_.path, path); }
  Request& User(std::string_view user) noexcept { return Set(raw_.user, user); }
  Request& ApiKey(std::string_view key) noexcept { return Set(raw_.api_key, key); }
  Request& Ip(std::string_view address) noexcept { return Set(raw_.ip, address); }
  Request& Key(std::string_view key) noexcept { return Set(raw_.key, key); }
  /// A repeat with the same id, keys and cost is answered as before and charged once (Redis).
  Request& IdempotencyId(std::string_view id) noexcept { return Set(raw_.idempotency_id, id); }
  Request& Attribute(std::string_view name, std::string_view value) {
    attributes_.push_back(rl_attribute{ToStr(name), ToStr(value)});
    return *this;
  }
  Request& Cost(std::int64_t units) noexcept {
    raw_.cost = units;
    return *this;
  }
  Request& Rule(std::uint32_t id) noexcept {
    raw_.rule = id;
    return *this;
  }
  Request& NowNs(std::uint64_t now) noexcept {
    raw_.now_ns = now;
    return *this;
  }

  /// As rl.h takes it; points into this object.
  rl_request Raw() const noexcept {
    rl_request raw = raw_;
    raw.attributes = attributes_.data();
    raw.attribute_count = static_cast<std::uint32_t>(attributes_.size());
    return raw;
  }

 private:
  Request& Set(rl_str& field, std::string_view text) noexcept {
    field = ToStr(text);
    return *this;
  }

  rl_request raw_ = RL_REQUEST_INIT;
  std::vector<rl_attribute> attributes_;
};

using Clock = std::function<std::uint64_t()>;                          ///< nanoseconds since the Unix epoch
using Log = std::function<void(int level, std::string_view text)>;     ///< RL_LOG_*
using DecisionCallback = std::function<void(const Decision& answer)>;  ///< look at Raw().status first

/// A storage of the host's own, as rl_storage says it. An empty function is "not offered"; `apply` is required.
struct Storage {
  std::function<rl_status(rl_op* op, rl_cell* cells, std::uint32_t count)> apply;
  std::function<rl_status(rl_op* op, rl_cell* cells, std::uint32_t count, rl_completion* done)> apply_async;
  std::function<rl_status(std::string_view key)> forget;
  std::function<rl_status(std::uint64_t cutoff_ns, std::uint64_t* dropped)> sweep;
  std::function<rl_status(std::uint64_t* keys)> count;
};

namespace detail {

inline std::uint64_t ReadClock(void* self) noexcept { return (*static_cast<Clock*>(self))(); }
inline void WriteLog(void* self, std::int32_t level, const char* text, std::uint64_t size) noexcept {
  (*static_cast<Log*>(self))(level, std::string_view(text, static_cast<std::size_t>(size)));
}

/// What a storage callback throws is a storage that could not answer.
template <class Call>
rl_status Guard(Call&& call) noexcept {
  try {
    return call();
  } catch (...) {
    return RL_E_STORE;
  }
}

inline rl_status Apply(void* self, rl_op* op, rl_cell* cells, std::uint32_t count) noexcept {
  return Guard([&] { return static_cast<Storage*>(self)->apply(op, cells, count); });
}
inline rl_status ApplyAsync(void* self, rl_op* op, rl_cell* cells, std::uint32_t count, rl_completion* done) noexcept {
  return Guard([&] { return static_cast<Storage*>(self)->apply_async(op, cells, count, done); });
}
inline rl_status Forget(void* self, rl_str key) noexcept {
  return Guard([&] { return static_cast<Storage*>(self)->forget(ToView(key)); });
}
inline rl_status Sweep(void* self, std::uint64_t cutoff_ns, std::uint64_t* dropped) noexcept {
  return Guard([&] { return static_cast<Storage*>(self)->sweep(cutoff_ns, dropped); });
}
inline rl_status Count(void* self, std::uint64_t* keys) noexcept {
  return Guard([&] { return static_cast<Storage*>(self)->count(keys); });
}

inline void Finish(void* user, const rl_decision* decision) noexcept {
  const std::unique_ptr<DecisionCallback> callback(static_cast<DecisionCallback*>(user));
  (*callback)(Decision(*decision));
}

struct ConfigDeleter {
  void operator()(rl_config* config) const noexcept { rl_config_destroy(config); }
};
struct RegistryDeleter {
  void operator()(rl_registry* registry) const noexcept { rl_registry_destroy(registry); }
};

inline void Wake(void* self) noexcept { (*static_cast<std::function<void()>*>(self))(); }
struct QueueDeleter {
  void operator()(rl_completion_queue* queue) const noexcept { rl_completion_queue_destroy(queue); }
};

}  // namespace detail

/// Answers to collect, many at a time. Any threads; can be moved while no other thread uses it.
class CompletionQueue {
 public:
  struct Answer {
    std::uint64_t tag = 0;
    Decision decision;  ///< look at Raw().status first
  };

  /// `wake` is called when an answer comes to an empty queue, on the thread that brought it.
  explicit CompletionQueue(std::uint32_t capacity = 0, std::function<void()> wake = {})
      : wake_(wake ? std::make_unique<std::function<void()>>(std::move(wake)) : nullptr) {
    rl_completion_queue* queue = nullptr;
    detail::Check([&](rl_error* e) {
      return rl_completion_queue_create(capacity, wake_ ? detail::Wake : nullptr, wake_.get(), &queue, e);
    });
    queue_.reset(queue);
  }

  /// `out` gets up to `most` answers, none when the time is over. False: shut down, and all have been taken.
  bool Drain(std::vector<Answer>& out, std::chrono::milliseconds timeout, std::uint32_t most = 64) {
    std::vector<std::uint64_t> tags(most);
    std::vector<rl_decision> answers(most, rl_decision RL_DECISION_INIT);
    const std::uint32_t wait = timeout.count() < 0 || timeout.count() >= RL_WAIT_FOREVER
                                   ? RL_WAIT_FOREVER
                                   : static_cast<std::uint32_t>(timeout.count());
    std::uint32_t count = 0;
    rl_error error = RL_ERROR_INIT;
    const rl_status status = rl_completion_queue_drain(Raw(), tags.data(), answers.data(), most, wait, &count, &error);
    if (status != RL_OK && status != RL_E_CANCELLED) throw Error(error);
    out.clear();
    for (std::uint32_t i = 0; i < count; ++i) out.push_back({tags[i], Decision(answers[i])});
    return status == RL_OK;
  }
  void Shutdown() noexcept { static_cast<void>(rl_completion_queue_shutdown(Raw())); }

  rl_completion_queue* Raw() const noexcept { return queue_.get(); }

 private:
  std::unique_ptr<std::function<void()>> wake_;  // before the queue, which calls it
  std::unique_ptr<rl_completion_queue, detail::QueueDeleter> queue_;
};

/// Collects rules, callbacks and the choice of a storage. One thread at a time; can be moved.
class Config {
 public:
  Config() {
    rl_config* config = nullptr;
    detail::Check([&](rl_error* error) { return rl_config_create(&config, error); });
    config_.reset(config);
  }

  /// Adds the rules of a YAML or JSON text. Throws the first fault; Faults() has all of them.
  void LoadText(std::string_view text, std::string_view name = "rules") {
    detail::Check([&](rl_error* e) { return rl_config_load_text(Raw(), ToStr(text), ToStr(name), e); });
  }
  void LoadFile(std::string_view path) {
    detail::Check([&](rl_error* e) { return rl_config_load_file(Raw(), ToStr(path), e); });
  }
  void AddRule(const rl_rule& rule) {
    detail::Check([&](rl_error* e) { return rl_config_add_rule(Raw(), &rule, e); });
  }
  void Clear() {
    detail::Check([&](rl_error*) { return rl_config_clear(Raw()); });
  }

  /// All faults of what was loaded last, in file order.
  std::vector<Error> Faults() const {
    std::vector<Error> faults;
    rl_error fault = RL_ERROR_INIT;
    while (rl_config_fault(Raw(), static_cast<std::uint32_t>(faults.size()), &fault) == RL_OK)
      faults.emplace_back(fault);
    return faults;
  }

  void SetClock(Clock clock) {
    auto owned = std::make_unique<Clock>(std::move(clock));
    const rl_clock raw = {sizeof(rl_clock), 0, owned.get(), detail::ReadClock, detail::Destroy<Clock>};
    detail::Check([&](rl_error* e) { return rl_config_set_clock(Raw(), &raw, e); });
    static_cast<void>(owned.release());
  }
  void SetLog(Log log) {
    auto owned = std::make_unique<Log>(std::move(log));
    const rl_log raw = {sizeof(rl_log), 0, owned.get(), detail::WriteLog, detail::Destroy<Log>};
    detail::Check([&](rl_error* e) { return rl_config_set_log(Raw(), &raw, e); });
    static_cast<void>(owned.release());
  }
  void SetStorage(Storage storage) {
    auto owned = std::make_unique<Storage>(std::move(storage));
    rl_storage raw = {};
    raw.struct_size = sizeof raw;
    raw.self = owned.get();
    if (owned->apply) raw.apply = detail::Apply;
    if (owned->apply_async) raw.apply_async = detail::ApplyAsync;
    if (owned->forget) raw.forget = detail::Forget;
    if (owned->sweep) raw.sweep = detail::Sweep;
    if (owned->count) raw.count = detail::Count;
    raw.destroy = detail::Destroy<Storage>;
    detail::Check([&](rl_error* e) { return rl_config_set_storage(Raw(), &raw, e); });
    static_cast<void>(owned.release());
  }
  void UseMemory(std::uint64_t max_keys = 0) {
    detail::Check([&](rl_error* e) { return rl_config_use_memory(Raw(), max_keys, e); });
  }
  void UseRedis(std::string_view url) {
    detail::Check([&](rl_error* e) { return rl_config_use_redis(Raw(), ToStr(url), e); });
  }
  void SetSecret(std::string_view secret) {
    detail::Check([&](rl_error* e) { return rl_config_set_secret(Raw(), ToStr(secret), e); });
  }
  void SetRegion(std::string_view region) {
    detail::Check([&](rl_error* e) { return rl_config_set_region(Raw(), ToStr(region), e); });
  }
  void SetReadableKeys(bool on) {
    detail::Check([&](rl_error* e) { return rl_config_set_readable_keys(Raw(), on ? 1 : 0, e); });
  }

  rl_config* Raw() const noexcept { return config_.get(); }

 private:
  std::unique_ptr<rl_config, detail::ConfigDeleter> config_;
};

/// A rule set in force. Any threads; can be moved while no other thread uses it.
class Registry {
 public:
  explicit Registry(const Config& config) {
    rl_registry* registry = nullptr;
    detail::Check([&](rl_error* e) { return rl_registry_create(config.Raw(), &registry, e); });
    registry_.reset(registry);
  }

  // ---- deciding ----

  Decision Allow(const Request& request) const {
    const rl_request raw = request.Raw();
    Decision decision;
    detail::Check([&](rl_error* e) { return rl_allow(Raw(), &raw, decision.Out(), e); });
    return decision;
  }
  rl_status TryAllow(const Request& request, Decision& decision) const noexcept {
    const rl_request raw = request.Raw();
    return rl_allow(Raw(), &raw, decision.Out(), nullptr);
  }
  Decision AllowRule(std::uint32_t rule, std::string_view key, std::int64_t cost = RL_COST_OF_RULE,
                     std::uint64_t now_ns = 0) const {
    Decision decision;
    detail::Check(
        [&](rl_error*) { return rl_allow_rule(Raw(), rule, key.data(), key.size(), cost, now_ns, decision.Out()); });
    return decision;
  }
  /// ClientIp (unless the request has an address), Allow and Headers in one call. `headers` gets the fields.
  Decision AllowHttp(const Request& request, std::string_view peer,
                     const std::vector<std::string_view>& x_forwarded_for,
                     const std::vector<std::string_view>& forwarded, std::string& headers,
                     std::uint32_t flags = 0) const {
    const std::vector<rl_str> chain = ToStrs(x_forwarded_for);
    const std::vector<rl_str> standard = ToStrs(forwarded);
    const rl_request raw = request.Raw();
    const rl_http http = {sizeof(rl_http),
                          flags,
                          ToStr(peer),
                          chain.data(),
                          standard.data(),
                          static_cast<std::uint32_t>(chain.size()),
                          static_cast<std::uint32_t>(standard.size())};
    Decision decision;
    std::uint64_t needed = 0;
    headers.resize(1024);
    detail::Check([&](rl_error* e) {
      return rl_allow_http(Raw(), &raw, &http, decision.Out(), headers.data(), headers.size(), &needed, e);
    });
    if (needed > headers.size()) {
      headers = Headers(decision, flags);
    } else {
      headers.resize(static_cast<std::size_t>(needed));
    }
    return decision;
  }
  /// One answer for each request, in order; each one's status is its own (Raw().status).
  std::vector<Decision> AllowMany(const std::vector<Request>& requests) const {
    std::vector<rl_request> raw;
    raw.reserve(requests.size());
    for (const Request& request : requests) raw.push_back(request.Raw());
    const rl_decision empty = RL_DECISION_INIT;
    std::vector<rl_decision> out(raw.size(), empty);
    detail::Check([&](rl_error* e) {
      return rl_allow_many(Raw(), raw.data(), static_cast<std::uint32_t>(raw.size()), out.data(), e);
    });
    return std::vector<Decision>(out.begin(), out.end());
  }
  /// The callback runs exactly once, unless this throws; before this returns where there is nothing to wait for, as rl.h says.
  void AllowAsync(const Request& request, DecisionCallback callback) const {
    const rl_request raw = request.Raw();
    auto owned = std::make_unique<DecisionCallback>(std::move(callback));
    // The callback may run, and free itself, before the call returns: only a failure leaves it ours.
    DecisionCallback* const user = owned.release();
    try {
      detail::Check([&](rl_error* e) { return rl_allow_async(Raw(), &raw, detail::Finish, user, e); });
    } catch (...) {
      delete user;
      throw;
    }
  }
  /// The answer comes to `queue` with `tag` exactly once, unless this throws.
  void AllowQueued(const Request& request, const CompletionQueue& queue, std::uint64_t tag) const {
    const rl_request raw = request.Raw();
    detail::Check([&](rl_error* e) { return rl_allow_queued(Raw(), &raw, queue.Raw(), tag, e); });
  }
  Decision Peek(const Request& request) const {
    const rl_request raw = request.Raw();
    Decision decision;
    detail::Check([&](rl_error* e) { return rl_peek(Raw(), &raw, decision.Out(), e); });
    return decision;
  }
  /// `actual` units in place of what `spent` took.
  Decision Settle(const Request& request, const Decision& spent, std::int64_t actual) const {
    const rl_request raw = request.Raw();
    Decision decision;
    detail::Check([&](rl_error* e) { return rl_settle(Raw(), &raw, &spent.Raw(), actual, decision.Out(), e); });
    return decision;
  }
  void Reset(const Request& request) const {
    const rl_request raw = request.Raw();
    detail::Check([&](rl_error* e) { return rl_reset(Raw(), &raw, e); });
  }
  std::string Explain(const Request& request, std::uint32_t flags = 0) const {
    const rl_request raw = request.Raw();
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_explain(Raw(), &raw, flags, buffer, capacity, needed, e);
    });
  }

  // ---- rules ----

  void Reload(const Config& config) {
    detail::Check([&](rl_error* e) { return rl_registry_reload(Raw(), config.Raw(), e); });
  }
  void ReloadFile(std::string_view path) {
    detail::Check([&](rl_error* e) { return rl_registry_reload_file(Raw(), ToStr(path), e); });
  }
  /// Reloads when the file's bytes change. An empty path ends it.
  void Watch(std::string_view path, std::chrono::milliseconds interval = std::chrono::milliseconds(0)) {
    const auto milliseconds = static_cast<std::uint32_t>(interval.count());
    detail::Check([&](rl_error* e) { return rl_registry_watch(Raw(), ToStr(path), milliseconds, e); });
  }
  /// Reloads when the text under a key of a Redis changes. An empty url or key ends it.
  void WatchRedis(std::string_view url, std::string_view key,
                  std::chrono::milliseconds interval = std::chrono::milliseconds(0)) {
    const auto milliseconds = static_cast<std::uint32_t>(interval.count());
    detail::Check([&](rl_error* e) { return rl_registry_watch_redis(Raw(), ToStr(url), ToStr(key), milliseconds, e); });
  }
  std::string Diff(const Config& config, std::uint32_t flags = 0) const {
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_registry_diff(Raw(), config.Raw(), flags, buffer, capacity, needed, e);
    });
  }
  std::uint64_t Generation() const noexcept { return rl_registry_generation(Raw()); }
  /// Ids of all rules in force, as loaded.
  std::vector<std::uint32_t> Rules() const {
    std::vector<std::uint32_t> ids;
    while (const std::uint32_t id = rl_rule_at(Raw(), static_cast<std::uint32_t>(ids.size()))) ids.push_back(id);
    return ids;
  }
  std::uint32_t RuleId(std::string_view name) const {
    std::uint32_t id = 0;
    detail::Check([&](rl_error* e) { return rl_rule_id(Raw(), ToStr(name), &id, e); });
    return id;
  }
  std::string_view RuleName(std::uint32_t rule) const noexcept { return ToView(rl_rule_name(Raw(), rule)); }
  std::string_view LimitName(std::uint32_t limit) const noexcept { return ToView(rl_limit_name(Raw(), limit)); }

  // ---- housekeeping ----

  std::uint64_t KeyCount() const {
    std::uint64_t keys = 0;
    detail::Check([&](rl_error* e) { return rl_registry_key_count(Raw(), &keys, e); });
    return keys;
  }
  std::uint64_t EvictIdle(std::uint64_t cutoff_ns = 0) const {
    std::uint64_t evicted = 0;
    detail::Check([&](rl_error* e) { return rl_registry_evict_idle(Raw(), cutoff_ns, &evicted, e); });
    return evicted;
  }

  // ---- telling ----

  /// "Name: value\r\n" lines. `flags`: RL_HEADERS_*, 0 = what the rule file says.
  std::string Headers(const Decision& decision, std::uint32_t flags = 0) const {
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_decision_headers(Raw(), &decision.Raw(), flags, buffer, capacity, needed, e);
    });
  }
  /// application/problem+json for a denial.
  std::string Problem(const Decision& decision) const {
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_decision_problem(Raw(), &decision.Raw(), buffer, capacity, needed, e);
    });
  }
  rl_metrics Metrics() const {
    rl_metrics metrics = {};
    metrics.struct_size = sizeof metrics;
    detail::Check([&](rl_error* e) { return rl_metrics_get(Raw(), &metrics, e); });
    return metrics;
  }
  rl_rule_metrics RuleMetrics(std::uint32_t rule) const {
    rl_rule_metrics metrics = {};
    metrics.struct_size = sizeof metrics;
    detail::Check([&](rl_error* e) { return rl_metrics_rule(Raw(), rule, &metrics, e); });
    return metrics;
  }
  std::string Prometheus() const {
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_metrics_prometheus(Raw(), buffer, capacity, needed, e);
    });
  }
  /// The client behind trusted proxies. Header values line by line, as they came.
  std::string ClientIp(std::string_view peer, const std::vector<std::string_view>& x_forwarded_for,
                       const std::vector<std::string_view>& forwarded = {}) const {
    const std::vector<rl_str> chain = ToStrs(x_forwarded_for);
    const std::vector<rl_str> standard = ToStrs(forwarded);
    return detail::Text([&](char* buffer, std::uint64_t capacity, std::uint64_t* needed, rl_error* e) {
      return rl_client_ip(Raw(), ToStr(peer), chain.data(), static_cast<std::uint32_t>(chain.size()), standard.data(),
                          static_cast<std::uint32_t>(standard.size()), buffer, capacity, needed, e);
    });
  }

  rl_registry* Raw() const noexcept { return registry_.get(); }

 private:
  static std::vector<rl_str> ToStrs(const std::vector<std::string_view>& texts) {
    std::vector<rl_str> result;
    result.reserve(texts.size());
    for (const std::string_view text : texts) result.push_back(ToStr(text));
    return result;
  }

  std::unique_ptr<rl_registry, detail::RegistryDeleter> registry_;
};

}  // namespace v1
}  // namespace ratel
#endif  // RATEL_RL_HPP
