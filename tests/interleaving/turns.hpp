// Two threads that take turns where a test says. What they share is handed over at their accesses to it (see hooked.hpp), so that nothing depends on chance.
#pragma once

#include <cstdint>
#include <functional>
#include <span>

namespace ratel::test {

/// Before an access to what threads share. Threads that take no turns go on at once.
void BeforeAccess() noexcept;
/// The caller waits for something that another thread holds.
void Wait() noexcept;

inline constexpr uint64_t kToTheEnd = UINT64_MAX;

/// Runs `first` for turns[0] accesses, `second` for turns[1], `first` for turns[2] and so on, at last each to its end; who has to wait hands over earlier.
/// Returns how many accesses `first` made.
uint64_t TakeTurns(const std::function<void()>& first, const std::function<void()>& second,
                   std::span<const uint64_t> turns);
/// The accesses of work that is not interrupted.
inline uint64_t CountAccesses(const std::function<void()>& work) {
  return TakeTurns(work, [] {}, {});
}

}  // namespace ratel::test
