// A rule set in force with its storage: the engine's front. Any threads unless a function says otherwise.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/diff.hpp"
#include "core/hash.hpp"
#include "core/result.hpp"
#include "limiter/host.hpp"
#include "limiter/request.hpp"
#include "report/decision.hpp"
#include "report/metrics.hpp"
#include "rules/rule.hpp"
#include "storage/storage.hpp"

namespace ratel {

class RuleSetBuilder;

class Registry {
 public:
  struct Options {
    RuleSet rules;
    std::unique_ptr<Storage> storage;  ///< required
    std::unique_ptr<Storage>
        fallback;  ///< where local limits live while `storage` fails; required unless storage->is_local()
    std::unique_ptr<Clock> clock;  ///< null = the built-in one
    std::unique_ptr<Log> log;      ///< null = silence
    KeyedHasher hasher = KeyedHasher::Random();
    std::string region;          ///< whose share of the limits counts here; empty = the whole
    bool readable_keys = false;  ///< tests: names with identities in place of hashes
  };

  /// What a storage could not decide on: one error for each. Create and Reload want rules that were asked about.
  static std::vector<Error> Check(const RuleSet& rules, const Storage& storage, std::string_view region);
  std::vector<Error> Check(const RuleSet& rules) const;

  /// May throw std::bad_alloc; then `options` still owns everything it held.
  static std::unique_ptr<Registry> Create(Options&& options);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  // Deciding. These do not throw: bad_alloc becomes Status::kNoMemory.
  Status Allow(const Request& request, Decision& out) noexcept;
  Status AllowRule(uint32_t rule, std::string_view key, int64_t cost, uint64_t now_ns, Decision& out) noexcept;
  /// out.size() == requests.size(); each decision carries its own status. One instant for all that state none.
  void AllowMany(std::span<const Request> requests, std::span<Decision> out) noexcept {
    uint64_t clock_ns = 0;
    AllowMany(requests, out, clock_ns);
  }
  /// The same for a part of them: `clock_ns` is what the clock said for the parts before, 0 as long as it has not been asked.
  void AllowMany(std::span<const Request> requests, std::span<Decision> out, uint64_t& clock_ns) noexcept;
  using Callback = void (*)(void* user, const Decision& decision);
  /// kOk: the callback runs exactly once. Anything else: never.
  Status AllowAsync(const Request& request, Callback callback, void* user) noexcept;
  Status Peek(const Request& request, Decision& out) noexcept;
  Status Settle(const Request& request, const Decision& decision, int64_t actual, Decision& out) noexcept;
  Status Reset(const Request& request) noexcept;

  // Telling and tending. These may throw std::bad_alloc.
  Status Explain(const Request& request, bool json, std::string& out);
  void Reload(RuleSet rules);
  /// A rule set that was refused before it got here: counted, and `fault` logged.
  void ReloadRefused(const Error& fault, size_t fault_count);
  /// Faults are returned, logged and counted, and the old rules stay. Empty = reloaded.
  std::vector<Error> ReloadPath(const std::string& path);
  /// The same for a text; `name` is what messages call it.
  std::vector<Error> ReloadText(const std::string& text, const std::string& name);
  /// One line for the host's log.
  void Tell(Log::Level level, std::string_view text) noexcept;
  /// Loads once (faults returned as by ReloadPath, no watch then) and looks again every `interval`. An empty path ends it.
  std::vector<Error> Watch(const std::string& path, std::chrono::milliseconds interval);
  std::vector<Change> DiffWith(const RuleSet& rules) const;

  uint64_t generation() const noexcept;
  uint32_t RuleCount() const noexcept;
  uint32_t RuleAt(uint32_t index) const noexcept;          ///< id, 0 past the end
  uint32_t RuleId(std::string_view name) const noexcept;   ///< id of a rule in force, 0 when there is none
  std::string_view RuleName(uint32_t id) const noexcept;   ///< valid while the registry lives
  std::string_view LimitName(uint32_t id) const noexcept;  ///< likewise
  Status KeyCount(uint64_t& keys) noexcept;
  Status EvictIdle(uint64_t cutoff_ns, uint64_t& evicted) noexcept;
  MetricsSnapshot Metrics(bool with_rules) const;
  /// False when there is no such rule id (now or ever).
  bool RuleMetrics(uint32_t rule, MetricsSnapshot::PerRule& out) const;
  uint32_t HeaderForms() const noexcept;  ///< what the rule set asks for; never 0
  /// Canonical text of the client's address, empty when there is none.
  std::string ClientIp(std::string_view peer, std::span<const std::string_view> x_forwarded_for,
                       std::span<const std::string_view> forwarded) const;
  /// Whether anything but the connection's own address can be the client's.
  bool TrustsProxies() const noexcept;

  struct Impl;  ///< for the files of this folder

 private:
  Registry();
  std::vector<Error> ReloadFrom(const RuleSetBuilder& builder, std::vector<Error> faults, const std::string& name);
  std::unique_ptr<Impl> impl_;
};

}  // namespace ratel
