#include "tests/interleaving/turns.hpp"

#include <array>
#include <semaphore>
#include <thread>
#include <utility>

namespace ratel::test {
namespace {

/// One of the two. Only who has the turn touches anything here.
struct Side {
  std::binary_semaphore turn{0};
  uint64_t accesses = 0;
  uint64_t left = 0;       ///< of this turn
  uint64_t next_turn = 0;  ///< how long that is; all later ones have no end
  bool over = false;
  Side* other = nullptr;

  void HandOver() noexcept {
    left = std::exchange(next_turn, kToTheEnd);
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
  if (mine == nullptr) return;
  if (mine->left == 0) mine->HandOver();
  --mine->left;
  ++mine->accesses;
}

void Wait() noexcept {
  if (mine != nullptr) mine->HandOver();
}

uint64_t TakeTurns(const std::function<void()>& first, uint64_t head, const std::function<void()>& second,
                   uint64_t slice) {
  std::array<Side, 2> sides;
  sides[0].other = &sides[1];
  sides[1].other = &sides[0];
  sides[0].left = head;
  sides[0].next_turn = sides[1].left = slice;
  sides[1].next_turn = kToTheEnd;
  sides[0].turn.release();
  std::thread partner([&] { sides[1].Run(second); });
  sides[0].Run(first);
  partner.join();
  return sides[0].accesses;
}

}  // namespace ratel::test
