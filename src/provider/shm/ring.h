// One direction's message ring in shared memory: written by one process, read by one other.
//
// Cost of a small message: the writer fills one slot, two cache lines, and stores its lap; the reader polls
// that very word. A longer one is one more copy at each end, in one piece. What is counted on either side stays
// private. The reader stores `consumed` when it has nothing else to do, or is done with a quarter of the ring; the
// writer loads it when it has no room by what it knew last. No system calls.
//
// Lines travel ahead of the bytes where that is possible: both ends ask for the next slot's lines while they handle this one,
// and the reader for the second line of a slot together with the first.
//
// Sleeping, and waiting for room. Each is a word that one side sets and the other loads after it has
// published what the first would look for. The reader stores asleep = 1, then loads the lap; the writer
// stores the lap, then loads asleep. All these accesses of one word are read-modify-writes, so one of the two
// comes first and the other sees all that was before it: no wake-up is lost. While the reader polls, settle()
// uses plain loads, because it will look again.
//
// A locked instruction for each message is much where messages cost so little. So a reader that has not slept for long says that it
// polls. From then on the writer loads asleep plainly, and the reader has a barrier executed in the writer's process before it looks a
// last time and sleeps. That takes it some microseconds once: from then on it is one that sleeps, until it has polled for long again.
//
// Hostile peers. Every word is loaded once, checked, then used; an index is taken modulo the ring, so no
// value leads outside the segment, and what is where in the annex each end knows by itself. The bytes of a record may change
// while they are copied: what copy() gives is private.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/guarded_copy.h"
#include "base/status.h"
#include "src/provider/provider.h"
#include "src/provider/shm/layout.h"
#include "src/provider/shm/mapping.h"
#include "src/provider/shm/ring_account.h"

namespace exs::shm {

// The part of a record that the two ports use. records.h has its meaning for links.
struct RecordHeader {
  std::uint32_t link = 0;  // the reader's link number; 0: to the channel
  std::uint16_t kind = 0;  // a RecordKind (records.h)
  std::uint16_t flags = 0;
  std::uint32_t length_bytes = 0;
};

constexpr std::uint32_t lap_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number / kSlots) + 1;
}

inline std::byte* slot_at(std::byte* segment, std::uint64_t number) {
  return segment + kSlotsOffset + (number & (kSlots - 1)) * kSlotBytes;
}

// A store to a line that the reader had last waits for the line, and the next locked instruction for the store. So the lines of
// a slot are asked for some messages ahead.
inline constexpr std::uint64_t kSlotsAhead = 3;

inline void own_soon(const std::byte* slot) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0\n\tprefetchw %1" : : "m"(slot[0]), "m"(slot[kCacheLineBytes]));
#else
  __builtin_prefetch(slot, 1);
  __builtin_prefetch(slot + kCacheLineBytes, 1);
#endif
}

// Writes `first`, and the program's `second`, which need not be there, into a slot that has room for them. The reader looks at the first
// line all the time, and would take it back while the writer waits for another. So the other comes first, and then all of the first line
// at a stroke. False: `second` is not there.
inline bool fill_slot(std::byte* slot, std::span<const std::byte> first, std::span<const std::byte> second) {
  constexpr std::size_t kOnFirstLine = kCacheLineBytes - kPayloadOffset;
  std::byte* const payload = slot + kPayloadOffset;
  const std::size_t split = std::min(second.size(), kOnFirstLine - std::min(kOnFirstLine, first.size()));
  const std::span<const std::byte> rest = second.subspan(split);
  if (!rest.empty() && !guarded_copy(payload + first.size() + split, rest.data(), rest.size())) return false;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (split > 0 && !guarded_copy(payload + first.size(), second.data(), split)) return false;
  if (!first.empty()) std::memcpy(payload, first.data(), first.size());
  return true;
}

// Thread: shard of the writing port.
class RingWriter {
 public:
  RingWriter() = default;
  // Ours, made anew: whole and zero.
  explicit RingWriter(std::span<std::byte> segment);

  // Appends `first` and `second`, together at most kRecordBytesMax, as one record; the reader sees all of it
  // or nothing. header.length_bytes is not looked at. `second` may be the program's. False: no room now, source_is_gone(), or
  // status() is not ok.
  bool write(const RecordHeader& header, std::span<const std::byte> first,
             std::span<const std::byte> second = {}) {
    const std::size_t length_bytes = first.size() + second.size();
    const bool is_free = written_.slots - consumed_.slots < kSlots && status_.ok();
    return length_bytes <= kSlotPayload && is_free ? write_slot(header, first, second, length_bytes)
                                                   : write_at_length(header, first, second);
  }
  // The last write found that `second` is not there.
  [[nodiscard]] bool source_is_gone() const noexcept { return source_is_gone_; }
  // After a write without room: asks the reader to ring when that record fits and a quarter of the slots and
  // of the annex is free. False: it fits already, so write again; the reader will not ring.
  [[nodiscard]] bool ask_for_room();
  // After writing, before turning to something else: whether the reader sleeps and must be rung. True once a
  // sleep.
  [[nodiscard]] bool must_wake_reader() {
    if (segment_ == nullptr) return false;
    const auto asleep = shared_word<std::uint32_t>(segment_ + kAsleepOffset);
    if (shared_word<std::uint32_t>(segment_ + kPollsOffset).load(std::memory_order_relaxed) == 1) {
      std::atomic_signal_fence(std::memory_order_seq_cst);
      if (asleep.load(std::memory_order_relaxed) == 0) return false;
    }
    return asleep.exchange(0, std::memory_order_acq_rel) != 0;
  }
  // The reader has said that it sleeps, as far as can be seen without a look of its own at what was written.
  [[nodiscard]] bool reader_is_asleep() const;
  // EPROTO: the reader's words are nonsense. Nothing is written any more.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  [[nodiscard]] bool has_room_up_to(const RingAccount& end) const noexcept {
    return end.slots - consumed_.slots <= kSlots && end.annex_bytes - consumed_.annex_bytes <= kAnnexBytes;
  }
  void look_at_consumed();
  // Writes a record that has an annex, or for which the slots that are known to be free do not suffice.
  bool write_at_length(const RecordHeader& header, std::span<const std::byte> first,
                       std::span<const std::byte> second);
  // Writes the next slot, which is free: what of the record lies in it.
  bool write_slot(const RecordHeader& header, std::span<const std::byte> first,
                  std::span<const std::byte> second, std::size_t length_bytes) {
    std::byte* const head = slot_at(segment_, written_.slots);
    source_is_gone_ = !fill_slot(head, first, second);
    if (source_is_gone_) return false;  // no reader looks at this place before the lap is there
    shared_word<std::uint16_t>(head + kKindOffset).store(header.kind, std::memory_order_relaxed);
    shared_word<std::uint16_t>(head + kFlagsOffset).store(header.flags, std::memory_order_relaxed);
    shared_word<std::uint32_t>(head + kLinkOffset).store(header.link, std::memory_order_relaxed);
    shared_word<std::uint32_t>(head + kLengthOffset)
        .store(static_cast<std::uint32_t>(length_bytes), std::memory_order_relaxed);
    shared_word<std::uint32_t>(head + kLapOffset).store(lap_of(written_.slots), std::memory_order_release);
    ++written_.slots;
    own_soon(slot_at(segment_, written_.slots + kSlotsAhead));
    return true;
  }

  std::byte* segment_ = nullptr;
  RingAccount written_;
  RingAccount consumed_;            // as last seen
  std::uint64_t needed_annex_ = 0;  // what of the annex the last write did not find
  bool source_is_gone_ = false;
  Status status_ = Status(EINVAL);
};

// Thread: shard of the reading port.
class RingReader {
 public:
  RingReader() = default;
  // The peer's.
  explicit RingReader(std::span<std::byte> segment);

  // The oldest record, the same until pop(). False: none yet, or status() is not ok.
  bool peek(RecordHeader& header) {
    if (segment_ == nullptr) return false;
    if (!is_shown_) {
      fetch_rest_of(read_.slots);
      if (!head_has_come() || !take_header()) return false;
    }
    header = header_;
    return true;
  }
  // peek() would show one, or fail.
  [[nodiscard]] bool has_next() const noexcept {
    return segment_ != nullptr && (is_shown_ || head_has_come());
  }
  // The record that peek() showed, where it lies.
  [[nodiscard]] ArrivingMessage message() const noexcept {
    const std::byte* const here = slot(read_.slots) + kPayloadOffset;
    const std::size_t length_bytes = header_.length_bytes;
    if (length_bytes <= kSlotPayload) return ArrivingMessage({here, length_bytes});
    return ArrivingMessage({here, kSlotPayload}, {annex_of_shown(), length_bytes - kSlotPayload});
  }
  // Copies `into.size()` bytes of the record that peek() showed, from `offset`: together at most its
  // length_bytes. False: `into`, which may be the program's, is not there.
  bool copy(std::size_t offset, std::span<std::byte> into) const;
  // Done with the record that peek() showed. True: the writer waits for room, there is some, and it must be
  // rung.
  [[nodiscard]] bool pop() {
    read_ = read_.after(header_.length_bytes);
    is_shown_ = false;
    lap_ = lap_of(read_.slots);
    if (--until_polls_ == 0) say_that_it_polls();
    const bool is_much = read_.slots - published_.slots >= kSlots / 4 ||
                         read_.annex_bytes - published_.annex_bytes >= kAnnexBytes / 4;
    return is_much && settle();
  }
  // Call it when peek() finds nothing: tells the writer what has been handled. True: as pop().
  [[nodiscard]] bool settle();
  // Like settle(), before the reader sleeps: from its return on the writer rings for each write. Call peek()
  // once more afterwards.
  [[nodiscard]] bool fall_asleep();
  // The reader looks again: the writer need not ring.
  void wake_up();
  // EPROTO: the writer wrote nonsense. Nothing is read any more.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  // Records since the last sleep after which the reader polls: what a barrier costs is little to that.
  static constexpr std::uint32_t kAwakeRecords = 1024;

  [[nodiscard]] std::byte* slot(std::uint64_t number) const noexcept {
    return segment_ + kSlotsOffset + (number & (kSlots - 1)) * kSlotBytes;
  }
  [[nodiscard]] bool head_has_come() const noexcept {
    return shared_word<std::uint32_t>(slot(read_.slots) + kLapOffset).load(std::memory_order_acquire) == lap_;
  }
  // The second line of a slot comes at the same time as the first, and not after it.
  void fetch_rest_of(std::uint64_t number) const noexcept {
    __builtin_prefetch(slot(number) + kCacheLineBytes);
  }
  [[nodiscard]] const std::byte* annex_of_shown() const noexcept {
    return segment_ + kAnnexOffset + (read_.annex_start(header_.length_bytes) & (kAnnexBytes - 1));
  }
  bool take_header() {
    std::byte* const head = slot(read_.slots);
    RecordHeader header;
    header.kind = shared_word<std::uint16_t>(head + kKindOffset).load(std::memory_order_relaxed);
    header.flags = shared_word<std::uint16_t>(head + kFlagsOffset).load(std::memory_order_relaxed);
    header.link = shared_word<std::uint32_t>(head + kLinkOffset).load(std::memory_order_relaxed);
    header.length_bytes = shared_word<std::uint32_t>(head + kLengthOffset).load(std::memory_order_relaxed);
    if (header.length_bytes > kRecordBytesMax) return fail();
    header_ = header;
    is_shown_ = true;
    // The next record arrives here while this one is handled.
    __builtin_prefetch(slot(read_.slots + 1));
    fetch_rest_of(read_.slots + 1);
    return true;
  }
  bool fail();
  void publish();
  void say_that_it_polls();
  // `slots`: what the writer's word said, loaded before.
  bool writer_wants(std::uint64_t slots);

  std::byte* segment_ = nullptr;  // null: nothing is read
  RingAccount read_;              // done with
  RingAccount published_;         // of these the writer knows
  RingAccount answered_;          // the wish for room that was answered last
  std::uint32_t lap_ = 1;         // of the next slot
  bool is_shown_ = false;         // peek() has shown the next record
  bool asleep_ = false;           // the writer has been notified
  bool polls_ = false;            // likewise
  bool fenced_ = false;           // our barriers are executed in the writer's process
  std::uint32_t until_polls_ = kAwakeRecords;
  RecordHeader header_;
  Status status_ = Status(EINVAL);
};

}  // namespace exs::shm
