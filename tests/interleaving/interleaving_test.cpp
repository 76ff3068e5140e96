// Two threads on one store, the one stopped at each of its accesses in turn while the other goes on, and that one at some of its own: in the end all is as if
// the operations of both had been done one after the other.
#include <gtest/gtest.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "storage/memory/memory_storage.hpp"
#include "tests/interleaving/turns.hpp"
#include "tests/storage/support.hpp"

namespace ratel::test {
namespace {

constexpr Micros kWindow = 1'000'000;
constexpr Micros kStart = 1'700'000'000'000'000;

struct Ask {
  Hash128 key;
  uint64_t cost = 1;
  uint16_t version = 0;
  bool shadow = false;
};

struct Work {
  enum class Kind : uint8_t { kTogether, kOneByOne, kSweep } kind = Kind::kTogether;
  Mode mode = Mode::kSpend;
  std::vector<Ask> asks{};
  Micros now = kStart;
};

Work Spend(std::vector<Ask> asks, Micros now = kStart) { return {.asks = std::move(asks), .now = now}; }
Work Peek(std::vector<Ask> asks, Micros now = kStart) {
  return {.mode = Mode::kPeek, .asks = std::move(asks), .now = now};
}
Work GiveBack(Ask ask) { return {.mode = Mode::kSettle, .asks = {ask}}; }
Work Forget(Ask ask) { return {.mode = Mode::kForget, .asks = {ask}}; }
Work Sweep(Micros now) { return {.kind = Work::Kind::kSweep, .now = now}; }
/// Keys of their own.
Work Fill(uint64_t first, uint64_t count) {
  Work work{.kind = Work::Kind::kOneByOne};
  for (uint64_t n = 0; n < count; ++n) work.asks.push_back({Key(1'000 + first + n)});
  return work;
}

/// Work with all that it takes laid out, so that doing it is the store's part alone.
class Act {
 public:
  Act(const Versions& versions, const Work& work)
      : sweeps_(work.kind == Work::Kind::kSweep),
        answers_(work.kind == Work::Kind::kTogether && work.mode != Mode::kForget),
        now_(work.now) {
    for (const Ask& ask : work.asks) {
      charges_.push_back(ChargeFor(versions, ask.version, 0, ask.cost, ask.shadow));
      charges_.back().key = ask.key;
    }
    if (work.kind == Work::Kind::kTogether) {
      operations_.push_back({charges_, work.now, work.mode, kStart, 0});
    } else {
      for (Charge& charge : charges_) operations_.push_back({{&charge, 1}, work.now, work.mode});
    }
  }
  Act(const Act&) = delete;
  Act& operator=(const Act&) = delete;

  void Do(Storage& storage) noexcept {
    if (sweeps_) storage.EvictIdle(now_, evicted_);
    for (Operation& operation : operations_) storage.Apply(operation);
  }
  /// Of the first key.
  uint64_t remaining() const { return charges_.front().outcome.remaining; }
  void AddTo(std::vector<Outcome>& answers) const {
    if (!answers_) return;
    for (const Charge& charge : charges_) answers.push_back(charge.outcome);
  }

 private:
  const bool sweeps_;
  const bool answers_;
  const Micros now_;
  std::vector<Charge> charges_;
  std::vector<Operation> operations_;
  uint64_t evicted_ = 0;
};

/// What a store is asked: `work`, and on another thread `meanwhile`, one after the other.
class Round {
 public:
  Round(const Versions& versions, const std::vector<Work>& before, const Work& work, const std::vector<Work>& meanwhile,
        const Work& after)
      : work_(versions, work), after_(versions, after) {
    for (const Work& one : meanwhile) meanwhile_.push_back(std::make_unique<Act>(versions, one));
    for (const Work& one : before) Act(versions, one).Do(*storage_);
  }
  void DoWork() noexcept { work_.Do(*storage_); }
  void DoMeanwhile(size_t i) noexcept { meanwhile_[i]->Do(*storage_); }
  void DoMeanwhile() noexcept {
    for (size_t i = 0; i < meanwhile_.size(); ++i) DoMeanwhile(i);
  }
  std::vector<Outcome> Answers() {
    after_.Do(*storage_);
    std::vector<Outcome> answers;
    work_.AddTo(answers);
    for (const auto& act : meanwhile_) act->AddTo(answers);
    after_.AddTo(answers);
    return answers;
  }

 private:
  const std::unique_ptr<Storage> storage_ = MakeMemoryStorage({.max_keys = 1'000});
  Act work_;
  std::vector<std::unique_ptr<Act>> meanwhile_;
  Act after_;
};

std::string ToText(const std::vector<Outcome>& answers) {
  std::string text;
  for (const Outcome& outcome : answers)
    text += (outcome.allowed ? " +" : " -") + std::to_string(outcome.remaining) + "@" +
            std::to_string(static_cast<int64_t>(outcome.reset_at - kStart));
  return text;
}

class Interleaving : public testing::TestWithParam<Algorithm> {
 protected:
  void ExpectSomeOrder(const std::vector<Work>& before, const Work& work, const std::vector<Work>& meanwhile,
                       const Work& after) const {
    std::vector<std::vector<Outcome>> expected;
    for (size_t position = 0; position <= meanwhile.size(); ++position) {
      Round round(versions_, before, work, meanwhile, after);
      for (size_t i = 0; i < position; ++i) round.DoMeanwhile(i);
      round.DoWork();
      for (size_t i = position; i < meanwhile.size(); ++i) round.DoMeanwhile(i);
      expected.push_back(round.Answers());
    }
    uint64_t runs = 0;
    for (const bool work_first : {true, false}) {
      for (const uint64_t slice : {kToTheEnd, uint64_t{1}, uint64_t{3}, uint64_t{7}, uint64_t{15}, uint64_t{31}}) {
        uint64_t accesses = kToTheEnd;
        // A split makes thousands: some of them each time, others the next time.
        for (uint64_t head = 0; head < accesses; head += accesses < 1'500 ? 1 : 7 + runs % 13, ++runs) {
          Round round(versions_, before, work, meanwhile, after);
          const auto one = [&] { round.DoWork(); };
          const auto other = [&] { round.DoMeanwhile(); };
          const uint64_t turns[] = {head, slice, slice};
          accesses = work_first ? TakeTurns(one, other, turns) : TakeTurns(other, one, turns);
          const std::vector<Outcome> answers = round.Answers();
          const bool some = std::ranges::any_of(expected, [&answers](const std::vector<Outcome>& order) {
            return std::ranges::equal(answers, order, SameAnswer);
          });
          ASSERT_TRUE(some) << (work_first ? "work" : "meanwhile") << " first, for " << head << ", then by " << slice
                            << ":" << ToText(answers) << "\nas the first:" << ToText(expected.front())
                            << "\nas the last: " << ToText(expected.back());
        }
      }
    }
  }

  /// Two sets of numbers of one limit, and another limit that keeps its state in another way.
  const Versions versions_{
      {Make(GetParam(), 5, kWindow), Make(GetParam(), 7, kWindow),
       Make(GetParam() == Algorithm::kSlidingLog ? Algorithm::kTokenBucket : Algorithm::kSlidingLog, 5, kWindow)}};
  // Two keys of one line, and one of another; all of them move when their page splits.
  const Ask a_{KeyInLine(64 + 1, 1)};
  const Ask b_{KeyInLine(64 + 1, 2)};
  const Ask c_{KeyInLine(64 + 7, 3)};
  static Ask Of(Ask ask, uint64_t cost) {
    ask.cost = cost;
    return ask;
  }
  static Ask Shadow(Ask ask) {
    ask.shadow = true;
    return ask;
  }
  static Ask Newer(Ask ask) {
    ask.version = 1;
    return ask;
  }
};
INSTANTIATE_TEST_SUITE_P(All, Interleaving, testing::ValuesIn(kAlgorithms),
                         [](const auto& each) { return std::string(ToText(each.param)); });

TEST_P(Interleaving, SpendsOfOneKey) {
  ExpectSomeOrder({Spend({a_})}, Spend({a_}), {Spend({Of(a_, 2)})}, Peek({a_}));
  ExpectSomeOrder({Spend({a_})}, Spend({Of(a_, 3)}), {Spend({Of(a_, 3)})}, Peek({a_}));
  ExpectSomeOrder({Spend({c_})}, Spend({a_}), {Spend({Of(a_, 2)})}, Peek({a_}));
}

TEST_P(Interleaving, ADenialAndAGiveBack) {
  ExpectSomeOrder({Spend({Of(a_, 4)})}, Spend({Of(a_, 5)}), {GiveBack(Of(a_, 2))}, Peek({a_}));
}

TEST_P(Interleaving, ALookAndASpendThatLetsEntriesGo) {
  const std::vector<Work> before{Spend({Of(a_, 2)}), Spend({a_}, kStart + kWindow / 2)};
  const Micros now = kStart + kWindow;
  ExpectSomeOrder(before, Peek({Of(a_, 4)}, now), {Spend({Of(a_, 3)}, now)}, Peek({a_}, now));
  ExpectSomeOrder(before, Spend({Of(a_, 5)}, now), {Spend({Of(a_, 3)}, now)}, Peek({a_}, now));
}

TEST_P(Interleaving, SpendsUnderOtherNumbers) {
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Spend({a_}), {Spend({Newer(a_)})}, Peek({a_}));
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Spend({Newer(a_)}), {Spend({a_})}, Peek({a_}));
}

TEST_P(Interleaving, AKeyThatIsForgottenOrSwept) {
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Spend({a_}), {Forget(a_)}, Peek({a_}));
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Forget(a_), {Spend({a_})}, Peek({a_}));
  const Micros as_new = kStart + 2 * kWindow;
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Spend({a_}, as_new), {Sweep(as_new)}, Peek({a_}, as_new));
  ExpectSomeOrder({Spend({Of(a_, 3)})}, Sweep(kStart), {GiveBack(Of(a_, 3)), Spend({a_})}, Peek({a_}));
}

TEST_P(Interleaving, ASlotThatIsTakenOver) {
  // Its line is full of what is as new.
  const std::vector<Work> before{Spend({Of(a_, 3), Of(b_, 3)})};
  const Micros as_new = kStart + 2 * kWindow;
  const Ask next{KeyInLine(64 + 1, 4)};
  ExpectSomeOrder(before, Spend({a_}, as_new), {Spend({next}, as_new)}, Peek({a_, next}, as_new));
  ExpectSomeOrder(before, Spend({next}, as_new), {Spend({a_}, as_new)}, Peek({a_, next}, as_new));
  const Ask of_another_limit{next.key, 1, 2};
  ExpectSomeOrder(before, Peek({a_}, as_new), {Spend({of_another_limit}, as_new)},
                  Peek({a_, of_another_limit}, as_new));
}

TEST_P(Interleaving, SeveralKeysAtOnce) {
  const std::vector<Work> before{Spend({a_, b_, c_})};
  ExpectSomeOrder(before, Spend({a_, c_}), {Spend({c_, a_})}, Peek({a_, b_, c_}));
  ExpectSomeOrder(before, Spend({a_, b_}), {Spend({a_})}, Peek({a_, b_, c_}));
  ExpectSomeOrder(before, Spend({a_, b_}), {Spend({Newer(a_)})}, Peek({a_, b_, c_}));
  ExpectSomeOrder(before, Peek({a_, c_}), {Spend({a_, c_})}, Peek({a_, b_, c_}));
}

TEST_P(Interleaving, SeveralKeysAtOnceOfWhichOneDenies) {
  const std::vector<Work> before{Spend({a_, c_, Of(b_, 5)})};
  ExpectSomeOrder(before, Spend({a_, c_, b_}), {Spend({a_, c_})}, Peek({a_, b_, c_}));
  ExpectSomeOrder(before, Spend({a_, b_}), {GiveBack(Of(b_, 5)), Spend({a_})}, Peek({a_, b_, c_}));
}

TEST_P(Interleaving, NewKeysAtOnce) {
  ExpectSomeOrder({Spend({c_})}, Spend({a_, c_}), {Spend({a_})}, Peek({a_, c_}));
  ExpectSomeOrder({Spend({c_})}, Spend({a_}), {Spend({a_, c_})}, Peek({a_, c_}));
  ExpectSomeOrder({Spend({c_})}, Peek({a_, b_}), {Spend({a_, b_})}, Peek({a_, b_}));
}

TEST_P(Interleaving, AShadowThatDenies) {
  // Only read, while the other is written.
  ExpectSomeOrder({Spend({a_, Of(c_, 5)})}, Spend({Shadow(c_), a_}), {GiveBack(Of(c_, 2)), Spend({a_})},
                  Peek({a_, c_}));
  // Not there, and never to be.
  ExpectSomeOrder({Spend({a_})}, Spend({Shadow(Of(c_, 6)), a_}), {Spend({c_}), Spend({a_})}, Peek({a_, c_}));
}

TEST_P(Interleaving, AKeyThatMoves) {
  // The page takes no more.
  const std::vector<Work> before{Spend({Of(a_, 2), c_}), Fill(0, 106)};
  for (const Work& work : {Spend({a_}), Spend({Of(a_, 6)}), Peek({a_, c_}), GiveBack(a_), Spend({a_, c_}), Forget(a_)})
    ExpectSomeOrder(before, work, {Fill(106, 1)}, Peek({a_, c_}));
}

// Twice in a row its page splits while somebody looks for it.
TEST(Split, AKeyThatMovesTwiceIsNotTakenForAbsent) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  // Home lines of the first page; by the bits above, all go to the second one at first and the key then to the fourth.
  const Ask key{KeyInLine(3 * 64 + 1, 1)};
  Work before{.kind = Work::Kind::kOneByOne, .asks = {key}};
  for (uint64_t n = 0; n < 107; ++n) {
    before.asks.push_back({Key(1'000 + n)});
    before.asks.back().key.low |= 64;
  }
  Ask to_first{Key(2'000)};
  to_first.key.low &= ~uint64_t{64};
  Ask to_second{Key(2'001)};
  to_second.key.low |= 64;
  const Work first_split = Spend({to_first});
  const Work second_split = Spend({to_second});
  uint64_t accesses_of_first_split = 0;
  {
    const auto storage = MakeMemoryStorage({.max_keys = 1'000});
    Act(versions, before).Do(*storage);
    Act act(versions, first_split);
    accesses_of_first_split = CountAccesses([&] { act.Do(*storage); });
  }
  for (uint64_t head = 0; head < 30; ++head) {
    for (uint64_t then = 1; then < 30; ++then) {
      const auto storage = MakeMemoryStorage({.max_keys = 1'000});
      Act(versions, before).Do(*storage);
      Act look(versions, Peek({key}));
      Act split(versions, first_split);
      Act split_again(versions, second_split);
      const uint64_t turns[] = {head, accesses_of_first_split, then};
      TakeTurns([&] { look.Do(*storage); },
                [&] {
                  split.Do(*storage);
                  split_again.Do(*storage);
                },
                turns);
      ASSERT_EQ(look.remaining(), 4u) << head << ", then " << then;
    }
  }
}

// A key becomes as new when a sweep has already passed by, and then is spent from.
TEST(Sweep, ClearsNothingInALineThatItDoesNotHold) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  const Ask key{KeyInLine(0, 1)};
  const auto give_back_all = [&key] { return GiveBack({key.key, 3}); };
  uint64_t accesses_of_give_back = 0;
  {
    const auto storage = MakeMemoryStorage({.max_keys = 1'000});
    Act(versions, Spend({{key.key, 3}})).Do(*storage);
    Act act(versions, give_back_all());
    accesses_of_give_back = CountAccesses([&] { act.Do(*storage); });
  }
  for (uint64_t head = 0; head < 20; ++head) {
    for (uint64_t then = 1; then < 20; ++then) {
      const auto storage = MakeMemoryStorage({.max_keys = 1'000});
      Act(versions, Spend({{key.key, 3}})).Do(*storage);
      Act sweep(versions, Sweep(kStart));
      Act give_back(versions, give_back_all());
      Act spend(versions, Spend({key}));
      const uint64_t turns[] = {head, accesses_of_give_back, then};
      TakeTurns([&] { sweep.Do(*storage); },
                [&] {
                  give_back.Do(*storage);
                  spend.Do(*storage);
                },
                turns);
      Act look(versions, Peek({key}));
      look.Do(*storage);
      ASSERT_EQ(look.remaining(), 4u) << head << ", then " << then;
    }
  }
}

// What a sweep has cleared is looked through no more.
TEST(Sweep, LeavesATableAsQuickAsANewOne) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  const auto storage = MakeMemoryStorage({.max_keys = 1'000});
  const auto accesses_of_a_look = [&] {
    Act act(versions, Peek({{KeyInLine(1, 100)}}));
    return CountAccesses([&] { act.Do(*storage); });
  };
  const uint64_t at_first = accesses_of_a_look();
  for (uint64_t n = 0; n < 20; ++n) Act(versions, Spend({{KeyInLine(1, n)}})).Do(*storage);
  EXPECT_GT(accesses_of_a_look(), at_first);
  Act(versions, Sweep(kStart + kWindow)).Do(*storage);
  EXPECT_EQ(accesses_of_a_look(), at_first);
}

// Three keys of a line, of which one lies beside it, move to a page of their own.
TEST(Split, PutsKeysAsNearToTheirHomesAsInANewTable) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  Work moving{.kind = Work::Kind::kOneByOne};
  for (uint64_t n = 0; n < 3; ++n) moving.asks.push_back({KeyInLine(64 + 1, n)});
  Work staying{.kind = Work::Kind::kOneByOne};
  for (uint64_t n = 0; n < 106; ++n) {
    staying.asks.push_back({Key(1'000 + n)});
    staying.asks.back().key.low &= ~uint64_t{64};
  }
  const auto accesses_of_looks = [&](Storage& storage) {
    uint64_t accesses = 0;
    for (const Ask& ask : moving.asks) {
      Act act(versions, Spend({ask}));
      accesses += CountAccesses([&] { act.Do(storage); });
    }
    return accesses;
  };
  const auto small = MakeMemoryStorage({.max_keys = 1'000});
  Act(versions, moving).Do(*small);
  const auto split = MakeMemoryStorage({.max_keys = 1'000});
  Act(versions, moving).Do(*split);
  Act(versions, staying).Do(*split);
  EXPECT_EQ(accesses_of_looks(*split), accesses_of_looks(*small));
}

// Two requests want two keys where there is room for one: a key has one entry all the same.
TEST(Insert, MakesOneEntryOfAKeyInAFullTable) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  const Work work = Spend({{Key(1)}, {Key(2)}});
  for (const uint64_t slice : {kToTheEnd, uint64_t{20}, uint64_t{200}}) {
    uint64_t accesses = kToTheEnd;
    for (uint64_t head = 0; head < accesses; ++head) {
      const auto storage = MakeMemoryStorage({.max_keys = 1});
      Act one(versions, work);
      Act other(versions, work);
      const uint64_t turns[] = {head, slice, slice};
      accesses = TakeTurns([&] { one.Do(*storage); }, [&] { other.Do(*storage); }, turns);
      Act(versions, Forget({Key(1)})).Do(*storage);
      Act(versions, Forget({Key(2)})).Do(*storage);
      uint64_t keys = 1;
      storage->KeyCount(keys);
      ASSERT_EQ(keys, 0u) << "for " << head << ", then by " << slice;
    }
  }
}

// A page that is almost full of living keys is split, not cleared for every new key.
TEST(Insert, SeldomLooksAtAWholePage) {
  const Versions versions(
      {Make(Algorithm::kTokenBucket, 5, kWindow), Make(Algorithm::kTokenBucket, 5, 3'600 * kWindow)});
  const auto storage = MakeMemoryStorage({.max_keys = 1'000});
  Work alive = Fill(0, 104);
  for (Ask& ask : alive.asks) ask.version = 1;
  Act(versions, alive).Do(*storage);
  uint64_t accesses = 0;
  for (uint64_t i = 0; i < 300; ++i) {
    Work next = Fill(1'000 + i, 1);
    next.now = kStart + i * kWindow;
    Act act(versions, next);
    accesses += CountAccesses([&] { act.Do(*storage); });
  }
  EXPECT_LT(accesses, 300u * 100);
}

// It would have been the first to go, but comes to its limit before it is dropped.
TEST(Eviction, AKeyThatComesToItsLimitMeanwhileStays) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  uint64_t accesses = kToTheEnd;
  for (uint64_t head = 0; head < accesses; ++head) {
    const auto storage = MakeMemoryStorage({.max_keys = 2});
    Act(versions, Spend({{Key(1), 1}})).Do(*storage);
    Act(versions, Spend({{Key(2), 3}})).Do(*storage);
    Act add(versions, Spend({{Key(3), 3}}));
    Act spend(versions, Spend({{Key(1), 4}}));
    accesses = TakeTurns([&] { add.Do(*storage); }, [&] { spend.Do(*storage); }, std::span(&head, 1));
    Act look(versions, Peek({{Key(1)}}));
    look.Do(*storage);
    // It was dropped before that, or is still there.
    ASSERT_EQ(look.remaining(), spend.remaining()) << "stopped at " << head;
  }
}

/// As many keys as are more than 64 pages, all at their limit. Two of one page have been below it.
class FullTable {
 public:
  static constexpr uint64_t kKeys = 9'000;
  explicit FullTable(const Versions& versions) : versions_(versions) {
    Work at_limit = Fill(0, kKeys - 2);
    for (Ask& ask : at_limit.asks) ask.cost = 5;
    Do(at_limit);
    for (const Ask& key : keys_) {
      Do(Spend({key}));
      Do(Spend({{key.key, 4}}));
    }
  }
  void Do(const Work& work) { Act(versions_, work).Do(*storage_); }
  uint64_t Remaining(const Ask& ask) {
    Act act(versions_, Peek({ask}));
    act.Do(*storage_);
    return act.remaining();
  }
  Storage& storage() { return *storage_; }
  const std::array<Ask, 2>& keys() const { return keys_; }
  static Work AddOne(uint64_t n) { return Spend({{Key(100'000 + n), 5}}); }

 private:
  const Versions& versions_;
  const std::unique_ptr<Storage> storage_ = MakeMemoryStorage({.max_keys = kKeys});
  const std::array<Ask, 2> keys_{{{{777, 1}}, {{777 + (uint64_t{1} << 40), 2}}}};
};

// They come below their limit again while another looks whether their page can be left out from now on.
TEST(Eviction, KeysThatComeBelowTheirLimitMeanwhileAreNotOverlooked) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  uint64_t accesses = kToTheEnd;
  for (uint64_t head = 0; head < accesses; head += 11) {
    FullTable table(versions);
    Act add(versions, FullTable::AddOne(1));
    Act give_back(versions, {.mode = Mode::kSettle, .asks = {table.keys().begin(), table.keys().end()}});
    accesses = TakeTurns([&] { add.Do(table.storage()); }, [&] { give_back.Do(table.storage()); }, std::span(&head, 1));
    table.Do(FullTable::AddOne(2));
    table.Do(FullTable::AddOne(3));
    for (const Ask& key : table.keys())
      ASSERT_EQ(table.Remaining(key), 5u) << "stopped at " << head << ": it should have made room";
  }
}

// Once a page has been looked through in vain it is left out.
TEST(Eviction, LooksThroughAPageInVainOnce) {
  const Versions versions({Make(Algorithm::kTokenBucket, 5, kWindow)});
  FullTable table(versions);
  const auto accesses_of_one_more = [&](uint64_t n) {
    Act add(versions, FullTable::AddOne(n));
    return CountAccesses([&] { add.Do(table.storage()); });
  };
  for (uint64_t n = 0; n < FullTable::kKeys - 2; ++n) {
    table.Do(GiveBack({Key(1'000 + n), 1}));
    table.Do(Spend({{Key(1'000 + n), 1}}));
  }
  const uint64_t in_vain = accesses_of_one_more(1);
  EXPECT_LT(accesses_of_one_more(2), in_vain / 4);
}

// A sanitizer's allocator counts nothing for mallinfo.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// All threads' memory counts then.
const int kOneArena = mallopt(M_ARENA_MAX, 1);

// Both bring a ring for the same new log. That of the one that comes too late is used again.
TEST(SlidingLog, ARingThatCameTooLateIsUsedAgain) {
  ASSERT_EQ(kOneArena, 1);
  const Versions versions({Make(Algorithm::kSlidingLog, 5, kWindow)});
  const auto storage = MakeMemoryStorage({});
  const auto kept = [] { return mallinfo2().uordblks + mallinfo2().hblkhd; };
  const Ask key{Key(1)};
  const Work spend = Spend({key});
  const Work forget = Forget(key);
  size_t early = 0;
  for (int round = 0; round < 20; ++round) {
    uint64_t accesses = kToTheEnd;
    for (uint64_t head = 0; head < accesses; ++head) {
      Act one(versions, spend);
      Act other(versions, spend);
      accesses = TakeTurns([&] { one.Do(*storage); }, [&] { other.Do(*storage); }, std::span(&head, 1));
      Act(versions, forget).Do(*storage);
    }
    if (round == 0) early = kept();
  }
  EXPECT_LE(kept(), early + 20'000);
}
#endif

}  // namespace
}  // namespace ratel::test
