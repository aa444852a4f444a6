// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/ring.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/guarded_copy.h"
#include "base/process_barrier.h"

namespace exs::shm {
namespace {

std::byte* annex_at(std::byte* segment, std::uint64_t position) {
  return segment + kAnnexOffset + (position & (kAnnexBytes - 1));
}

void copy(std::byte* to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

// The program's memory, which need not be there.
bool copy_program(std::byte* to, std::span<const std::byte> bytes) {
  return bytes.empty() || guarded_copy(to, bytes.data(), bytes.size());
}

}  // namespace

RingWriter::RingWriter(std::span<std::byte> segment) {
  if (segment.size() < kSegmentBytes) return;
  segment_ = segment.data();
  status_ = Status();
  if (HostBarrier::is_prepared())
    shared_word<std::uint32_t>(segment_ + kFencedOffset).store(1, std::memory_order_relaxed);
}

bool RingWriter::write_at_length(const RecordHeader& header, std::span<const std::byte> first,
                                 std::span<const std::byte> second) {
  source_is_gone_ = false;
  if (!status_.ok()) return false;
  const std::size_t length_bytes = first.size() + second.size();
  const RingAccount end = written_.after(length_bytes);
  if (!has_room_up_to(end)) {
    look_at_consumed();
    needed_annex_ = end.annex_bytes - written_.annex_bytes;
    if (!has_room_up_to(end)) return false;
  }
  const auto first_here = first.first(std::min(first.size(), kSlotPayload));
  const auto second_here = second.first(std::min(second.size(), kSlotPayload - first_here.size()));
  if (length_bytes > kSlotPayload) {
    std::byte* const annex = annex_at(segment_, written_.annex_start(length_bytes));
    const auto first_there = first.subspan(first_here.size());
    copy(annex, first_there);
    source_is_gone_ = !copy_program(annex + first_there.size(), second.subspan(second_here.size()));
    if (source_is_gone_) return false;
  }
  if (!write_slot(header, first_here, second_here, length_bytes)) return false;
  written_ = end;
  return true;
}

// Neither back nor beyond what was written: both show as a distance that is too long. What of the annex was freed before the
// slots is seen with them.
void RingWriter::look_at_consumed() {
  const auto slots = shared_word<std::uint64_t>(segment_ + kConsumedOffset).load(std::memory_order_acquire);
  const auto annex =
      shared_word<std::uint64_t>(segment_ + kAnnexConsumedOffset).load(std::memory_order_acquire);
  if (slots - consumed_.slots > written_.slots - consumed_.slots ||
      annex - consumed_.annex_bytes > written_.annex_bytes - consumed_.annex_bytes) {
    status_ = Status(EPROTO);
    return;
  }
  consumed_ = {slots, annex};
}

bool RingWriter::ask_for_room() {
  if (!status_.ok()) return true;
  // The first lap has room for all of its own.
  const auto wish = [](std::uint64_t written, std::uint64_t wanted, std::uint64_t all) {
    return written + wanted > all ? written + wanted - all : 0;
  };
  const std::uint64_t slots = wish(written_.slots, kSlots / 4, kSlots);
  const std::uint64_t annex =
      wish(written_.annex_bytes, std::max<std::uint64_t>(needed_annex_, kAnnexBytes / 4), kAnnexBytes);
  shared_word<std::uint64_t>(segment_ + kAnnexWantedOffset).store(annex, std::memory_order_relaxed);
  shared_word<std::uint64_t>(segment_ + kWantedOffset).exchange(slots, std::memory_order_acq_rel);
  look_at_consumed();
  return !status_.ok() || consumed_.slots < slots || consumed_.annex_bytes < annex;
}

bool RingWriter::reader_is_asleep() const {
  if (segment_ == nullptr) return false;
  return shared_word<std::uint32_t>(segment_ + kAsleepOffset).load(std::memory_order_relaxed) != 0;
}

RingReader::RingReader(std::span<std::byte> segment) {
  if (segment.size() < kSegmentBytes) return;
  segment_ = segment.data();
  status_ = Status();
  fenced_ = HostBarrier::is_prepared() &&
            shared_word<std::uint32_t>(segment_ + kFencedOffset).load(std::memory_order_relaxed) == 1;
}

void RingReader::say_that_it_polls() {
  if (!fenced_ || polls_ || asleep_ || segment_ == nullptr) return;
  polls_ = true;
  shared_word<std::uint32_t>(segment_ + kPollsOffset).store(1, std::memory_order_relaxed);
}

bool RingReader::fail() {
  segment_ = nullptr;
  is_shown_ = false;
  status_ = Status(EPROTO);
  return false;
}

bool RingReader::copy(std::size_t offset, std::span<std::byte> into) const {
  if (segment_ == nullptr || into.empty()) return true;
  const std::size_t here = offset < kSlotPayload ? std::min(kSlotPayload - offset, into.size()) : 0;
  if (here > 0 && !guarded_copy(into.data(), slot(read_.slots) + kPayloadOffset + offset, here)) return false;
  if (here == into.size()) return true;
  return guarded_copy(into.data() + here, annex_of_shown() + (offset + here - kSlotPayload),
                      into.size() - here);
}

void RingReader::publish() {
  if (published_.slots == read_.slots) return;
  published_ = read_;
  shared_word<std::uint64_t>(segment_ + kAnnexConsumedOffset)
      .store(read_.annex_bytes, std::memory_order_release);
  shared_word<std::uint64_t>(segment_ + kConsumedOffset).store(read_.slots, std::memory_order_release);
}

// A wish only grows. One that is not beyond the last answered wish is not new.
bool RingReader::writer_wants(std::uint64_t slots) {
  const auto annex =
      shared_word<std::uint64_t>(segment_ + kAnnexWantedOffset).load(std::memory_order_relaxed);
  if (slots <= answered_.slots && annex <= answered_.annex_bytes) return false;
  if (slots > published_.slots || annex > published_.annex_bytes) return false;
  answered_ = {std::max(slots, answered_.slots), std::max(annex, answered_.annex_bytes)};
  return true;
}

bool RingReader::settle() {
  if (segment_ == nullptr) return false;
  publish();
  return writer_wants(shared_word<std::uint64_t>(segment_ + kWantedOffset).load(std::memory_order_relaxed));
}

bool RingReader::fall_asleep() {
  if (segment_ == nullptr) return false;
  publish();
  asleep_ = true;
  until_polls_ = kAwakeRecords;
  shared_word<std::uint32_t>(segment_ + kAsleepOffset).exchange(1, std::memory_order_acq_rel);
  if (std::exchange(polls_, false)) {
    shared_word<std::uint32_t>(segment_ + kPollsOffset).store(0, std::memory_order_relaxed);
    HostBarrier::execute();
  }
  return writer_wants(
      shared_word<std::uint64_t>(segment_ + kWantedOffset).fetch_add(0, std::memory_order_acq_rel));
}

void RingReader::wake_up() {
  if (segment_ == nullptr || !asleep_) return;
  asleep_ = false;
  shared_word<std::uint32_t>(segment_ + kAsleepOffset).exchange(0, std::memory_order_acq_rel);
}

}  // namespace exs::shm
