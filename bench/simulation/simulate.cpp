#include "simulate.hpp"

#include <algorithm>
#include <cmath>
#include <deque>
#include <memory>
#include <queue>
#include <stdexcept>

#include "../workload.hpp"
#include "store.hpp"
#include "virtual_clock.hpp"

namespace simulation {
namespace {

// A whole number of windows of any usual length after the epoch: windows begin with the simulation.
constexpr Nanoseconds kStart = 1'800'000'000'000'000'000;

Nanoseconds FromSeconds(double seconds) { return static_cast<Nanoseconds>(seconds * 1e9); }

rl_str Borrow(std::string_view text) { return {text.data(), text.size()}; }

void Check(rl_status status, const rl_error& error) {
  if (status != RL_OK) throw std::runtime_error(std::string(rl_status_name(status)) + ": " + error.message);
}

/// A registry and its clock.
class Gateway {
 public:
  Gateway(World& world, const std::string& rules, Store* store, int64_t ahead) : world_(world), ahead_(ahead) {
    rl_error error = RL_ERROR_INIT;
    rl_config* config = nullptr;
    Check(rl_config_create(&config, &error), error);
    const std::unique_ptr<rl_config, void (*)(rl_config*)> owned(config, rl_config_destroy);
    Check(rl_config_load_text(config, Borrow(rules), Borrow("rules"), &error), error);
    Check(rl_config_set_secret(config, Borrow("a secret of simulations"), &error), error);
    rl_clock clock{};
    clock.struct_size = sizeof clock;
    clock.self = this;
    clock.now_ns = [](void* self) { return static_cast<Gateway*>(self)->Now(); };
    Check(rl_config_set_clock(config, &clock, &error), error);
    if (store != nullptr) {
      const rl_storage storage = store->StorageOf();
      Check(rl_config_set_storage(config, &storage, &error), error);
    }
    Check(rl_registry_create(config, &registry_, &error), error);
    Check(rl_rule_id(registry_, Borrow("r"), &rule_, &error), error);
  }
  ~Gateway() { rl_registry_destroy(registry_); }
  Gateway(const Gateway&) = delete;
  Gateway& operator=(const Gateway&) = delete;

  rl_decision Ask(uint64_t client) {
    const std::string key = std::to_string(client);
    rl_decision decision = RL_DECISION_INIT;
    if (rl_allow_rule(registry_, rule_, key.data(), key.size(), 1, 0, &decision) != RL_OK)
      throw std::runtime_error("a decision failed");
    return decision;
  }

 private:
  Nanoseconds Now() const { return world_.now + static_cast<Nanoseconds>(ahead_); }

  World& world_;
  const int64_t ahead_;
  rl_registry* registry_ = nullptr;
  uint32_t rule_ = 0;
};

/// What each client was given, next to the ideal, and in the window that runs.
class Ledger {
 public:
  explicit Ledger(const Settings& settings)
      : limit_(settings.limit),
        window_(FromSeconds(settings.window_s)),
        difference_(settings.clients),
        window_of_(settings.clients),
        in_window_(settings.clients) {}

  void Note(uint64_t client, Nanoseconds now, bool admitted, bool ideal) {
    difference_[client] += static_cast<int32_t>(admitted) - static_cast<int32_t>(ideal);
    if (!admitted) return;
    const auto window = static_cast<uint32_t>((now - kStart) / window_);
    if (window_of_[client] != window) in_window_[client] = 0;
    window_of_[client] = window;
    worst_ = std::max<uint64_t>(worst_, ++in_window_[client]);
  }

  void Tell(Outcome& outcome) const {
    for (const int32_t difference : difference_)
      (difference > 0 ? outcome.too_many : outcome.too_few) += static_cast<uint64_t>(std::abs(difference));
    outcome.worst_window = worst_ > limit_ ? worst_ - limit_ : 0;
  }

 private:
  const uint64_t limit_;
  const Nanoseconds window_;
  std::vector<int32_t> difference_;
  std::vector<uint32_t> window_of_;
  std::vector<uint32_t> in_window_;
  uint64_t worst_ = 0;
};

struct Event {
  Nanoseconds at;
  uint64_t number;  ///< of the request; the outage has two of its own
  bool operator>(const Event& other) const { return at != other.at ? at > other.at : number > other.number; }
};
constexpr uint64_t kOutageBegins = UINT64_MAX - 1;
constexpr uint64_t kOutageEnds = UINT64_MAX;

class Simulation {
 public:
  Simulation(const Mode& mode, const Settings& settings)
      : mode_(mode),
        settings_(settings),
        world_{kStart, std::mt19937_64(settings.seed)},
        clients_(bench::Zipf(settings.clients, settings.requests, settings.seed)),
        ledger_(settings),
        ideal_(world_, RulesOf({.name = "ideal", .what = ""}, settings), nullptr, 0) {
    SetTime(kStart);
    if (mode.shares != Mode::Shares::kNothing) {
      const uint64_t stores = mode.shares == Mode::Shares::kOneStore ? 1 : settings.regions;
      for (uint64_t i = 0; i < stores; ++i) stores_.emplace_back(world_, settings.loss);
    }
    const std::string rules = RulesOf(mode, settings);
    for (uint64_t i = 0; i < settings.gateways; ++i) {
      Store* store = stores_.empty() ? nullptr : &stores_[i % stores_.size()];
      const auto skew = static_cast<int64_t>((world_.Uniform() * 2 - 1) * settings.skew_ms * 1e6);
      gateways_.emplace_back(world_, rules, store, mode.callers_time ? skew : 0);
    }
  }

  Outcome Run() {
    if (mode_.outage) {
      const Nanoseconds begins = kStart + FromSeconds(settings_.duration_s / 3);
      events_.push({begins, kOutageBegins});
      events_.push({begins + FromSeconds(settings_.outage_s), kOutageEnds});
    }
    PutNextRequest();
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      world_.now = event.at;
      SetTime(event.at);
      if (event.number >= kOutageBegins)
        Fail(event.number == kOutageBegins);
      else
        Decide(event.number);
      while (sent_ < settings_.requests && (events_.empty() || sent_at_ <= events_.top().at)) PutNextRequest();
    }
    ledger_.Tell(outcome_);
    for (const Store& store : stores_) outcome_.store_calls += store.calls();
    return outcome_;
  }

 private:
  /// Requests are made at random instants; each reaches the store after its lag.
  void PutNextRequest() {
    const double mean_gap = settings_.duration_s / static_cast<double>(settings_.requests);
    sent_at_ += FromSeconds(-std::log(1 - world_.Uniform()) * mean_gap);
    const double lag = settings_.lag_ms / 2000 * (1 - std::log(1 - world_.Uniform()));
    events_.push({sent_at_ + FromSeconds(lag), sent_++});
  }

  void Fail(bool begins) {
    for (Store& store : stores_) {
      store.Fail(begins);
      if (!begins && mode_.forgets) store.Forget();
    }
  }

  void Decide(uint64_t number) {
    const uint64_t client = clients_[number];
    const rl_decision decision = gateways_[world_.chance() % gateways_.size()].Ask(client);
    const bool ideal = ideal_.Ask(client).allowed != 0;
    ++outcome_.asked;
    outcome_.admitted += decision.allowed;
    outcome_.ideal += ideal;
    ++outcome_.by_source[decision.source];
    ledger_.Note(client, world_.now, decision.allowed != 0, ideal);
  }

  const Mode& mode_;
  const Settings& settings_;
  World world_;
  const std::vector<uint32_t> clients_;
  Ledger ledger_;
  Gateway ideal_;
  std::deque<Store> stores_;
  std::deque<Gateway> gateways_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  Nanoseconds sent_at_ = kStart;
  uint64_t sent_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Simulate(const Mode& mode, const Settings& settings) { return Simulation(mode, settings).Run(); }

}  // namespace simulation
