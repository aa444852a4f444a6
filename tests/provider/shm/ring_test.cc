// The ring of messages in shared memory: order, room, sleep, and what a peer may write into it.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/ring.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/provider/shm/ring_pair.h"
#include "tests/support/child_process.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::test;

namespace ring_test {

// Reads what is there and checks that it is messages `next` and on.
std::uint64_t read_all(RingReader& reader, std::uint64_t next) {
  RecordHeader header;
  while (reader.peek(header)) {
    BOOST_REQUIRE(is_numbered(reader, header, next));
    (void)reader.pop();
    ++next;
  }
  return next;
}

bool write_empty(RingWriter& writer) {
  return writer.write(RecordHeader{}, {});
}

// Fills the ring with records of one slot each.
void fill(RingPair& ring) {
  for (std::uint32_t i = 0; i < kSlots; ++i) BOOST_REQUIRE(write_empty(ring.writer));
  BOOST_REQUIRE(!write_empty(ring.writer));
}

// Returns whether any pop() wanted the writer to be rung.
bool pop_records(RingReader& reader, std::uint32_t records) {
  bool ring = false;
  RecordHeader header;
  for (std::uint32_t i = 0; i < records; ++i) {
    BOOST_REQUIRE(reader.peek(header));
    ring = reader.pop() || ring;
  }
  return ring;
}

// What one end sleeps on.
class Doorbell {
 public:
  void ring() const {
    const std::uint64_t one = 1;
    if (::write(descriptor_.get(), &one, sizeof one) != sizeof one) std::abort();
  }
  // False: it has not been rung for so long that it never will.
  [[nodiscard]] bool sleep() const {
    pollfd watched{descriptor_.get(), POLLIN, 0};
    std::uint64_t count = 0;
    return ::poll(&watched, 1, 60'000) == 1 &&
           ::read(descriptor_.get(), &count, sizeof count) == sizeof count;
  }

 private:
  UniqueFd descriptor_{::eventfd(0, EFD_CLOEXEC)};
};

// Two ends that sleep whenever they have nothing to do: a wake-up that is lost is a message that never comes.
// They return whether all went well, and use nothing of the test's framework, being in threads or processes
// of their own.
bool write_and_sleep(RingWriter& writer, std::uint64_t messages, const Doorbell& mine,
                     const Doorbell& theirs) {
  for (std::uint64_t i = 0; i < messages;) {
    const bool fits = write_numbered(writer, i);
    if (fits && ++i % 16 != 0 && i != messages) continue;
    if (writer.must_wake_reader()) theirs.ring();
    if (!fits && (!writer.status().ok() || (writer.ask_for_room() && !mine.sleep()))) return false;
  }
  return true;
}

bool read_and_sleep(RingReader& reader, std::uint64_t messages, const Doorbell& mine,
                    const Doorbell& theirs) {
  RecordHeader header;
  for (std::uint64_t i = 0; i < messages;) {
    if (reader.peek(header)) {
      if (!is_numbered(reader, header, i)) return false;
      if (reader.pop()) theirs.ring();
      ++i;
      continue;
    }
    if (reader.settle()) theirs.ring();
    if (i % 3 == 0) continue;  // looks again before it sleeps
    if (reader.fall_asleep()) theirs.ring();
    if (!reader.peek(header) && !(reader.status().ok() && mine.sleep())) return false;
    reader.wake_up();
  }
  if (reader.settle()) theirs.ring();
  return reader.status().ok();
}

}  // namespace ring_test

BOOST_AUTO_TEST_SUITE(ring_test)

BOOST_AUTO_TEST_CASE(a_record_takes_one_slot_and_whole_lines_of_the_annex) {
  const auto taken = [](std::size_t length_bytes) { return RingAccount{}.after(length_bytes); };
  for (const std::size_t length : {std::size_t{0}, kSlotPayload, kSlotPayload + 1, kRecordBytesMax})
    BOOST_TEST(taken(length).slots == 1U);
  BOOST_TEST(taken(0).annex_bytes == 0U);
  BOOST_TEST(taken(112).annex_bytes == 0U);
  BOOST_TEST(taken(113).annex_bytes == 64U);
  BOOST_TEST(taken(176).annex_bytes == 64U);
  BOOST_TEST(taken(177).annex_bytes == 128U);
}

BOOST_AUTO_TEST_CASE(a_payload_lies_in_one_piece) {
  const RingAccount near_the_end{7, 3 * kAnnexBytes - 128};
  BOOST_TEST(near_the_end.annex_start(112 + 128) == 3 * kAnnexBytes - 128);
  BOOST_TEST(near_the_end.after(112 + 128).annex_bytes == 3 * kAnnexBytes);
  BOOST_TEST(near_the_end.annex_start(112 + 129) == 3 * kAnnexBytes);
  BOOST_TEST(near_the_end.after(112 + 129).annex_bytes == 3 * kAnnexBytes + 192);
  BOOST_TEST(near_the_end.after(112).annex_bytes == near_the_end.annex_bytes);
  const RingAccount at_the_end{7, 3 * kAnnexBytes};
  BOOST_TEST(at_the_end.annex_start(kRecordBytesMax) == 3 * kAnnexBytes);
}

BOOST_AUTO_TEST_CASE(messages_of_every_length_come_out_in_order_through_many_laps) {
  RingPair ring;
  std::uint64_t written = 0;
  std::uint64_t read = 0;
  while (written < 5'000) {
    if (write_numbered(ring.writer, written)) {
      ++written;
    } else {
      read = read_all(ring.reader, read);
      (void)ring.reader.settle();
    }
  }
  BOOST_TEST(read_all(ring.reader, read) == written);
  BOOST_TEST(ring.writer.status().ok());
  BOOST_TEST(ring.reader.status().ok());
}

BOOST_AUTO_TEST_CASE(a_record_is_shown_until_it_is_popped) {
  RingPair ring;
  RecordHeader header;
  BOOST_TEST(!ring.reader.peek(header));
  BOOST_REQUIRE(write_numbered(ring.writer, 0));
  BOOST_REQUIRE(write_numbered(ring.writer, 1));
  BOOST_REQUIRE(ring.reader.peek(header));
  BOOST_REQUIRE(ring.reader.peek(header));
  BOOST_TEST(is_numbered(ring.reader, header, 0));
  BOOST_TEST(!ring.reader.pop());
  BOOST_REQUIRE(ring.reader.peek(header));
  BOOST_TEST(is_numbered(ring.reader, header, 1));
}

BOOST_AUTO_TEST_CASE(random_sizes_and_interleavings_lose_nothing) {
  const bool held = exs::test::holds("in order", [] {
    RingPair ring;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::vector<std::vector<std::byte>> messages;
    const auto turns = exs::test::draw_ints(0, 100);
    for (const int turn : turns) {
      for (int i = 0; i < turn; ++i) {
        const auto length =
            exs::test::draw<std::size_t>(0, exs::test::draw_index(2) == 0 ? 400 : kRecordBytesMax + 1);
        auto message = numbered_message(written, length);
        const std::span<const std::byte> all(message);
        const auto cut = exs::test::draw<std::size_t>(0, length + 1);
        if (!ring.writer.write(numbered_header(written), all.first(cut), all.subspan(cut))) break;
        messages.push_back(std::move(message));
        ++written;
      }
      RecordHeader header;
      for (int i = 0; i < exs::test::draw(0, 100) && ring.reader.peek(header); ++i) {
        std::vector<std::byte> found(header.length_bytes);
        ring.reader.copy(0, found);
        EXS_HOLD(equal_bytes(found, messages[read]));
        EXS_HOLD(header.link == numbered_header(read).link);
        (void)ring.reader.pop();
        ++read;
      }
    }
    RecordHeader header;
    while (ring.reader.peek(header)) {
      std::vector<std::byte> found(header.length_bytes);
      ring.reader.copy(0, found);
      EXS_HOLD(equal_bytes(found, messages[read]));
      (void)ring.reader.pop();
      ++read;
    }
    EXS_HOLD(read == written);
    EXS_HOLD(ring.writer.status().ok() && ring.reader.status().ok());
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(a_full_ring_takes_more_when_a_quarter_is_done_with) {
  RingPair ring;
  fill(ring);
  BOOST_TEST(!pop_records(ring.reader, kSlots / 4 - 1));
  BOOST_TEST(!write_empty(ring.writer));
  BOOST_TEST(!pop_records(ring.reader, 1));  // nobody asked
  for (std::uint32_t i = 0; i < kSlots / 4; ++i) BOOST_REQUIRE(write_empty(ring.writer));
  BOOST_TEST(!write_empty(ring.writer));
}

BOOST_AUTO_TEST_CASE(settling_tells_the_writer_at_once) {
  RingPair ring;
  fill(ring);
  BOOST_TEST(!pop_records(ring.reader, 1));
  BOOST_TEST(!write_empty(ring.writer));
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(write_empty(ring.writer));
  BOOST_TEST(!write_empty(ring.writer));
}

BOOST_AUTO_TEST_CASE(a_writer_that_asks_for_room_is_rung_once_when_a_quarter_is_free) {
  RingPair ring;
  fill(ring);
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(!pop_records(ring.reader, kSlots / 4 - 1));
  BOOST_TEST(pop_records(ring.reader, 1));
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(!pop_records(ring.reader, kSlots / 2));
  // Again after the next full ring.
  while (write_empty(ring.writer)) {
  }
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(pop_records(ring.reader, kSlots / 2));
}

BOOST_AUTO_TEST_CASE(a_writer_that_asks_for_room_that_has_come_is_told) {
  RingPair ring;
  fill(ring);
  BOOST_TEST(!pop_records(ring.reader, kSlots / 4));
  BOOST_TEST(!ring.writer.ask_for_room());
  BOOST_TEST(write_empty(ring.writer));
}

BOOST_AUTO_TEST_CASE(a_full_annex_takes_more_when_a_quarter_is_done_with) {
  RingPair ring;
  const std::vector<std::byte> message(kSlotPayload + kAnnexBytes / 16);
  for (int i = 0; i < 16; ++i) BOOST_REQUIRE(ring.writer.write(RecordHeader{}, message));
  BOOST_TEST(!ring.writer.write(RecordHeader{}, message));
  BOOST_TEST(write_empty(ring.writer));  // takes nothing of the annex
  BOOST_TEST(!pop_records(ring.reader, 3));
  BOOST_TEST(!ring.writer.write(RecordHeader{}, message));
  BOOST_TEST(!pop_records(ring.reader, 1));
  for (int i = 0; i < 4; ++i) BOOST_REQUIRE(ring.writer.write(RecordHeader{}, message));
  BOOST_TEST(!ring.writer.write(RecordHeader{}, message));
}

BOOST_AUTO_TEST_CASE(a_writer_of_a_long_record_is_rung_when_it_fits) {
  RingPair ring;
  const std::vector<std::byte> message(kSlotPayload + kAnnexBytes / 16);
  const std::vector<std::byte> longest(kRecordBytesMax);
  for (int i = 0; i < 16; ++i) BOOST_REQUIRE(ring.writer.write(RecordHeader{}, message));
  BOOST_TEST(!ring.writer.write(RecordHeader{}, longest));
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(!pop_records(ring.reader, 4));  // a quarter, but 72 KiB is more
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(!pop_records(ring.reader, 1));
  BOOST_TEST(ring.reader.settle());
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(ring.writer.write(RecordHeader{}, longest));
}

BOOST_AUTO_TEST_CASE(a_reader_that_falls_asleep_rings_a_writer_that_waits) {
  RingPair ring;
  fill(ring);
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(!pop_records(ring.reader, 1));
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(!pop_records(ring.reader, kSlots / 4 - 1));
  BOOST_TEST(ring.reader.fall_asleep());
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(write_empty(ring.writer));
}

BOOST_AUTO_TEST_CASE(a_sleeping_reader_is_rung_once) {
  RingPair ring;
  BOOST_TEST(!ring.writer.must_wake_reader());
  BOOST_TEST(!ring.reader.fall_asleep());
  BOOST_TEST(ring.writer.reader_is_asleep());
  BOOST_TEST(ring.writer.must_wake_reader());
  BOOST_TEST(!ring.writer.must_wake_reader());
  BOOST_TEST(!ring.writer.reader_is_asleep());
  BOOST_TEST(!ring.reader.fall_asleep());
  ring.reader.wake_up();
  BOOST_TEST(!ring.writer.must_wake_reader());
}

BOOST_AUTO_TEST_CASE(two_threads_that_sleep_lose_no_message) {
  constexpr std::uint64_t kMessages = 8'000;
  RingPair ring;
  const Doorbell room;
  const Doorbell news;
  bool written = false;
  std::thread writer([&] { written = write_and_sleep(ring.writer, kMessages, room, news); });
  const bool read = read_and_sleep(ring.reader, kMessages, news, room);
  writer.join();
  BOOST_TEST(written);
  BOOST_TEST(read);
}

// A ring of few records is full, and empty, all the time: both ends sleep at the same moments.
BOOST_AUTO_TEST_CASE(two_threads_that_wait_for_each_other_both_go_on) {
  constexpr int kMessages = 30'000;
  RingPair ring;
  const Doorbell room;
  const Doorbell news;
  bool all_written = true;
  std::thread writer([&] {
    const std::vector<std::byte> message(kRecordBytesMax / 2);
    for (int i = 0; i < kMessages && all_written;) {
      if (ring.writer.write(RecordHeader{}, message)) {
        ++i;
      } else if (ring.writer.ask_for_room()) {
        all_written = room.sleep();
      }
      if (ring.writer.must_wake_reader()) news.ring();
    }
  });
  bool all_read = true;
  RecordHeader header;
  for (int i = 0; i < kMessages && all_read;) {
    if (ring.reader.peek(header)) {
      if (ring.reader.pop()) room.ring();
      ++i;
      continue;
    }
    if (ring.reader.fall_asleep()) room.ring();
    if (!ring.reader.peek(header)) all_read = news.sleep();
    ring.reader.wake_up();
  }
  writer.join();
  BOOST_TEST(all_written);
  BOOST_TEST(all_read);
}

BOOST_AUTO_TEST_CASE(two_processes_that_sleep_lose_no_message) {
  constexpr std::uint64_t kMessages = 5'000;
  RingPair ring;
  const Doorbell room;
  const Doorbell news;
  const pid_t child = ::fork();
  BOOST_REQUIRE(child >= 0);
  if (child == 0) {
    auto mapping = Mapping::of_peer(ring.descriptor.get(), kSegmentBytes);
    if (!mapping) ::_exit(2);
    RingWriter writer(mapping->bytes());
    ::_exit(write_and_sleep(writer, kMessages, room, news) ? 0 : 1);
  }
  BOOST_TEST(read_and_sleep(ring.reader, kMessages, news, room));
  int status = -1;
  BOOST_TEST(::waitpid(child, &status, 0) == child);
  BOOST_TEST(status == 0);
}

BOOST_AUTO_TEST_CASE(a_lap_that_is_wrong_is_no_record) {
  RingPair ring;
  RecordHeader header;
  for (const std::uint32_t lap : {0U, 2U, 0xFFFF'FFFFU}) {
    ring.poke(ring.slot(0), lap);
    BOOST_TEST(!ring.reader.peek(header));
    BOOST_TEST(ring.reader.status().ok());
  }
  ring.poke(ring.slot(0), 1U);
  BOOST_TEST(ring.reader.peek(header));
}

BOOST_AUTO_TEST_CASE(a_record_longer_than_any_ends_the_reader) {
  for (const std::size_t length : {kRecordBytesMax + 1, std::size_t{0xFFFF'FFFF}}) {
    RingPair ring;
    ring.poke(ring.slot(0, kLengthOffset), static_cast<std::uint32_t>(length));
    ring.poke(ring.slot(0), 1U);
    RecordHeader header;
    BOOST_TEST(!ring.reader.peek(header));
    BOOST_TEST(ring.reader.status().error() == EPROTO);
    ring.poke(ring.slot(0, kLengthOffset), 0U);
    BOOST_TEST(!ring.reader.peek(header));  // for ever
    BOOST_TEST(!ring.reader.settle());
    BOOST_TEST(!ring.reader.fall_asleep());
  }
}

BOOST_AUTO_TEST_CASE(a_byte_more_than_the_longest_record_ends_the_reader) {
  RingPair ring;
  const std::vector<std::byte> longest(kRecordBytesMax);
  BOOST_REQUIRE(ring.writer.write(RecordHeader{}, longest));
  ring.poke(ring.slot(0, kLengthOffset), static_cast<std::uint32_t>(kRecordBytesMax + 1));
  RecordHeader header;
  BOOST_TEST(!ring.reader.peek(header));
  BOOST_TEST(ring.reader.status().error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(a_length_that_changes_after_the_look_changes_nothing) {
  RingPair ring;
  RecordHeader header;
  BOOST_REQUIRE(write_empty(ring.writer));
  BOOST_REQUIRE(ring.writer.write(RecordHeader{.link = 5}, {}));
  BOOST_REQUIRE(ring.reader.peek(header));
  ring.poke(ring.slot(0, kLengthOffset), 1000U);
  BOOST_REQUIRE(ring.reader.peek(header));
  BOOST_TEST(header.length_bytes == 0U);
  (void)ring.reader.pop();
  BOOST_REQUIRE(ring.reader.peek(header));
  BOOST_TEST(header.link == 5U);
}

BOOST_AUTO_TEST_CASE(consumed_that_goes_back_or_ahead_ends_the_writer) {
  for (const std::uint64_t nonsense : {std::uint64_t{99}, std::uint64_t{kSlots + 101}, std::uint64_t{0},
                                       ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    RingPair ring;
    fill(ring);
    (void)pop_records(ring.reader, 100);
    (void)ring.reader.settle();
    for (int i = 0; i < 100; ++i) BOOST_REQUIRE(write_empty(ring.writer));  // knows of 100
    ring.poke(ring.at(kConsumedOffset), nonsense);
    BOOST_TEST(!write_empty(ring.writer));
    BOOST_TEST(ring.writer.status().error() == EPROTO);
    ring.poke(ring.at(kConsumedOffset), std::uint64_t{200});
    BOOST_TEST(!write_empty(ring.writer));  // for ever
  }
}

BOOST_AUTO_TEST_CASE(a_count_of_the_annex_that_goes_back_or_ahead_ends_the_writer) {
  const std::vector<std::byte> message(kSlotPayload + kAnnexBytes / 16);
  for (const std::uint64_t nonsense : {std::uint64_t{0}, kAnnexBytes / 4 - 64, 5 * kAnnexBytes / 4 + 64,
                                       ~std::uint64_t{0}, std::uint64_t{1} << 63U}) {
    RingPair ring;
    for (int i = 0; i < 16; ++i) BOOST_REQUIRE(ring.writer.write(RecordHeader{}, message));
    (void)pop_records(ring.reader, 4);
    for (int i = 0; i < 4; ++i) BOOST_REQUIRE(ring.writer.write(RecordHeader{}, message));  // knows of 4
    ring.poke(ring.at(kAnnexConsumedOffset), nonsense);
    BOOST_TEST(!ring.writer.write(RecordHeader{}, message));
    BOOST_TEST(ring.writer.status().error() == EPROTO);
  }
}

BOOST_AUTO_TEST_CASE(asking_for_room_of_a_peer_that_counts_nonsense_ends_the_writer) {
  RingPair ring;
  fill(ring);
  ring.poke(ring.at(kConsumedOffset), std::uint64_t{kSlots + 1});
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(ring.writer.status().error() == EPROTO);
}

BOOST_AUTO_TEST_CASE(a_wish_for_room_never_makes_the_reader_ring_twice) {
  RingPair ring;
  BOOST_REQUIRE(write_empty(ring.writer));
  (void)pop_records(ring.reader, 1);
  ring.poke(ring.at(kWantedOffset), std::uint64_t{1});
  BOOST_TEST(ring.reader.settle());
  BOOST_TEST(!ring.reader.settle());
  for (const std::uint64_t nonsense :
       {std::uint64_t{2}, ~std::uint64_t{0}, std::uint64_t{0}, std::uint64_t{1}}) {
    ring.poke(ring.at(kWantedOffset), nonsense);
    BOOST_TEST(!ring.reader.settle());
    BOOST_TEST(!ring.reader.fall_asleep());
    ring.poke(ring.at(kAnnexWantedOffset), nonsense);
    BOOST_TEST(!ring.reader.settle());
    BOOST_TEST(!ring.reader.fall_asleep());
    ring.poke(ring.at(kAnnexWantedOffset), std::uint64_t{0});
  }
}

BOOST_AUTO_TEST_CASE(an_end_without_a_whole_segment_does_nothing) {
  std::vector<std::byte> small(kSegmentBytes - 1);
  for (const std::span<std::byte> segment : {std::span<std::byte>{}, std::span(small)}) {
    RingWriter writer(segment);
    RingReader reader(segment);
    RecordHeader header;
    BOOST_TEST(!write_empty(writer));
    BOOST_TEST(!writer.must_wake_reader());
    BOOST_TEST(!writer.reader_is_asleep());
    BOOST_TEST(!reader.peek(header));
    BOOST_TEST(!reader.settle());
    BOOST_TEST(!reader.fall_asleep());
    BOOST_TEST(!writer.status().ok());
    BOOST_TEST(!reader.status().ok());
  }
}

BOOST_AUTO_TEST_SUITE_END()
