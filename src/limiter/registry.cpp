// Creation, reload, names and numbers: everything but deciding.
#include "limiter/registry.hpp"

#include <exception>
#include <utility>

#include "config/reader.hpp"
#include "core/forwarded.hpp"
#include "limiter/builtin_clock.hpp"
#include "limiter/registry_impl.hpp"
#include "report/headers.hpp"
#include "rules/region.hpp"

namespace ratel {

Registry::Registry() = default;

std::vector<Error> Registry::Check(const RuleSet& rules, const Storage& storage, std::string_view region) {
  std::vector<Error> faults = FindRegionFaults(rules, region);
  if (faults.empty() && storage.grouping() == Grouping::kShared) faults = FindUnshared(rules);
  return faults;
}

std::vector<Error> Registry::Check(const RuleSet& rules) const { return Check(rules, *impl_->storage, impl_->region); }

std::unique_ptr<Registry> Registry::Create(Options&& options) {
  std::unique_ptr<Registry> registry(new Registry());
  registry->impl_ = std::make_unique<Impl>(options.hasher);
  Impl& impl = *registry->impl_;
  auto builtin_clock = options.clock == nullptr ? std::make_unique<BuiltinClock>() : nullptr;
  RuleSet rules = options.rules;
  TakeShare(rules, options.region);
  auto snapshot = Snapshot::Compile(std::move(rules), impl.book, 1, options.storage->grouping());
  if (!options.storage->is_local()) {
    impl.ledger = std::make_unique<Ledger>();
    impl.local = false;
    impl.errands = std::make_unique<Errands>(*options.storage, *impl.ledger, impl.totals, impl.store_failing);
    impl.PrepareTier(options.rules);
  }
  // Nothing below throws: what the options own moves only now.
  impl.storage = std::move(options.storage);
  impl.fallback = std::move(options.fallback);
  impl.clock = builtin_clock != nullptr ? std::move(builtin_clock) : std::move(options.clock);
  impl.log = std::move(options.log);
  impl.readable_keys = options.readable_keys;
  impl.region = std::move(options.region);
  impl.current.Replace(std::move(snapshot));
  impl.generation.store(1, std::memory_order_release);
  impl.storage->TellTo([&impl](Report level, std::string_view text) {
    impl.Say(level == Report::kError     ? Log::Level::kError
             : level == Report::kWarning ? Log::Level::kWarning
                                         : Log::Level::kInfo,
             text);
  });
  return registry;
}

Registry::~Registry() {
  if (impl_ == nullptr) return;
  if (impl_->birthplace.IsForked() && (impl_->errands != nullptr || impl_->watch != nullptr)) {
    LeaveToTheProcess(impl_.release());
    return;
  }
  impl_->watch.reset();
  if (impl_->errands == nullptr || impl_->storage == nullptr) return;
  // What is in the host's hands is the host's to end, so that comes first: what it has paid for is then handed back. What is on its way to a server the
  // storage ends.
  if (impl_->storage->runs_host_code()) impl_->AwaitInFlight();
  impl_->errands->Stop();
  impl_->storage->Stop();
  impl_->AwaitInFlight();
}

void Registry::Impl::Begins() noexcept {
  // A thread of the parent's may have held the lock, and nobody waits in a child.
  if (birthplace.IsForked()) return;
  const std::lock_guard lock(in_flight_mutex);
  ++in_flight;
}

void Registry::Impl::Ends() noexcept {
  if (birthplace.IsForked()) return;
  const std::lock_guard lock(in_flight_mutex);
  if (--in_flight == 0) in_flight_ended.notify_all();
}

void Registry::Impl::AwaitInFlight() noexcept {
  std::unique_lock lock(in_flight_mutex);
  in_flight_ended.wait(lock, [this] { return in_flight == 0; });
}

// ---- Reload -----------------------------------------------------------------------------------------------------------------------

void Registry::Reload(RuleSet rules) {
  const std::lock_guard lock(impl_->reload_mutex);
  const uint64_t next = impl_->generation.load(std::memory_order_relaxed) + 1;
  impl_->PrepareTier(rules);
  TakeShare(rules, impl_->region);
  auto snapshot = Snapshot::Compile(std::move(rules), impl_->book, next, impl_->storage->grouping());
  std::vector<std::string> moved = RulesThatMove(*impl_->current.Keep(), *snapshot);
  for (std::string& rule : moved)
    rule = "rule " + rule + " starts new: its limits share other parts of their scopes, so its keys lie elsewhere";
  impl_->current.Replace(std::move(snapshot));
  impl_->generation.store(next, std::memory_order_release);
  impl_->totals.Add(TotalCount::kReloads);
  if (impl_->tier() != nullptr) impl_->tier()->leases.EndOthers(next);
  for (const std::string& text : moved) impl_->Say(Log::Level::kWarning, text);
}

void Registry::ReloadRefused(const Error& fault, size_t fault_count) {
  impl_->totals.Add(TotalCount::kReloadFailures);
  std::string text = "rules not reloaded, the old ones stay: ";
  if (!fault.file.empty()) {
    text += fault.file;
    if (fault.position.line != 0)
      text += ":" + std::to_string(fault.position.line) + ":" + std::to_string(fault.position.column);
    text += ": ";
  }
  text += fault.message;
  if (fault_count > 1) text += " (and " + std::to_string(fault_count - 1) + " more)";
  impl_->Say(Log::Level::kError, text);
}

std::vector<Error> Registry::ReloadPath(const std::string& path) {
  RuleSetBuilder builder;
  return ReloadFrom(builder, builder.AddPath(path) ? std::vector<Error>() : builder.faults(), path);
}

std::vector<Error> Registry::ReloadText(const std::string& text, const std::string& name) {
  RuleSetBuilder builder;
  return ReloadFrom(builder, builder.AddText(text, name) ? std::vector<Error>() : builder.faults(), name);
}

std::vector<Error> Registry::ReloadFrom(const RuleSetBuilder& builder, std::vector<Error> faults,
                                        const std::string& name) {
  if (faults.empty() && builder.rules().rules.empty()) {
    faults.push_back({Status::kConfig, "there is no rule in it; a rule set needs at least one", name, "", {}});
  }
  if (faults.empty()) faults = Check(builder.rules());
  if (faults.empty()) {
    // Made beforehand: once the rules are in force nothing may fail any more.
    const std::string told = "rules reloaded from " + name;
    Reload(builder.rules());
    impl_->Say(Log::Level::kInfo, told);
    return faults;
  }
  ReloadRefused(faults.front(), faults.size());
  return faults;
}

void Registry::Tell(Log::Level level, std::string_view text) noexcept { impl_->Say(level, text); }

std::vector<Error> Registry::Watch(const std::string& path, std::chrono::milliseconds interval) {
  if (impl_->birthplace.IsForked())
    return {{Status::kState, "the registry was made before this process was forked: make one here", "", "", {}}};
  {
    const std::lock_guard lock(impl_->watch_mutex);
    if (impl_->watch != nullptr && impl_->watch->IsThisThread())
      return {{Status::kState, "the watch cannot be changed from its own thread", "", "", {}}};
  }
  std::unique_ptr<FileWatch> watch;
  if (!path.empty()) {
    // The watch remembers the bytes first: a change between the two is then seen by it.
    watch = std::make_unique<FileWatch>(path, interval, [this, path] {
      try {
        ReloadPath(path);
      } catch (const std::exception&) {
        impl_->totals.Add(TotalCount::kReloadFailures);  // memory ran out; the old rules stay
      }
    });
    std::vector<Error> faults = ReloadPath(path);
    if (!faults.empty()) return faults;
  }
  {
    const std::lock_guard lock(impl_->watch_mutex);
    impl_->watch.swap(watch);
  }
  // The one before ends here, without the lock: its thread may be reloading, which calls the host's log.
  return {};
}

std::vector<Change> Registry::DiffWith(const RuleSet& rules) const {
  RuleSet after = rules;
  TakeShare(after, impl_->region);
  return Diff(impl_->current.Keep()->set(), after);
}

// ---- Names ------------------------------------------------------------------------------------------------------------------------

uint64_t Registry::generation() const noexcept { return impl_->generation.load(std::memory_order_acquire); }

uint32_t Registry::RuleCount() const noexcept {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  return static_cast<uint32_t>(snapshot->rules().size());
}

uint32_t Registry::RuleAt(uint32_t index) const noexcept {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  return index < snapshot->rules().size() ? snapshot->rules()[index].id : 0;
}

uint32_t Registry::RuleId(std::string_view name) const noexcept {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  return snapshot->IdOf(name);
}

std::string_view Registry::RuleName(uint32_t id) const noexcept {
  const RuleRecord* record = std::as_const(impl_->book).rule(id);
  return record == nullptr ? std::string_view() : std::string_view(record->name);
}

std::string_view Registry::LimitName(uint32_t id) const noexcept { return impl_->book.LimitName(id); }

// ---- Tending and telling ----------------------------------------------------------------------------------------------------------

Status Registry::KeyCount(uint64_t& keys) noexcept { return impl_->storage->KeyCount(keys); }

Status Registry::EvictIdle(uint64_t cutoff_ns, uint64_t& evicted) noexcept {
  evicted = 0;
  const Micros now = FloorToMicros(impl_->clock->NowNs());
  if (now > kMaxMicros) return Status::kInvalidArgument;
  const Micros cutoff = cutoff_ns == 0 ? now : std::min<Micros>(FloorToMicros(cutoff_ns), now);
  const Status status = impl_->storage->EvictIdle(cutoff, evicted);
  if (status == Status::kOk) impl_->totals.Add(TotalCount::kEvictedIdle, evicted);
  return status;
}

bool Registry::RuleMetrics(uint32_t rule, MetricsSnapshot::PerRule& out) const {
  const RuleRecord* record = std::as_const(impl_->book).rule(rule);
  if (record == nullptr) return false;
  const RuleCounters& counters = record->counters;
  out.rule = record->name;
  out.allowed = counters.Sum(RuleCount::kAllowed);
  out.denied = counters.Sum(RuleCount::kDenied);
  out.never_fits = counters.Sum(RuleCount::kNeverFits);
  out.shadow_denied = counters.Sum(RuleCount::kShadowDenied);
  out.cost_allowed = out.allowed + counters.Sum(RuleCount::kExtraCost);
  return true;
}

MetricsSnapshot Registry::Metrics(bool with_rules) const {
  MetricsSnapshot out;
  const TotalCounters& totals = impl_->totals;
  MetricsSnapshot::PerRule rule;
  for (uint32_t id = 1; id <= impl_->book.rule_count(); ++id) {
    RuleMetrics(id, rule);
    out.allowed += rule.allowed;
    out.denied += rule.denied;
    if (with_rules) out.rules.push_back(rule);
  }
  out.no_rule = totals.Sum(TotalCount::kNoRule);
  // A counter read a moment later may be ahead of one that it is subtracted from.
  out.allowed = SubtractFloor(out.allowed, totals.Sum(TotalCount::kMoreAllowed)) + out.no_rule;
  out.denied = SubtractFloor(out.denied, totals.Sum(TotalCount::kMoreDenied));
  out.requests = out.allowed + out.denied;
  out.never_fits = totals.Sum(TotalCount::kNeverFits);
  out.blocked = totals.Sum(TotalCount::kBlocked);
  out.shadow_denied = totals.Sum(TotalCount::kShadowRequests);
  out.local_fallback = totals.Sum(TotalCount::kLocalFallback);
  out.leased = totals.Sum(TotalCount::kLeased);
  out.cached_denial = totals.Sum(TotalCount::kCachedDenial);
  out.reported_back = totals.Sum(TotalCount::kReportedBack);
  out.unreported = totals.Sum(TotalCount::kUnreported);
  out.fail_open = totals.Sum(TotalCount::kFailOpen);
  out.fail_closed = totals.Sum(TotalCount::kFailClosed);
  out.store_errors = totals.Sum(TotalCount::kStoreErrors);
  out.unknown_client = totals.Sum(TotalCount::kUnknownClient);
  // The fallback's are left out: the share of a key that has to go is full again, which the store makes good.
  out.evicted_live = impl_->storage->Counters().evicted_live;
  out.evicted_idle = totals.Sum(TotalCount::kEvictedIdle);
  if (impl_->storage->KeyCount(out.keys) != Status::kOk) out.keys = 0;
  out.reloads = totals.Sum(TotalCount::kReloads);
  out.reload_failures = totals.Sum(TotalCount::kReloadFailures);
  out.generation = generation();
  return out;
}

uint32_t Registry::HeaderForms() const noexcept {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  const uint32_t forms = snapshot->set().headers.forms;
  return forms == 0 ? kHeadersDefault : forms;
}

std::string Registry::ClientIp(std::string_view peer, std::span<const std::string_view> x_forwarded_for,
                               std::span<const std::string_view> forwarded) const {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  const std::optional<Address> address =
      ClientAddress(peer, x_forwarded_for, forwarded, snapshot->set().trusted_proxies, snapshot->set().client_ip_from);
  return address ? address->ToText() : std::string();
}

bool Registry::TrustsProxies() const noexcept {
  const CurrentSnapshot::Reader snapshot(impl_->current);
  return !snapshot->set().trusted_proxies.empty();
}

}  // namespace ratel
