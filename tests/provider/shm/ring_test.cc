// The ring of messages in shared memory: order, room, sleep, and what a peer may write into it.
#define BOOST_TEST_MODULE ring_test
#include "src/provider/shm/ring.h"

#include <rapidcheck.h>
#include <boost/test/unit_test.hpp>
#include <thread>

#include "tests/provider/shm/ring_pair.h"
#include "tests/support/child_process.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::test;

namespace {

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

}  // namespace

BOOST_AUTO_TEST_SUITE(ring_test)

BOOST_AUTO_TEST_CASE(a_record_takes_as_many_slots_as_its_payload_needs) {
  BOOST_TEST(slots_of(0) == 1U);
  BOOST_TEST(slots_of(112) == 1U);
  BOOST_TEST(slots_of(113) == 2U);
  BOOST_TEST(slots_of(232) == 2U);
  BOOST_TEST(slots_of(233) == 3U);
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
  const bool held = rc::check("in order", [] {
    RingPair ring;
    std::uint64_t written = 0;
    std::uint64_t read = 0;
    std::vector<std::vector<std::byte>> messages;
    const auto turns = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 100));
    for (const int turn : turns) {
      for (int i = 0; i < turn; ++i) {
        const auto length = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 400),
                                            rc::gen::inRange<std::size_t>(0, kRecordBytesMax + 1));
        auto message = numbered_message(written, length);
        const std::span<const std::byte> all(message);
        const auto cut = *rc::gen::inRange<std::size_t>(0, length + 1);
        if (!ring.writer.write(numbered_header(written), all.first(cut), all.subspan(cut))) break;
        messages.push_back(std::move(message));
        ++written;
      }
      RecordHeader header;
      for (int i = 0; i < *rc::gen::inRange(0, 100) && ring.reader.peek(header); ++i) {
        std::vector<std::byte> found(header.length_bytes);
        ring.reader.copy(0, found);
        RC_ASSERT(found == messages[read]);
        RC_ASSERT(header.link == numbered_header(read).link);
        (void)ring.reader.pop();
        ++read;
      }
    }
    RecordHeader header;
    while (ring.reader.peek(header)) {
      std::vector<std::byte> found(header.length_bytes);
      ring.reader.copy(0, found);
      RC_ASSERT(found == messages[read]);
      (void)ring.reader.pop();
      ++read;
    }
    RC_ASSERT(read == written);
    RC_ASSERT(ring.writer.status().ok() && ring.reader.status().ok());
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

BOOST_AUTO_TEST_CASE(a_writer_of_a_long_record_is_rung_when_it_fits) {
  RingPair ring;
  const std::vector<std::byte> longest(kRecordBytesMax);
  fill(ring);
  BOOST_TEST(!ring.writer.write(RecordHeader{}, longest));
  BOOST_TEST(ring.writer.ask_for_room());
  BOOST_TEST(!pop_records(ring.reader, slots_of(kRecordBytesMax) - 1));
  BOOST_TEST(!ring.reader.settle());
  BOOST_TEST(!pop_records(ring.reader, 1));
  BOOST_TEST(ring.reader.settle());
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

BOOST_AUTO_TEST_SUITE_END()
