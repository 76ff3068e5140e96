// Two threads that take turns where a test says. What they share is handed over at their accesses to it (see hooked.hpp), so that nothing depends on chance.
#pragma once

#include <cstdint>
#include <functional>

namespace ratel::test {

/// Before an access to what threads share. Threads that take no turns go on at once.
void BeforeAccess() noexcept;
/// The caller waits for something that another thread holds.
void Wait() noexcept;

inline constexpr uint64_t kToTheEnd = UINT64_MAX / 2;

/// Runs `first` for `head` accesses, `second` and `first` for `slice` each, then `second` and `first` to their ends; who has to wait hands over earlier.
/// Returns how many accesses `first` made.
uint64_t TakeTurns(const std::function<void()>& first, uint64_t head, const std::function<void()>& second,
                   uint64_t slice);

}  // namespace ratel::test
