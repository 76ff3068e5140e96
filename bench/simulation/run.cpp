#include "run.hpp"

#include <atomic>
#include <future>
#include <memory>
#include <thread>

#include "simulate.hpp"

namespace simulation {

void RunAll(const std::vector<Mode>& modes, const Settings& settings, const Traffic& traffic, uint64_t threads,
            bool again, const std::function<void(const Mode&, const Outcome&, bool same)>& tell) {
  struct Runs {
    std::future<Outcome> first;
    std::future<Counts> second;
  };
  std::vector<std::function<void()>> tasks;
  std::vector<Runs> runs;
  for (const Mode& mode : modes) {
    const auto first =
        std::make_shared<std::packaged_task<Outcome()>>([&] { return Simulate(mode, settings, traffic); });
    const auto second =
        std::make_shared<std::packaged_task<Counts()>>([&] { return SimulateAgain(mode, settings, traffic); });
    runs.push_back({first->get_future(), second->get_future()});
    tasks.emplace_back([first] { (*first)(); });
    if (again) tasks.emplace_back([second] { (*second)(); });
  }
  std::atomic<size_t> next{0};
  std::vector<std::jthread> workers;
  for (uint64_t i = 0; i < threads; ++i) {
    workers.emplace_back([&] {
      for (size_t task = next++; task < tasks.size(); task = next++) tasks[task]();
    });
  }
  try {
    for (size_t i = 0; i < modes.size(); ++i) {
      const Outcome outcome = runs[i].first.get();
      tell(modes[i], outcome, !again || runs[i].second.get() == outcome.early);
    }
  } catch (...) {
    next = tasks.size();
    throw;
  }
}

}  // namespace simulation
