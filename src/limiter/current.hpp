// The rule set in force, reached without a lock and without a write that threads share (read-copy-update with reader counts in threads' slots).
//
// A reader marks itself in its thread's slot, under the phase it saw, and reads the pointer. A reload swaps the pointer, makes all threads meet, and then
// waits, one phase after the other, until the readers of both have gone: whose mark it could not see yet has seen the new pointer. Two phases
// keep a steady stream of readers from holding a reload up for ever. Nothing that may block runs between the marks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "limiter/snapshot.hpp"
#include "limiter/thread_slot.hpp"

namespace ratel {

class CurrentSnapshot {
 public:
  CurrentSnapshot() : count_(ThreadSlot::Count()) {}
  CurrentSnapshot(const CurrentSnapshot&) = delete;
  CurrentSnapshot& operator=(const CurrentSnapshot&) = delete;

  /// Keeps the snapshot alive while in scope. Short scopes only.
  class Reader {
   public:
    explicit Reader(const CurrentSnapshot& current) noexcept
        : slot_(ThreadSlot::Mine()),
          mark_(current.marks_[slot_.index()].readers[current.phase_.load(std::memory_order_acquire) & 1]) {
      slot_.Add(mark_, 1);
      // The pointer is read after the mark was written: for the compiler by this line, for the processor by Replace's meeting.
      std::atomic_signal_fence(std::memory_order_seq_cst);
      snapshot_ = current.pointer_.load(std::memory_order_seq_cst);
    }
    ~Reader() { slot_.Add(mark_, uint64_t{0} - 1, std::memory_order_release); }
    Reader(const Reader&) = delete;
    Reader& operator=(const Reader&) = delete;
    const Snapshot& operator*() const noexcept { return *snapshot_; }
    const Snapshot* operator->() const noexcept { return snapshot_; }
    /// The calling thread's.
    ThreadSlot slot() const noexcept { return slot_; }

   private:
    const ThreadSlot slot_;
    std::atomic<uint64_t>& mark_;
    const Snapshot* snapshot_;
  };

  /// A snapshot to keep for longer.
  std::shared_ptr<const Snapshot> Keep() const noexcept {
    const Reader reader(*this);
    return reader->shared_from_this();
  }

  /// One writer at a time. Returns when no reader can still see the old one, which then ends unless others keep it.
  void Replace(std::shared_ptr<const Snapshot> next) noexcept {
    pointer_.store(next.get(), std::memory_order_seq_cst);
    const bool met = ThreadSlot::MeetAll();
    WaitForReaders();
    WaitForReaders();
    owner_.swap(next);
    // A reader's mark may have been missed: what it may be looking at stays for good.
    if (!met) static_cast<void>(new (std::nothrow) std::shared_ptr<const Snapshot>(std::move(next)));
  }

 private:
  struct alignas(128) Marks {
    mutable std::array<std::atomic<uint64_t>, 2> readers{};
  };

  void WaitForReaders() noexcept {
    const uint32_t old = phase_.fetch_add(1, std::memory_order_seq_cst) & 1;
    for (size_t i = 0; i < count_; ++i) {
      while (marks_[i].readers[old].load(std::memory_order_seq_cst) != 0) std::this_thread::yield();
    }
  }

  const size_t count_;
  std::shared_ptr<const Snapshot> owner_;
  alignas(128) std::atomic<const Snapshot*> pointer_{nullptr};
  std::atomic<uint32_t> phase_{0};
  std::array<Marks, ThreadSlot::kMax> marks_;
};

}  // namespace ratel
