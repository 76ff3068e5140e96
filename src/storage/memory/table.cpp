#include "storage/memory/table.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "core/wide.hpp"

namespace ratel::memory {
namespace {

/// How much a key would be missed.
enum Rank : unsigned { kBelowLimit, kAtLimit, kUnderWay, kNobody };

Rank RankOf(Lead lead) noexcept { return lead.blank() ? kUnderWay : lead.at_limit() ? kAtLimit : kBelowLimit; }

bool IsBelowLimit(Lead lead) noexcept { return !lead.empty() && RankOf(lead) == kBelowLimit; }

Wide ExpiryMicros(Lead lead) noexcept {
  Wide expiry = lead.expiry();
  for (unsigned i = 0; i < lead.tick_exponent(); ++i) expiry *= 10;
  return expiry;
}

}  // namespace

/// An entry that could be dropped, and how little it would be missed.
struct Table::Victim {
  Line* line = nullptr;
  size_t slot = 0;
  uint64_t header = 0;
  uint64_t page = 0;
  Rank rank = kNobody;
  Wide expiry = 0;

  bool Beats(const Victim& other) const noexcept {
    return rank != other.rank ? rank < other.rank : expiry < other.expiry;
  }
};

/// Rings of entries that were dropped; they go back to the pool when no lock is held any more.
class Table::FreedRings {
 public:
  explicit FreedRings(RingPool& pool) noexcept : pool_(pool) {}
  ~FreedRings() {
    for (size_t i = 0; i < count_; ++i) pool_.Put(Ring(handles_[i]));
  }
  void Add(Lead lead, uint64_t value) noexcept {
    if (!lead.log() || value == 0) return;
    if (count_ < handles_.size()) {
      handles_[count_++] = value;
    } else {
      pool_.Put(Ring(value));
    }
  }

 private:
  RingPool& pool_;
  size_t count_ = 0;
  std::array<uint64_t, kSlotsPerPage> handles_;
};

/// Holds a page's lock.
class Table::PageLock {
 public:
  PageLock(Table& table, uint64_t page) noexcept : table_(table), page_(page) {}
  ~PageLock() { table_.UnlockPage(page_); }
  PageLock(const PageLock&) = delete;
  PageLock& operator=(const PageLock&) = delete;

 private:
  Table& table_;
  uint64_t page_;
};

uint64_t Table::PagesFor(uint64_t max_keys) noexcept {
  // Half full at the bound, and as much again for pages that happen to get more than their share.
  return 2 * std::bit_ceil(max_keys / (kSlotsPerPage / 2) + 1);
}

Table::Table(uint64_t max_keys, RingPool& rings)
    : max_keys_(max_keys),
      max_pages_(PagesFor(max_keys)),
      rings_(rings),
      line_memory_(max_pages_ * kLinesPerPage * sizeof(Line)),
      info_memory_(max_pages_ * sizeof(PageInfo)),
      lines_(line_memory_.As<Line>()),
      info_(info_memory_.As<PageInfo>()),
      in_use_(max_pages_),
      below_(max_pages_) {
  in_use_.Add(0);
}

// ---- Finding ----------------------------------------------------------------------------------------------------------------------

Place Table::FindAway(uint64_t page, Tag tag, unsigned reach) const noexcept {
  for (unsigned distance = 1; distance <= reach; ++distance) {
    Line* line = LineAt(page, tag.home_line() ^ distance);
    const uint64_t header = line->StableHeader();
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (line->Holds(slot, tag)) return {line, slot, header};
    }
  }
  return {};
}

Place Table::FindSurely(Tag tag) noexcept {
  const uint64_t page = LockPageOf(tag);
  const PageLock lock(*this, page);
  return FindIn(page, tag);
}

// ---- Locks ------------------------------------------------------------------------------------------------------------------------

void Table::LockPage(uint64_t page) noexcept {
  std::atomic<uint32_t>& lock = info_[page].lock;
  for (unsigned spin = 0;; ++spin) {
    uint32_t expected = 0;
    if (lock.load(std::memory_order_relaxed) == 0 &&
        lock.compare_exchange_weak(expected, 1, std::memory_order_acquire, std::memory_order_relaxed))
      return;
    Line::Pause(spin);
  }
}

void Table::UnlockPage(uint64_t page) noexcept { info_[page].lock.store(0, std::memory_order_release); }

uint64_t Table::LockPageOf(Tag tag) noexcept {
  for (;;) {
    const uint64_t page = PageOf(tag);
    LockPage(page);
    if (PageOf(tag) == page) return page;
    UnlockPage(page);
  }
}

void Table::Release(uint64_t page, size_t count) noexcept {
  if (count == 0) return;
  info_[page].used.fetch_sub(static_cast<uint16_t>(count), std::memory_order_relaxed);
  used_.fetch_sub(count, std::memory_order_relaxed);
}

// ---- Inserting --------------------------------------------------------------------------------------------------------------------

bool Table::Insert(const Entry& entry, Micros now) noexcept {
  for (;;) {
    FreedRings freed(rings_);
    const uint64_t page = LockPageOf(entry.tag);
    {
      const PageLock lock(*this, page);
      if (FindIn(page, entry.tag)) return false;
      if (info_[page].used.load(std::memory_order_relaxed) >= kSplitAt) {
        ClearDead(page, now, freed);
        if (info_[page].used.load(std::memory_order_relaxed) > kKeepAt && Split(page)) continue;
      }
      bool took_empty = false;
      // An empty slot counts against max_keys, a dead one is in the count already.
      const bool may_grow = used_.fetch_add(1, std::memory_order_relaxed) < max_keys_;
      const bool done = PutInto(page, entry, now, !may_grow, took_empty, freed);
      if (!took_empty) used_.fetch_sub(1, std::memory_order_relaxed);
      if (done) return true;
      // Every slot of a page that cannot be split holds live state.
      if (may_grow) {
        Drop(FindVictim(page, 1), freed);
        continue;
      }
    }
    if (MakeRoom(page, now, entry.lead.blank()) || !entry.lead.blank()) continue;
    // A request with more limits than there is room for: its places are needed together, so they exceed the bound for its duration.
    const uint64_t again = LockPageOf(entry.tag);
    const PageLock lock(*this, again);
    if (FindIn(again, entry.tag)) return false;
    bool took_empty = false;
    if (PutInto(again, entry, now, false, took_empty, freed)) {
      if (took_empty) used_.fetch_add(1, std::memory_order_relaxed);
      return true;
    }
  }
}

bool Table::PutInto(uint64_t page, const Entry& entry, Micros now, bool only_dead, bool& took_empty,
                    FreedRings& freed) noexcept {
  const size_t home = entry.tag.home_line();
  for (unsigned distance = 0; distance < kLinesPerPage;) {
    Line& line = *LineAt(page, home ^ distance);
    const uint64_t header = line.StableHeader();
    size_t chosen = kSlots;
    bool empty = false;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const Lead lead = line.ReadLead(slot);
      if (lead.empty() ? only_dead || chosen != kSlots : !lead.Dead(now)) continue;
      chosen = slot;
      empty = lead.empty();
      if (!empty) break;
    }
    if (chosen == kSlots) {
      ++distance;
      continue;
    }
    if (!line.TryLock(header)) continue;
    freed.Add(line.ReadLead(chosen), line.ReadValue(chosen));
    const uint64_t written = line.Write(chosen, entry, header);
    if (IsBelowLimit(entry.lead)) NoteBelowLimit(&line);
    line.Unlock(written);
    if (empty) info_[page].used.fetch_add(1, std::memory_order_relaxed);
    took_empty = empty;
    RaiseReach(page, entry.tag, distance);
    return true;
  }
  return false;
}

void Table::RaiseReach(uint64_t page, Tag tag, unsigned distance) noexcept {
  if (distance == 0) return;
  Line& home = *LineAt(page, tag.home_line());
  const uint64_t header = home.Lock();
  if (Line::ReachOf(header) >= distance) {
    home.UnlockUntouched(header);
  } else {
    home.Unlock(Line::WithReach(header, distance));
  }
}

// ---- Clearing, splitting ----------------------------------------------------------------------------------------------------------

size_t Table::ClearDead(uint64_t page, Micros now, FreedRings& freed) noexcept {
  size_t cleared = 0;
  std::array<unsigned, kLinesPerPage> reach{};
  for (size_t i = 0; i < kLinesPerPage; ++i) {
    Line& line = *LineAt(page, i);
    bool any = false;
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const Lead lead = line.ReadLead(slot);
      any |= !lead.empty() && lead.Dead(now);
    }
    // Tags change only under the page lock, which is held: they can be read without the line's.
    const uint64_t header = any ? line.Lock() : line.ReadHeader();
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const Entry entry = line.Read(slot, header);
      if (entry.lead.empty()) continue;
      if (any && entry.lead.Dead(now)) {
        freed.Add(entry.lead, entry.value);
        line.Clear(slot);
        ++cleared;
      } else {
        const size_t home = entry.tag.home_line();
        reach[home] = std::max(reach[home], static_cast<unsigned>(home ^ i));
      }
    }
    if (any) line.Unlock(header);
  }
  if (cleared == 0) return 0;
  Release(page, cleared);
  for (size_t i = 0; i < kLinesPerPage; ++i) {
    Line& line = *LineAt(page, i);
    if (Line::ReachOf(line.ReadHeader()) == reach[i]) continue;
    const uint64_t header = line.Lock();
    line.Unlock(Line::WithReach(header, reach[i]));
  }
  return cleared;
}

namespace {

/// Where the entries of one page go, as near to home as they fit.
class Layout {
 public:
  /// False when the line is taken.
  bool Put(const Entry& entry, unsigned distance) noexcept {
    const size_t home = entry.tag.home_line();
    const size_t line = home ^ distance;
    if (used_[line] == kSlots) return false;
    entries_[line][used_[line]++] = entry;
    reach_[home] = std::max(reach_[home], distance);
    ++count_;
    return true;
  }
  /// Writes line i, which is locked or not in use yet, and returns its header.
  uint64_t WriteLine(Line& line, size_t i, uint64_t header) const noexcept {
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (slot < used_[i]) {
        header = line.Write(slot, entries_[i][slot], header);
      } else {
        line.Clear(slot);
      }
    }
    return Line::WithReach(header, reach_[i]);
  }
  size_t count() const noexcept { return count_; }

 private:
  std::array<std::array<Entry, kSlots>, Table::kLinesPerPage> entries_;
  std::array<size_t, Table::kLinesPerPage> used_{};
  std::array<unsigned, Table::kLinesPerPage> reach_{};
  size_t count_ = 0;
};

}  // namespace

bool Table::Split(uint64_t page) noexcept {
  const unsigned depth = info_[page].depth;
  const uint64_t child = page | uint64_t{1} << depth;
  if (child >= max_pages_) return false;

  std::array<uint64_t, kLinesPerPage> headers;
  for (size_t i = 0; i < kLinesPerPage; ++i) headers[i] = LineAt(page, i)->Lock();

  Layout stays;
  Layout goes;
  std::array<Entry, kSlotsPerPage> displaced;
  size_t displaced_count = 0;
  const auto layout_of = [&](const Entry& entry) -> Layout& {
    return (entry.tag.page_bits() >> depth & 1) != 0 ? goes : stays;
  };
  for (size_t i = 0; i < kLinesPerPage; ++i) {
    for (size_t slot = 0; slot < kSlots; ++slot) {
      const Entry entry = LineAt(page, i)->Read(slot, headers[i]);
      if (!entry.lead.empty() && !layout_of(entry).Put(entry, 0)) displaced[displaced_count++] = entry;
    }
  }
  for (size_t i = 0; i < displaced_count; ++i) {
    for (unsigned distance = 1; !layout_of(displaced[i]).Put(displaced[i], distance);) ++distance;
  }

  for (size_t i = 0; i < kLinesPerPage; ++i) {
    Line& line = *LineAt(child, i);
    line.Unlock(goes.WriteLine(line, i, 0));
    headers[i] = stays.WriteLine(*LineAt(page, i), i, headers[i]);
  }
  if (below_.Has(page)) below_.Add(child);
  info_[child].used.store(static_cast<uint16_t>(goes.count()), std::memory_order_relaxed);
  info_[page].used.store(static_cast<uint16_t>(stays.count()), std::memory_order_relaxed);
  info_[page].depth = info_[child].depth = static_cast<uint16_t>(depth + 1);
  in_use_.Add(child);
  const uint64_t mask = (uint64_t{2} << depth) - 1;
  uint64_t seen = page_mask_.load(std::memory_order_relaxed);
  while (seen < mask &&
         !page_mask_.compare_exchange_weak(seen, mask, std::memory_order_release, std::memory_order_relaxed)) {
  }
  for (size_t i = 0; i < kLinesPerPage; ++i) LineAt(page, i)->Unlock(headers[i]);
  // With no line held, as it asks the system. Of two pages that come at once both may miss, on some processors, that they are the last: then it is left to
  // MakeHuge.
  if (const uint64_t region = child / kPagesPerRegion; IsFull(region))
    line_memory_.OfferHuge(region * Mapping::kHugePage);
  return true;
}

// ---- Making room ------------------------------------------------------------------------------------------------------------------

bool Table::MakeRoom(uint64_t near_page, Micros now, bool spare_blank) noexcept {
  // A table of some pages is looked at as a whole; a larger one where the new key goes, and further on until there is some choice.
  static constexpr uint64_t kAllPages = 64;
  static constexpr size_t kChoice = 128;
  FreedRings freed(rings_);
  const uint64_t pages = page_mask_.load(std::memory_order_acquire) + 1;
  const bool all = pages <= kAllPages;
  const uint64_t first = all ? 0 : near_page;
  uint64_t looked_at = 0;
  size_t candidates = 0;
  size_t cleared = 0;
  while (looked_at < pages && (all || candidates < kChoice)) {
    const uint64_t page = (first + looked_at++) & (pages - 1);
    if (!in_use_.Has(page)) continue;
    LockPage(page);
    const PageLock lock(*this, page);
    cleared += ClearDead(page, now, freed);
    candidates += info_[page].used.load(std::memory_order_relaxed);
  }
  if (cleared != 0) return true;
  for (;;) {
    const Victim victim = FindVictim(first, looked_at);
    // What was looked at is at its limit, but somewhere there may be a key that is not.
    if (victim.rank != kBelowLimit && !all && EvictBelowLimit(pages, freed)) return true;
    if (victim.rank > (spare_blank ? kAtLimit : kUnderWay)) return false;
    LockPage(victim.page);
    const PageLock lock(*this, victim.page);
    if (Drop(victim, freed)) return true;
  }
}

bool Table::EvictBelowLimit(uint64_t pages, FreedRings& freed) noexcept {
  const uint64_t start = hand_.load(std::memory_order_relaxed) % pages;
  const auto evict_in = [&](uint64_t from, uint64_t to) {
    for (uint64_t page = below_.Next(from, to); page < to; page = below_.Next(page + 1, to)) {
      if (!HasBelowLimit(page) && !StillHasBelowLimit(page)) continue;
      LockPage(page);
      const PageLock lock(*this, page);
      const Victim victim = FindVictim(page, 1);
      if (victim.rank != kBelowLimit || !Drop(victim, freed)) continue;
      hand_.store(page, std::memory_order_relaxed);
      return true;
    }
    return false;
  };
  return evict_in(start, pages) || evict_in(0, start);
}

bool Table::HasBelowLimit(uint64_t page) const noexcept {
  for (size_t i = 0; i < kLinesPerPage; ++i) {
    for (size_t slot = 0; slot < kSlots; ++slot) {
      if (IsBelowLimit(LineAt(page, i)->ReadLead(slot))) return true;
    }
  }
  return false;
}

bool Table::StillHasBelowLimit(uint64_t page) noexcept {
  LockPage(page);
  const PageLock lock(*this, page);
  std::array<uint64_t, kLinesPerPage> headers;
  for (size_t i = 0; i < kLinesPerPage; ++i) headers[i] = LineAt(page, i)->Lock();
  const bool has = HasBelowLimit(page);
  if (!has) below_.Remove(page);
  for (size_t i = 0; i < kLinesPerPage; ++i) LineAt(page, i)->UnlockUntouched(headers[i]);
  return has;
}

Table::Victim Table::FindVictim(uint64_t first_page, uint64_t pages) const noexcept {
  const uint64_t mask = page_mask_.load(std::memory_order_acquire);
  Victim best;
  for (uint64_t i = 0; i < pages; ++i) {
    const uint64_t page = (first_page + i) & mask;
    if (!in_use_.Has(page)) continue;
    for (size_t l = 0; l < kLinesPerPage; ++l) {
      Line* line = LineAt(page, l);
      const uint64_t header = line->StableHeader();
      for (size_t slot = 0; slot < kSlots; ++slot) {
        const Lead lead = line->ReadLead(slot);
        if (lead.empty()) continue;
        const Victim victim{line, slot, header, page, RankOf(lead), ExpiryMicros(lead)};
        if (victim.Beats(best)) best = victim;
      }
    }
  }
  return best;
}

bool Table::Drop(const Victim& victim, FreedRings& freed) noexcept {
  if (victim.line == nullptr || !victim.line->TryLock(victim.header)) return false;
  freed.Add(victim.line->ReadLead(victim.slot), victim.line->ReadValue(victim.slot));
  victim.line->Clear(victim.slot);
  victim.line->Unlock(victim.header);
  Release(victim.page, 1);
  evicted_live_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Table::Erase(Tag tag) noexcept {
  FreedRings freed(rings_);
  const uint64_t page = LockPageOf(tag);
  const PageLock lock(*this, page);
  // Who holds the page's lock finds a key where it stays until that is let go.
  const Place place = FindIn(page, tag);
  if (!place) return;
  const uint64_t header = place.line->Lock();
  freed.Add(place.line->ReadLead(place.slot), place.line->ReadValue(place.slot));
  place.line->Clear(place.slot);
  place.line->Unlock(header);
  Release(page, 1);
}

uint64_t Table::Sweep(Micros cutoff) noexcept {
  uint64_t cleared = 0;
  for (uint64_t page = 0; page <= page_mask_.load(std::memory_order_acquire); ++page) {
    if (!in_use_.Has(page)) continue;
    FreedRings freed(rings_);
    LockPage(page);
    const PageLock lock(*this, page);
    cleared += ClearDead(page, cutoff, freed);
  }
  return cleared;
}

void Table::MakeHuge() noexcept {
  if (!HugePagesAllowed()) return;
  const uint64_t regions = page_mask_.load(std::memory_order_acquire) / kPagesPerRegion + 1;
  for (uint64_t region = 0; region < regions; ++region) {
    if (IsFull(region) && !line_memory_.MakeHuge(region * Mapping::kHugePage)) return;
  }
}

}  // namespace ratel::memory
