#include "src/provider/shm/ring.h"

#include <algorithm>
#include <cstring>

namespace exs::shm {
namespace {

constexpr std::uint32_t lap_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number / kSlots) + 1;
}

std::byte* slot_at(std::byte* segment, std::uint64_t number) {
  return segment + kSlotsOffset + (number & (kSlots - 1)) * kSlotBytes;
}

// The compiler makes plain vector moves of a whole slot's payload.
void copy_within_slot(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == kNextPayload) {
    std::memcpy(to, from, kNextPayload);
  } else {
    std::memcpy(to, from, bytes);
  }
}

// A store to a line that the reader had last waits for the line, and the next locked instruction for the store. So the lines of
// a slot are asked for some messages ahead.
constexpr std::uint64_t kSlotsAhead = 3;

void own_soon(const std::byte* slot) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0\n\tprefetchw 64+%0" : : "m"(*slot));
#else
  __builtin_prefetch(slot, 1);
  __builtin_prefetch(slot + kCacheLineBytes, 1);
#endif
}

void copy(std::byte* to, std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
}

// The payload of a record, slot by slot.
class Payload {
 public:
  Payload(std::byte* segment, std::uint64_t first_slot) : segment_(segment), slot_(first_slot) {
    at_ = slot_at(segment, first_slot) + kFirstPayloadOffset;
    left_ = kFirstPayload;
  }

  // From the second slot on.
  static Payload behind_first_slot(std::byte* segment, std::uint64_t first_slot) {
    Payload payload(segment, first_slot);
    payload.left_ = 0;
    return payload;
  }

  void skip(std::size_t bytes) {
    if (bytes >= kFirstPayload) {
      bytes -= kFirstPayload;
      slot_ += bytes / kNextPayload;
      bytes %= kNextPayload;
      next_slot();
    }
    at_ += bytes;
    left_ -= bytes;
  }

  void put(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      if (left_ == 0) {
        next_slot();
        shared_word<std::uint32_t>(slot_at(segment_, slot_) + kLapOffset)
            .store(lap_of(slot_), std::memory_order_relaxed);
      }
      const std::size_t here = std::min(left_, bytes.size());
      copy_within_slot(at_, bytes.data(), here);
      advance(here);
      bytes = bytes.subspan(here);
    }
  }

  void get(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      if (left_ == 0) next_slot();
      const std::size_t here = std::min(left_, bytes.size());
      copy_within_slot(bytes.data(), at_, here);
      advance(here);
      bytes = bytes.subspan(here);
    }
  }

 private:
  void next_slot() {
    ++slot_;
    at_ = slot_at(segment_, slot_) + kNextPayloadOffset;
    left_ = kNextPayload;
  }
  void advance(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }

  std::byte* segment_;
  std::uint64_t slot_;
  std::byte* at_;
  std::size_t left_;
};

// The reader looks at the first line all the time, and would take it back while the writer waits for another. So the others come
// first, and then all of the first line at a stroke.
void fill_first_slot(std::byte* slot, std::span<const std::byte> first, std::span<const std::byte> second) {
  constexpr std::size_t kOnFirstLine = kCacheLineBytes - kFirstPayloadOffset;
  std::byte* const payload = slot + kFirstPayloadOffset;
  const std::size_t split = std::min(second.size(), kOnFirstLine - std::min(kOnFirstLine, first.size()));
  copy(payload + first.size() + split, second.subspan(split));
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copy(payload + first.size(), second.first(split));
  copy(payload, first);
}

}  // namespace

RingWriter::RingWriter(std::span<std::byte> segment) {
  if (segment.size() < kSegmentBytes) return;
  segment_ = segment.data();
  status_ = Status();
}

bool RingWriter::write(const RecordHeader& header, std::span<const std::byte> first,
                       std::span<const std::byte> second) {
  if (!status_.ok()) return false;
  const std::size_t length_bytes = first.size() + second.size();
  const std::uint32_t slots = slots_of(length_bytes);
  if (slots > free_slots()) {
    needed_ = slots;
    look_at_consumed();
    if (slots > free_slots()) return false;
  }
  std::byte* const head = slot_at(segment_, written_);
  const auto first_here = first.first(std::min(first.size(), kFirstPayload));
  const auto second_here = second.first(std::min(second.size(), kFirstPayload - first_here.size()));
  if (slots > 1) {
    Payload rest = Payload::behind_first_slot(segment_, written_);
    rest.put(first.subspan(first_here.size()));
    rest.put(second.subspan(second_here.size()));
  }
  fill_first_slot(head, first_here, second_here);
  shared_word<std::uint16_t>(head + kKindOffset).store(header.kind, std::memory_order_relaxed);
  shared_word<std::uint16_t>(head + kFlagsOffset).store(header.flags, std::memory_order_relaxed);
  shared_word<std::uint32_t>(head + kLinkOffset).store(header.link, std::memory_order_relaxed);
  shared_word<std::uint32_t>(head + kLengthOffset)
      .store(static_cast<std::uint32_t>(length_bytes), std::memory_order_relaxed);
  shared_word<std::uint32_t>(head + kLapOffset).store(lap_of(written_), std::memory_order_release);
  written_ += slots;
  own_soon(slot_at(segment_, written_ + kSlotsAhead));
  return true;
}

// Neither back nor beyond what was written: both show as a distance that is too long.
void RingWriter::look_at_consumed() {
  const auto consumed =
      shared_word<std::uint64_t>(segment_ + kConsumedOffset).load(std::memory_order_acquire);
  if (consumed - consumed_ > written_ - consumed_) {
    status_ = Status(EPROTO);
    consumed_ = written_ - kSlots;  // no room
    return;
  }
  consumed_ = consumed;
}

bool RingWriter::ask_for_room() {
  if (!status_.ok()) return true;
  const std::uint64_t wanted = written_ + std::max(needed_, kSlots / 4) - kSlots;
  shared_word<std::uint64_t>(segment_ + kWantedOffset).exchange(wanted, std::memory_order_acq_rel);
  look_at_consumed();
  return !status_.ok() || consumed_ < wanted;
}

bool RingWriter::must_wake_reader() {
  if (segment_ == nullptr) return false;
  return shared_word<std::uint32_t>(segment_ + kAsleepOffset).exchange(0, std::memory_order_acq_rel) != 0;
}

bool RingWriter::reader_is_asleep() const {
  if (segment_ == nullptr) return false;
  return shared_word<std::uint32_t>(segment_ + kAsleepOffset).load(std::memory_order_relaxed) != 0;
}

RingReader::RingReader(std::span<std::byte> segment) {
  if (segment.size() < kSegmentBytes) return;
  segment_ = segment.data();
  status_ = Status();
}

bool RingReader::fail() {
  segment_ = nullptr;
  record_slots_ = 0;
  status_ = Status(EPROTO);
  return false;
}

// The laps of the following slots are looked at here and not while copying: on the way their lines are
// fetched, all at the same time.
bool RingReader::take_header() {
  std::byte* const head = slot(read_);
  RecordHeader header;
  header.kind = shared_word<std::uint16_t>(head + kKindOffset).load(std::memory_order_relaxed);
  header.flags = shared_word<std::uint16_t>(head + kFlagsOffset).load(std::memory_order_relaxed);
  header.link = shared_word<std::uint32_t>(head + kLinkOffset).load(std::memory_order_relaxed);
  header.length_bytes = shared_word<std::uint32_t>(head + kLengthOffset).load(std::memory_order_relaxed);
  if (header.length_bytes > kRecordBytesMax) return fail();
  const std::uint32_t slots = slots_of(header.length_bytes);
  for (std::uint32_t i = 1; i < slots; ++i) {
    const auto lap = shared_word<std::uint32_t>(slot(read_ + i) + kLapOffset).load(std::memory_order_relaxed);
    if (lap != lap_of(read_ + i)) return fail();
  }
  header_ = header;
  record_slots_ = slots;
  // What has come behind it arrives here while this record is handled.
  __builtin_prefetch(slot(read_ + slots));
  fetch_rest_of(read_ + slots);
  return true;
}

void RingReader::copy(std::size_t offset, std::span<std::byte> into) const {
  if (segment_ == nullptr) return;
  Payload payload(segment_, read_);
  payload.skip(offset);
  payload.get(into);
}

bool RingReader::pop() {
  read_ += record_slots_;
  record_slots_ = 0;
  lap_ = lap_of(read_);
  if (read_ - published_ < kSlots / 4) return false;
  return settle();
}

void RingReader::publish() {
  if (published_ == read_) return;
  published_ = read_;
  shared_word<std::uint64_t>(segment_ + kConsumedOffset).store(read_, std::memory_order_release);
}

bool RingReader::writer_wants(std::uint64_t wanted) {
  if (wanted <= answered_ || wanted > published_) return false;
  answered_ = wanted;
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
  shared_word<std::uint32_t>(segment_ + kAsleepOffset).exchange(1, std::memory_order_acq_rel);
  return writer_wants(
      shared_word<std::uint64_t>(segment_ + kWantedOffset).fetch_add(0, std::memory_order_acq_rel));
}

void RingReader::wake_up() {
  if (segment_ == nullptr || !asleep_) return;
  asleep_ = false;
  shared_word<std::uint32_t>(segment_ + kAsleepOffset).exchange(0, std::memory_order_acq_rel);
}

}  // namespace exs::shm
