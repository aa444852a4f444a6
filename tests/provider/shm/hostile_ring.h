// A peer that writes whatever it likes into both segments of a channel while our reader and writer work: no
// access outside the words and slots (all else is inaccessible here), no call that does not return, no record
// that changes after it was shown.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "src/provider/shm/ring.h"
#include "tests/support/dice.h"

namespace exs::shm::test {

using exs::test::Dice;

struct RingCounts {
  std::uint64_t rounds = 0;
  std::uint64_t records_read = 0;
  std::uint64_t records_written = 0;
  std::uint64_t readers_ended = 0;
  std::uint64_t writers_ended = 0;
};

// How to repeat this round, for the line of a failure.
inline std::string ring_round;  // NOLINT

inline void hold(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s: %s\n", ring_round.c_str(), what);
  std::abort();
}

// A segment as the peer sees it, whole, and as we do, where a touch of anything but words and slots ends the
// process.
class GuardedSegment {
 public:
  GuardedSegment() {
    UniqueFd descriptor;
    auto made = Mapping::create(kSegmentBytes, descriptor);
    hold(made.has_value(), "no segment");
    theirs_ = std::move(*made);
    constexpr std::size_t kReserved = kGuardBytes + kSegmentBytes + kGuardBytes;
    auto* reserved = static_cast<std::byte*>(
        ::mmap(nullptr, kReserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    hold(reserved != MAP_FAILED, "no address space");
    std::byte* const start = reserved + kGuardBytes;
    open(start, 0, kTransferWordsOffset, descriptor.get());
    open(start, kSlotsOffset, kStagingOffset - kSlotsOffset, descriptor.get());
    ours_ = {start, kSegmentBytes};
  }
  [[nodiscard]] std::span<std::byte> ours() const { return ours_; }
  [[nodiscard]] std::span<std::byte> theirs() const { return theirs_.bytes(); }
  void clear() { std::memset(theirs().data(), 0, kStagingOffset); }

 private:
  static constexpr std::size_t kGuardBytes = std::size_t{1} << 20U;
  static void open(std::byte* start, std::size_t offset, std::size_t bytes, int descriptor) {
    hold(::mmap(start + offset, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, descriptor,
                static_cast<off_t>(offset)) != MAP_FAILED,
         "not mapped");
  }

  Mapping theirs_;
  std::span<std::byte> ours_;
};

// The peer. It also writes and reads as it should, so that nonsense meets rings in every state.
class HostileRing {
 public:
  HostileRing(std::span<std::byte> to_us, std::span<std::byte> from_us, Dice& dice)
      : to_us_(to_us), from_us_(from_us), writer_(to_us), reader_(from_us), dice_(dice) {
    mildness_ = dice_.pick(std::array<std::uint64_t, 4>{2, 20, 200, 2000});
  }

  void step() {
    if (dice_.one_in(mildness_)) {
      dice_.one_in(2) ? spoil_words() : spoil_slots();
    } else if (dice_.one_in(2)) {
      write_well();
    } else {
      read_well();
    }
  }

 private:
  void write_well() {
    const std::size_t bytes = dice_.below(dice_.one_in(10) ? kRecordBytesMax + 1 : 400);
    scratch_.resize(std::max(bytes, scratch_.size()));
    if (writer_.write(RecordHeader{.link = 1, .kind = 2}, std::span(scratch_).first(bytes)))
      written_ = written_.after(bytes);
    (void)writer_.must_wake_reader();
    if (!writer_.status().ok()) writer_ = RingWriter(to_us_);  // its own words are spoilt, too
  }

  void read_well() {
    RecordHeader header;
    for (int i = 0; i < 20 && reader_.peek(header); ++i) {
      read_ = read_.after(header.length_bytes);
      (void)reader_.pop();
    }
    (void)(dice_.one_in(2) ? reader_.settle() : reader_.fall_asleep());
    if (!reader_.status().ok()) reader_ = RingReader(from_us_);
  }

  std::uint64_t nonsense(std::uint64_t near) {
    return dice_.pick(std::array<std::uint64_t, 12>{near, near + 1, near - 1, near + kSlots, near - kSlots,
                                                    near + kAnnexBytes, near - kAnnexBytes, 0, 1,
                                                    ~std::uint64_t{0}, std::uint64_t{1} << 63U, dice_()});
  }

  void spoil_words() {
    const auto segment = dice_.one_in(2) ? to_us_ : from_us_;
    switch (dice_.below(6)) {
      case 0: poke<std::uint64_t>(segment, kConsumedOffset, nonsense(read_.slots)); break;
      case 1: poke<std::uint64_t>(segment, kWantedOffset, nonsense(read_.slots)); break;
      case 2: poke<std::uint64_t>(segment, kAnnexConsumedOffset, nonsense(read_.annex_bytes)); break;
      case 3: poke<std::uint64_t>(segment, kAnnexWantedOffset, nonsense(read_.annex_bytes)); break;
      case 4: poke<std::uint32_t>(segment, kAsleepOffset, static_cast<std::uint32_t>(dice_())); break;
      default: poke<std::uint64_t>(segment, dice_.below(kTransferWordsOffset / 8) * 8, dice_()); break;
    }
  }

  void spoil_slots() {
    switch (dice_.below(6)) {
      case 0: spoil_lap(written_.slots + dice_.below(4)); break;
      case 1: spoil_lap(written_.slots - dice_.below(800)); break;
      case 2: spoil_length(written_.slots - dice_.below(800)); break;
      case 3: garbage(); break;
      case 4: whole_lap(); break;
      default: pile_of_records(); break;
    }
  }

  void spoil_lap(std::uint64_t number) {
    poke<std::uint32_t>(to_us_, offset_of(number), static_cast<std::uint32_t>(nonsense(number / kSlots + 1)));
  }

  void spoil_length(std::uint64_t number) {
    const auto length = dice_.pick(
        std::array<std::uint64_t, 8>{0, kSlotPayload, kSlotPayload + 1, kRecordBytesMax, kRecordBytesMax + 1,
                                     0xFFFF'FFFF, dice_.below(kRecordBytesMax), dice_()});
    poke<std::uint32_t>(to_us_, offset_of(number) + kLengthOffset, static_cast<std::uint32_t>(length));
  }

  // Records at once that nobody wrote, the first as long as can be, with right laps all the way.
  void pile_of_records() {
    for (std::uint64_t i = 0; i < 700; ++i) {
      poke<std::uint32_t>(to_us_, offset_of(written_.slots + i),
                          static_cast<std::uint32_t>((written_.slots + i) / kSlots + 1));
    }
    spoil_length(written_.slots);
  }

  // Every slot seems written, for a lap to come or one that was.
  void whole_lap() {
    const auto lap = static_cast<std::uint32_t>(written_.slots / kSlots + dice_.below(3));
    for (std::uint64_t i = 0; i < kSlots; ++i) {
      poke<std::uint32_t>(to_us_, offset_of(i), lap);
      if (dice_.one_in(8)) spoil_length(i);
    }
  }

  void garbage() {
    const std::size_t start = kSlotsOffset + dice_.below(kSlots * kSlotBytes / 8) * 8;
    const std::size_t end = std::min<std::size_t>(start + 8 * (1 + dice_.below(5'000)), kStagingOffset);
    for (std::size_t at = start; at < end; at += 8) poke<std::uint64_t>(to_us_, at, dice_());
  }

  static std::size_t offset_of(std::uint64_t number) { return kSlotsOffset + number % kSlots * kSlotBytes; }
  template <typename Integer>
  static void poke(std::span<std::byte> segment, std::size_t offset, Integer value) {
    shared_word<Integer>(segment.data() + offset).store(value, std::memory_order_relaxed);
  }

  std::span<std::byte> to_us_;
  std::span<std::byte> from_us_;
  RingWriter writer_;
  RingReader reader_;
  Dice& dice_;
  std::uint64_t mildness_;
  RingAccount written_;
  RingAccount read_;
  std::vector<std::byte> scratch_;
};

// Our end of the channel.
class RingVictim {
 public:
  RingVictim(std::span<std::byte> in, std::span<std::byte> out, Dice& dice, RingCounts& counts)
      : reader_(in), writer_(out), dice_(dice), counts_(counts) {}

  // False: both have ended.
  bool step() {
    dice_.one_in(2) ? read() : write();
    return reader_.status().ok() || writer_.status().ok();
  }
  ~RingVictim() {
    counts_.readers_ended += reader_.status().error() == EPROTO ? 1 : 0;
    counts_.writers_ended += writer_.status().error() == EPROTO ? 1 : 0;
  }
  RingVictim(const RingVictim&) = delete;
  RingVictim& operator=(const RingVictim&) = delete;

 private:
  void read() {
    RecordHeader header;
    if (!reader_.peek(header)) {
      (void)reader_.settle();
      if (dice_.one_in(2)) return;
      (void)reader_.fall_asleep();
      (void)reader_.peek(header);
      reader_.wake_up();
      return;
    }
    hold(header.length_bytes <= kRecordBytesMax, "a record too long");
    copy(0, header.length_bytes);
    const std::size_t from = dice_.below(header.length_bytes + 1);
    copy(from, dice_.below(header.length_bytes - from + 1));
    RecordHeader again;
    hold(reader_.peek(again), "a record that went away");
    hold(std::memcmp(&again, &header, sizeof header) == 0, "a record that changed");
    (void)reader_.pop();
    ++counts_.records_read;
  }

  // Into memory of its own, so that the address sanitizer sees a byte too many.
  void copy(std::size_t offset, std::size_t bytes) {
    std::vector<std::byte> into(bytes);
    reader_.copy(offset, into);
  }

  void write() {
    const std::size_t bytes = dice_.below(dice_.one_in(10) ? kRecordBytesMax + 1 : 400);
    const std::vector<std::byte> message(bytes);
    const std::size_t cut = dice_.below(bytes + 1);
    const std::span<const std::byte> all(message);
    if (writer_.write(RecordHeader{.link = 7, .kind = 8}, all.first(cut), all.subspan(cut))) {
      ++counts_.records_written;
    } else {
      (void)writer_.ask_for_room();
    }
    if (dice_.one_in(4)) (void)writer_.must_wake_reader();
    (void)writer_.reader_is_asleep();
  }

  RingReader reader_;
  RingWriter writer_;
  Dice& dice_;
  RingCounts& counts_;
};

}  // namespace exs::shm::test
