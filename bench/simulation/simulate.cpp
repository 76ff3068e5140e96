#include "simulate.hpp"

#include <algorithm>
#include <deque>

#include "gateway.hpp"
#include "ledger.hpp"
#include "store.hpp"
#include "virtual_clock.hpp"

namespace simulation {
namespace {

bool StoreAnswered(const rl_decision& decision) {
  return decision.source == RL_SOURCE_EXACT || decision.source == RL_SOURCE_LEASED ||
         decision.source == RL_SOURCE_CACHED_DENIAL;
}

class Simulation {
 public:
  Simulation(const Mode& mode, const Settings& settings, const Traffic& traffic)
      : mode_(mode), settings_(settings), traffic_(traffic), world_(settings.seed), ledger_(settings) {
    SetTime(kStart);
    const std::string rules = RulesOf(mode, settings);
    for (uint64_t i = 0; i < StoreCountOf(mode, settings); ++i) stores_.emplace_back(world_, settings.loss);
    for (uint64_t i = 0; i < settings.gateways; ++i) {
      Store* store = stores_.empty() ? nullptr : &stores_[i % stores_.size()];
      gateways_.emplace_back(world_, rules, store, traffic.clocks_ahead[i]);
    }
  }

  Outcome Run() {
    RunTo(kAgain);
    outcome_.early = outcome_;
    RunTo(traffic_.requests.size());
    ledger_.Tell(outcome_);
    return outcome_;
  }

  Counts RunAgain() {
    RunTo(kAgain);
    return outcome_;
  }

 private:
  void RunTo(uint64_t end) {
    const bool has_store = mode_.shares != Mode::Shares::kNothing;
    for (end = std::min<uint64_t>(end, traffic_.requests.size()); next_ < end; ++next_) {
      const Request& request = traffic_.requests[has_store ? traffic_.arrivals[next_] : next_];
      Decide(request, has_store ? request.arrives() : request.sent);
    }
    outcome_.store_calls = 0;
    for (const Store& store : stores_) outcome_.store_calls += store.calls();
  }

  void Decide(const Request& request, Nanoseconds now) {
    world_.now = now;
    SetTime(now);
    if (mode_.outage) BreakOrMend();
    Gateway& gateway = gateways_[request.gateway];
    const rl_decision decision = gateway.Ask(request.client, InstantOf(request, gateway));
    ++outcome_.asked;
    outcome_.admitted += decision.allowed;
    outcome_.ideal += request.ideal;
    ++outcome_.by_source[decision.source];
    const Nanoseconds window = FromSeconds(settings_.window_s);
    const uint64_t crossed = now / window != request.sent / window;
    const uint64_t unanswered = stores_.empty() || StoreAnswered(decision) ? 0 : mode_.most_lost;
    ledger_.Note(request.client, now,
                 {.admitted = decision.allowed != 0, .ideal = request.ideal, .excused = crossed + unanswered});
  }

  /// Whose clock counts.
  Nanoseconds InstantOf(const Request& request, const Gateway& gateway) const {
    if (!mode_.gateways_clocks) return world_.now;
    return gateway.Now() - (world_.now - request.sent);
  }

  void BreakOrMend() {
    const double lasts = std::min(settings_.outage_s, mode_.longest_outage);
    const Nanoseconds begins = kStart + FromSeconds(OutageBeginsAfter(settings_));
    const bool away = world_.now >= begins && world_.now < begins + FromSeconds(lasts);
    if (away == away_) return;
    away_ = away;
    for (Store& store : stores_) {
      store.Fail(away);
      if (!away && mode_.forgets) store.Forget();
    }
  }

  const Mode& mode_;
  const Settings& settings_;
  const Traffic& traffic_;
  World world_;
  Ledger ledger_;
  std::deque<Store> stores_;
  std::deque<Gateway> gateways_;
  bool away_ = false;
  uint64_t next_ = 0;
  Outcome outcome_;
};

}  // namespace

Outcome Simulate(const Mode& mode, const Settings& settings, const Traffic& traffic) {
  return Simulation(mode, settings, traffic).Run();
}

Counts SimulateAgain(const Mode& mode, const Settings& settings, const Traffic& traffic) {
  return Simulation(mode, settings, traffic).RunAgain();
}

}  // namespace simulation
