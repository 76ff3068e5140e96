// The table of lines: where a key's slot is, how it gets one, and how the table grows.
//
// 64 lines are a page of 4 KiB. A key's home line and page are bits of its tag; when the home line is full its entry lies in home XOR 1, 2, 3 ...
// of the same page, and the home line's `reach` says how far one has to look. A page that fills up is first cleared of states that equal
// "new", and if that does not help split in two by one more bit of the tag: alone, at once, with every entry put back as near to its home as it
// goes. There is no directory and no background thread; the address space for the largest table that `max_keys` allows is reserved at
// the start and becomes memory page by page. Where 512 neighbours are all in use, they are offered to the system to be one page of its own: nothing
// more becomes resident by that, and a key's line is found without a miss in the translation of its address.
//
// Locks: a page lock (inserting, splitting, sweeping) comes before line locks; of line locks several are taken in ascending address order only.
// Which pages may hold a key below its limit is known at any time (below_): it is these that make room in a full table. Whoever writes such a state says
// so while it holds the line; the page is taken out when all its lines are held and none is found.
//
// A reader that does not find its key asks again under the page lock, so a split or an insert under way is never mistaken for absence.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "core/time.hpp"
#include "storage/memory/line.hpp"
#include "storage/memory/mapping.hpp"
#include "storage/memory/page_set.hpp"
#include "storage/memory/ring.hpp"

namespace ratel::memory {

/// Where an entry was found, with the header that its line had then.
struct Place {
  Line* line = nullptr;
  size_t slot = 0;
  uint64_t header = 0;
  explicit operator bool() const noexcept { return line != nullptr; }
};

class Table {
 public:
  static constexpr size_t kLinesPerPage = 64;
  static constexpr size_t kSlotsPerPage = kLinesPerPage * kSlots;
  static constexpr size_t kSplitAt = 108;  ///< entries at which a page is cleared, or else split
  static constexpr size_t kKeepAt = 96;    ///< cleared down to this, a page is not split
  static constexpr size_t kPagesPerRegion = Mapping::kHugePage / (kLinesPerPage * sizeof(Line));

  /// Throws std::bad_alloc.
  Table(uint64_t max_keys, RingPool& rings);

  /// The entry of a tag as a snapshot: what is read through it stands as long as line->Unchanged(header). Nothing found is not proof of absence.
  Place Find(Tag tag) const noexcept { return FindIn(PageOf(tag), tag); }
  /// The same, and nothing found is proof.
  Place FindSurely(Tag tag) noexcept;
  /// Asks for the home line and for the one where most of those lie that are not at home. Several calls in a row overlap; with other work between them
  /// they do not: a prefetch waits for its page's address, and what comes after waits for it.
  void Prefetch(Tag tag) const noexcept {
    const uint64_t page = PageOf(tag);
    __builtin_prefetch(LineAt(page, tag.home_line()), 1);
    __builtin_prefetch(LineAt(page, tag.home_line() ^ 1), 1);
  }

  /// Gives the tag a slot holding `entry`, unless it has one already (then nothing is written). Makes room by dropping states that equal "new" at
  /// `now`, else the entry nearest to expiry. Returns false when it was there already.
  bool Insert(const Entry& entry, Micros now) noexcept;

  /// Drops the tag's entry.
  void Erase(Tag tag) noexcept;

  /// Drops every entry that has been as new since `cutoff`.
  uint64_t Sweep(Micros cutoff) noexcept;

  /// Has the system put each full region into one page of its own now. Who decides in one of them meanwhile waits until its 2 MiB are copied, and, on a
  /// machine whose processors are all busy, for its turn after that.
  void MakeHuge() noexcept;

  /// To be called while `line` is locked, when a state is written into it that is below its limit and was not before.
  void NoteBelowLimit(const Line* line) noexcept { below_.Add(static_cast<uint64_t>(line - lines_) / kLinesPerPage); }

  uint64_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  uint64_t evicted_live() const noexcept { return evicted_live_.load(std::memory_order_relaxed); }

  /// Pages that a table for so many keys reserves.
  static uint64_t PagesFor(uint64_t max_keys) noexcept;

 private:
  struct PageInfo {
    std::atomic<uint32_t> lock;
    std::atomic<uint16_t> used;
    uint16_t depth;  ///< tag bits that it is responsible for; under its lock
  };
  class PageLock;
  class FreedRings;
  struct Victim;

  uint64_t PageOf(Tag tag) const noexcept {
    uint64_t page = tag.page_bits() & page_mask_.load(std::memory_order_acquire);
    while (!in_use_.Has(page)) page &= ~std::bit_floor(page);
    return page;
  }
  Line* LineAt(uint64_t page, size_t line) const noexcept { return lines_ + page * kLinesPerPage + line; }
  Place FindIn(uint64_t page, Tag tag) const noexcept {
    Line* line = LineAt(page, tag.home_line());
    const uint64_t header = line->StableHeader();
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (line->Holds(slot, tag)) return {line, slot, header};
    }
    const unsigned reach = Line::ReachOf(header);
    return reach == 0 ? Place() : FindAway(page, tag, reach);
  }
  /// The same for an entry that is not in its home line.
  [[gnu::noinline]] Place FindAway(uint64_t page, Tag tag, unsigned reach) const noexcept;
  uint64_t LockPageOf(Tag tag) noexcept;
  bool PutInto(uint64_t page, const Entry& entry, Micros now, bool only_dead, bool& took_empty,
               FreedRings& freed) noexcept;
  void RaiseReach(uint64_t page, Tag tag, unsigned distance) noexcept;
  size_t ClearDead(uint64_t page, Micros now, FreedRings& freed) noexcept;
  /// Under the page's lock. False when there can be no more pages.
  bool Split(uint64_t page) noexcept;
  bool MakeRoom(uint64_t near_page, Micros now, bool spare_blank) noexcept;
  bool HasBelowLimit(uint64_t page) const noexcept;
  bool StillHasBelowLimit(uint64_t page) noexcept;
  bool EvictBelowLimit(uint64_t pages, FreedRings& freed) noexcept;
  Victim FindVictim(uint64_t first_page, uint64_t pages) const noexcept;
  /// Under the page's lock. False when its line has changed since it was found.
  bool Drop(const Victim& victim, FreedRings& freed) noexcept;
  void Release(uint64_t page, size_t count) noexcept;
  /// Whether all pages of a region are in use; they stay so.
  bool IsFull(uint64_t region) const noexcept {
    const uint64_t first = region * kPagesPerRegion;
    return first + kPagesPerRegion <= max_pages_ && in_use_.HasAll(first, kPagesPerRegion);
  }
  void LockPage(uint64_t page) noexcept;
  void UnlockPage(uint64_t page) noexcept;

  const uint64_t max_keys_;
  const uint64_t max_pages_;
  RingPool& rings_;
  Mapping line_memory_;
  Mapping info_memory_;
  Line* const lines_;
  PageInfo* const info_;
  PageSet in_use_;                                   ///< a bit each, so that every decision finds it in the cache
  PageSet below_;                                    ///< pages that may hold a key below its limit
  alignas(128) std::atomic<uint64_t> page_mask_{0};  ///< of the deepest page there is
  alignas(128) std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> evicted_live_{0};
  std::atomic<uint64_t> hand_{0};  ///< where the search for a victim goes on
};

}  // namespace ratel::memory
