// One direction's message ring in shared memory: written by one process, read by one other.
//
// Cost of a small message: the writer fills one slot, two cache lines, and stores its lap; the reader polls
// that very word. What is counted on either side stays private. The reader stores `consumed` when it has
// nothing else to do, or is done with a quarter of the ring; the writer loads it when it has no room by what
// it knew last. No system calls.
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
// Hostile peers. Every word is loaded once, checked, then used; an index is taken modulo the ring, so no
// value leads outside the segment. The bytes of a record may change while they are copied: what copy() gives
// is private.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "src/base/status.h"
#include "src/provider/shm/layout.h"
#include "src/provider/shm/mapping.h"

namespace exs::shm {

// What a record is to the two ports; records.h says what it means to links.
struct RecordHeader {
  std::uint32_t link = 0;  // the reader's link number; 0: to the channel
  std::uint16_t kind = 0;  // a RecordKind (records.h)
  std::uint16_t flags = 0;
  std::uint32_t length_bytes = 0;
};

// More than the protocol's longest message.
inline constexpr std::size_t kRecordBytesMax = std::size_t{72} * 1024;

// Slots that a record takes.
constexpr std::uint32_t slots_of(std::size_t length_bytes) {
  if (length_bytes <= kFirstPayload) return 1;
  return 1 + static_cast<std::uint32_t>((length_bytes - kFirstPayload + kNextPayload - 1) / kNextPayload);
}
static_assert(slots_of(kRecordBytesMax) <= kSlots / 2);

// Thread: shard of the writing port.
class RingWriter {
 public:
  RingWriter() = default;
  // Ours, made anew: whole and zero.
  explicit RingWriter(std::span<std::byte> segment);

  // Appends `first` and `second`, together at most kRecordBytesMax, as one record; the reader sees all of it
  // or nothing. header.length_bytes is not looked at. False: no room now, or status() is not ok.
  bool write(const RecordHeader& header, std::span<const std::byte> first,
             std::span<const std::byte> second = {});
  // After a write that found no room: the reader is asked to ring when that record fits and a quarter of the
  // ring is free. False: it does already, write again; nobody will ring.
  [[nodiscard]] bool ask_for_room();
  // After writing, before turning to something else: whether the reader sleeps and must be rung. True once a
  // sleep.
  [[nodiscard]] bool must_wake_reader();
  // The reader has said that it sleeps, as far as can be seen without a look of its own at what was written.
  [[nodiscard]] bool reader_is_asleep() const;
  // EPROTO: the reader's words are nonsense. Nothing is written any more.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  [[nodiscard]] std::uint64_t free_slots() const noexcept { return kSlots - (written_ - consumed_); }
  void look_at_consumed();

  std::byte* segment_ = nullptr;
  std::uint64_t written_ = 0;   // slots
  std::uint64_t consumed_ = 0;  // as last seen
  std::uint32_t needed_ = 1;    // slots that the last write did not find
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
    if (record_slots_ == 0) {
      fetch_rest_of(read_);
      if (!head_has_come() || !take_header()) return false;
    }
    header = header_;
    return true;
  }
  // Copies `into.size()` bytes of the record that peek() showed, from `offset`: together at most its
  // length_bytes.
  void copy(std::size_t offset, std::span<std::byte> into) const;
  // Done with the record that peek() showed. True: the writer waits for room, there is some, and it must be
  // rung.
  [[nodiscard]] bool pop();
  // Whenever peek() finds nothing: tells the writer what was done with. True: as pop().
  [[nodiscard]] bool settle();
  // As settle(), before the reader sleeps: from its return the writer rings who writes. peek() must be called
  // once more.
  [[nodiscard]] bool fall_asleep();
  // The reader looks again: the writer need not ring.
  void wake_up();
  // EPROTO: the writer wrote nonsense. Nothing is read any more.
  [[nodiscard]] Status status() const noexcept { return status_; }

 private:
  [[nodiscard]] std::byte* slot(std::uint64_t number) const noexcept {
    return segment_ + kSlotsOffset + (number & (kSlots - 1)) * kSlotBytes;
  }
  [[nodiscard]] bool head_has_come() const noexcept {
    return shared_word<std::uint32_t>(slot(read_) + kLapOffset).load(std::memory_order_acquire) == lap_;
  }
  // The second line of a slot comes at the same time as the first, and not after it.
  void fetch_rest_of(std::uint64_t number) const noexcept {
    __builtin_prefetch(slot(number) + kCacheLineBytes);
  }
  bool take_header();
  bool fail();
  void publish();
  bool writer_wants(std::uint64_t wanted);

  std::byte* segment_ = nullptr;    // null: nothing is read
  std::uint64_t read_ = 0;          // slots done with
  std::uint64_t published_ = 0;     // of these the writer knows
  std::uint64_t answered_ = 0;      // the wish for room that was answered last
  std::uint32_t lap_ = 1;           // of slot read_
  std::uint32_t record_slots_ = 0;  // of the record that peek() showed; 0: none
  bool asleep_ = false;             // the writer has been told so
  RecordHeader header_;
  Status status_ = Status(EINVAL);
};

}  // namespace exs::shm
