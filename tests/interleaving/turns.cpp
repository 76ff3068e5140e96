#include "tests/interleaving/turns.hpp"

#include <cstddef>
#include <semaphore>
#include <thread>

namespace ratel::test {
namespace {

/// One of the two. Only who has the turn touches anything here.
struct Side {
  Side(std::span<const uint64_t> all_turns, size_t first) noexcept : turns(all_turns), next(first) {}

  void Run(const std::function<void()>& work);
  void BeginTurn() noexcept {
    turn.acquire();
    left = next < turns.size() ? turns[next] : kToTheEnd;
    next += 2;
  }
  void HandOver() noexcept {
    other->turn.release();
    BeginTurn();
  }

  std::span<const uint64_t> turns;
  size_t next;
  uint64_t left = 0;  ///< of this turn
  uint64_t accesses = 0;
  bool over = false;
  Side* other = nullptr;
  std::binary_semaphore turn{0};
};

thread_local Side* mine = nullptr;

void Side::Run(const std::function<void()>& work) {
  BeginTurn();
  mine = this;
  work();
  mine = nullptr;
  over = true;
  other->turn.release();
}

}  // namespace

void BeforeAccess() noexcept {
  if (mine == nullptr) return;
  if (mine->left == 0 && !mine->other->over) mine->HandOver();
  if (mine->left != 0) --mine->left;
  ++mine->accesses;
}

void Wait() noexcept {
  if (mine != nullptr && !mine->other->over) mine->HandOver();
}

uint64_t TakeTurns(const std::function<void()>& first, const std::function<void()>& second,
                   std::span<const uint64_t> turns) {
  Side one(turns, 0);
  Side two(turns, 1);
  one.other = &two;
  two.other = &one;
  one.turn.release();
  std::thread partner([&] { two.Run(second); });
  one.Run(first);
  partner.join();
  return one.accesses;
}

}  // namespace ratel::test
