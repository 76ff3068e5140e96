#include "traffic.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../workload.hpp"
#include "gateway.hpp"
#include "modes.hpp"
#include "virtual_clock.hpp"
#include "world.hpp"

namespace simulation {
namespace {

/// Each client once, as far as the requests go round, and the rest by Zipf.
std::vector<uint32_t> DrawClients(const Settings& settings, World& world) {
  if (settings.requests <= settings.clients) return bench::Zipf(settings.clients, settings.requests, settings.seed);
  std::vector<uint32_t> clients = bench::Zipf(settings.clients, settings.requests - settings.clients, settings.seed);
  clients.resize(settings.requests);
  std::iota(clients.end() - static_cast<int64_t>(settings.clients), clients.end(), 0u);
  std::shuffle(clients.begin(), clients.end(), world.chance);
  return clients;
}

uint64_t CountOf(const std::vector<uint32_t>& clients, uint64_t all) {
  std::vector<bool> asked(all);
  for (const uint32_t client : clients) asked[client] = true;
  return static_cast<uint64_t>(std::ranges::count(asked, true));
}

void TellIdeal(const Settings& settings, World& world, std::vector<Request>& requests) {
  Gateway ideal(world, RulesOf({.name = "ideal", .what = ""}, settings), nullptr, 0);
  for (Request& request : requests) {
    world.now = request.sent;
    SetTime(request.sent);
    request.ideal = ideal.Ask(request.client, request.sent).allowed != 0;
  }
}

}  // namespace

Traffic DrawTraffic(const Settings& settings) {
  World world(settings.seed);
  Traffic traffic;
  const std::vector<uint32_t> clients = DrawClients(settings, world);
  traffic.clients = CountOf(clients, settings.clients);
  for (uint64_t i = 0; i < settings.gateways; ++i)
    traffic.clocks_ahead.push_back(static_cast<int64_t>((world.Uniform() * 2 - 1) * settings.skew_ms * 1e6));
  traffic.clocks_ahead[0] += static_cast<int64_t>(settings.far_s * 1e9);

  const double mean_gap = settings.duration_s / static_cast<double>(settings.requests);
  Nanoseconds sent = kStart;
  traffic.requests.reserve(settings.requests);
  for (const uint32_t client : clients) {
    sent += FromSeconds(-std::log(1 - world.Uniform()) * mean_gap);
    const Nanoseconds lag = FromSeconds(settings.lag_ms / 2000 * (1 - std::log(1 - world.Uniform())));
    traffic.requests.push_back({.sent = sent,
                                .lag = static_cast<uint32_t>(std::min<Nanoseconds>(lag, UINT32_MAX)),
                                .client = client,
                                .gateway = static_cast<uint32_t>(world.chance() % settings.gateways)});
  }
  traffic.arrivals.resize(settings.requests);
  std::iota(traffic.arrivals.begin(), traffic.arrivals.end(), 0u);
  std::ranges::stable_sort(traffic.arrivals, {}, [&](uint32_t i) { return traffic.requests[i].arrives(); });
  TellIdeal(settings, world, traffic.requests);
  return traffic;
}

}  // namespace simulation
