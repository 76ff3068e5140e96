#include "tests/interleaving/turns.hpp"

#include <array>
#include <semaphore>
#include <thread>

namespace ratel::test {
namespace {

/// One of the two. Only who has the turn touches anything here.
struct Side {
  std::binary_semaphore turn{0};
  uint64_t accesses = 0;
  uint64_t hand_over_at = 0;
  bool over = false;
  Side* other = nullptr;

  void HandOver() noexcept {
    if (other->over) return;
    other->turn.release();
    turn.acquire();
  }
  void Run(const std::function<void()>& work);
};

thread_local Side* mine = nullptr;

void Side::Run(const std::function<void()>& work) {
  turn.acquire();
  mine = this;
  work();
  mine = nullptr;
  over = true;
  other->turn.release();
}

}  // namespace

void BeforeAccess() noexcept {
  if (mine != nullptr && mine->accesses++ == mine->hand_over_at) mine->HandOver();
}

void Wait() noexcept {
  if (mine != nullptr) mine->HandOver();
}

uint64_t TakeTurns(const std::function<void()>& first, uint64_t of_first, const std::function<void()>& second,
                   uint64_t of_second) {
  std::array<Side, 2> sides;
  sides[0].other = &sides[1];
  sides[1].other = &sides[0];
  sides[0].hand_over_at = of_first;
  sides[1].hand_over_at = of_second;
  sides[0].turn.release();
  std::thread partner([&] { sides[1].Run(second); });
  sides[0].Run(first);
  partner.join();
  return sides[0].accesses;
}

}  // namespace ratel::test
