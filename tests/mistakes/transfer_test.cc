// The mistakes that programs make with memory and transfers, and what each is told.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "tests/mistakes/fixture.h"

namespace exs::test {
namespace transfer_test {

// Memory that the program gives back too early.
class Mapping {
 public:
  Mapping() : start_(::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Mapping() { unmap(); }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] void* at() const { return start_; }
  void unmap() {
    if (is_mapped_) ::munmap(start_, kBytes);
    is_mapped_ = false;
  }
  static constexpr std::size_t kBytes = 1 << 22;  // shorter pieces are not looked at before they are copied

 private:
  void* const start_;
  bool is_mapped_ = true;
};

}  // namespace transfer_test

BOOST_FIXTURE_TEST_SUITE(transfer_test, Mistaken)

BOOST_AUTO_TEST_CASE(the_memory_is_not_of_the_region) {
  const Pair pair(queue);
  Memory memory(64);
  told_by_call("out of the region", post_send(pair.left, memory, 65), "are not inside the region");
  told_by_call(
      "a region that never was",
      exs_send(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, exs_mhandle_t{memory.handle() + 1000}),
      "is no region");
  char bytes[8] = {};
  const exs_mhandle_t stale = exs_mregister(bytes, sizeof bytes, 0);
  BOOST_REQUIRE_EQUAL(exs_mderegister(stale, 0), 0);
  told_by_call("a stale region", exs_send(pair.left, bytes, 8, 0, queue.handle(), nullptr, stale),
               "not released yet");
}

BOOST_AUTO_TEST_CASE(a_queue_or_a_socket_is_full) {
  const Pair pair(queue);
  Memory memory(8);
  const exs_qhandle_t shallow = exs_qcreate(1);
  BOOST_REQUIRE_EQUAL(exs_qpost(shallow, nullptr, nullptr), 0);
  told_by_call("a full queue", exs_send(pair.left, memory.at(), 8, 0, shallow, nullptr, memory.handle()),
               "dequeue events first, or make the queue deeper");
  exs_event_t event{};
  BOOST_REQUIRE_EQUAL(exs_qdequeue(shallow, &event, 1, nullptr), 1);
  BOOST_REQUIRE_EQUAL(exs_qdelete(shallow), 0);
  BOOST_REQUIRE_EQUAL(exs_fcntl(pair.left, EXS_F_SET_MAX_OPS, 1), 0);
  BOOST_REQUIRE_EQUAL(post_receive(pair.left, memory, 8), 0);
  told_by_call("too many operations of a socket", post_receive(pair.left, memory, 8), "EXS_F_SET_MAX_OPS");
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES), 1);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_receive_is_too_small) {
  const Pair pair(queue);
  Memory memory(64);
  BOOST_REQUIRE_EQUAL(post_receive(pair.right, memory, 5), 0);
  BOOST_REQUIRE_EQUAL(post_send(pair.left, memory, 10, EXS_NO_IMMEDIATE), 0);
  const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST((received.exs_evt_flags & EXS_EVF_TRUNC) != 0U);
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST(sent.exs_evt_union.exs_evt_xfer.exs_evt_length == 5U);
  const std::uint64_t whole_bytes = received.exs_evt_union.exs_evt_xfer.exs_evt_offset;
  BOOST_TEST(whole_bytes == 10U);
  told("a receive too small", "EXS_EVT_RECV EXS_EVF_TRUNC",
       sentence_of("exs_recv.3", "is then the length of the whole message"), "exs_evt_offset of the event");
}

BOOST_AUTO_TEST_CASE(a_normal_send_meets_no_receive) {
  const Pair pair(queue);
  Memory memory(1 << 16);
  BOOST_REQUIRE_EQUAL(post_send(pair.left, memory, memory.size_bytes()), 0);
  told_by_call("its memory is released", exs_mderegister(memory.handle(), 0), "cancel them");
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES), 1);
  const std::string outcome = queue.next_outcome(pair.left, EXS_EVT_SEND);
  BOOST_TEST(outcome == "ECANCELED");
  told("a normal send, no receive, cancel", "EXS_EVT_SEND " + outcome,
       sentence_of("exs_cancel.3", "The event arrives with"), "with the answer");
}

BOOST_AUTO_TEST_CASE(a_region_lacks_the_right) {
  const Pair pair(queue);
  Memory local(1 << 16, EXS_MRF_LOCAL_ONLY);
  told_by_call("LOCAL_ONLY in a long send", post_send(pair.left, local, local.size_bytes()),
               "EXS_MRF_REMOTE_READ");
  told_by_call("LOCAL_ONLY in a persistent receive", post_receive(pair.left, local, 8, EXS_PERSISTENT),
               "EXS_MRF_REMOTE_WRITE");
  told_by_call(
      "PERSISTENT without registration",
      exs_send(pair.left, local.at(), 8, EXS_PERSISTENT, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED),
      "needs registered memory");
}

BOOST_AUTO_TEST_CASE(persistent_operations_are_misused) {
  const Pair pair(queue);
  Memory memory(64);
  BOOST_REQUIRE_EQUAL(post_send(pair.left, memory, 64, EXS_PERSISTENT), 0);
  told_by_call("a send behind a persistent one", post_send(pair.left, memory, 8),
               "a persistent operation of this direction is pending");
  told_by_call("a window at an odd offset",
               static_cast<int>(exs_recv_window(pair.right, memory.at(), 8, memory.handle(), 0, 3, 0)),
               "a multiple of 8");
  const Pair streams(queue, SOCK_STREAM);
  told_by_call("PERSISTENT on a stream", post_send(streams.left, memory, 8, EXS_PERSISTENT),
               "make both ends with exs_socket and SOCK_SEQPACKET");
  BOOST_REQUIRE_EQUAL(exs_cancel(pair.left, nullptr, EXS_CAF_FILDES), 1);
  queue.next_of(pair.left, EXS_EVT_SEND);
}

// In C++ it does not compile; in C it does.
BOOST_AUTO_TEST_CASE(queue_and_region_are_swapped) {
  const Pair pair(queue);
  Memory memory(8);
  told_by_call("queue and region swapped",
               exs_send(pair.left, memory.at(), 8, 0, static_cast<exs_qhandle_t>(memory.handle()), nullptr,
                        static_cast<exs_mhandle_t>(queue.handle())),
               "is no queue");
}

BOOST_AUTO_TEST_CASE(a_receive_has_memory_that_cannot_be_written) {
  const Pair pair(queue);
  void* const memory = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(memory != MAP_FAILED);
  told_by_call("a receive into read-only memory",
               exs_recv(pair.left, memory, 8, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED),
               "are read-only, and a receive writes");
  BOOST_TEST(::munmap(memory, 4096) == 0);
}

// Before the post the call says it, after it the event and the socket.
BOOST_AUTO_TEST_CASE(the_memory_is_not_mapped) {
  const Pair pair(queue);
  Mapping gone;
  gone.unmap();
  told_by_call("a receive into unmapped memory",
               exs_recv(pair.left, gone.at(), 8, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED),
               "are not all memory of this process");
  told_by_call("a send from unmapped memory",
               exs_send(pair.left, gone.at(), 8, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED),
               "are not all memory of this process");
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_receive_is_unmapped_too_early) {
  const Pair pair(queue);
  Mapping sink;
  Memory source(Mapping::kBytes);
  const exs_mhandle_t region = exs_mregister(sink.at(), Mapping::kBytes, 0);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), Mapping::kBytes, 0, queue.handle(), nullptr, region),
                      0);
  sink.unmap();
  BOOST_REQUIRE_EQUAL(post_send(pair.left, source, source.size_bytes()), 0);
  const std::string outcome = queue.next_outcome(pair.right, EXS_EVT_RECV);
  BOOST_TEST(outcome == "EFAULT");
  told("a receive's memory unmapped before its event", "EXS_EVT_RECV " + outcome, error_text(pair.right),
       "keep the memory of an operation mapped");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) != "0");
  BOOST_TEST(exs_mderegister(region, EXS_MRF_WAIT) == 0);
}

// By shared memory the peer may be the one that finds it gone, and ends.
BOOST_AUTO_TEST_CASE(the_memory_of_a_send_is_unmapped_too_early) {
  const Pair pair(queue, [](int socket) { choose_provider(socket, "require:iwarp"); });
  Mapping source;
  Memory sink(Mapping::kBytes);
  const exs_mhandle_t region = exs_mregister(source.at(), Mapping::kBytes, 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(), Mapping::kBytes, 0, queue.handle(), nullptr, region),
                      0);
  source.unmap();
  BOOST_REQUIRE_EQUAL(post_receive(pair.right, sink, sink.size_bytes()), 0);
  const std::string outcome = queue.next_outcome(pair.left, EXS_EVT_SEND);
  BOOST_TEST(outcome == "EFAULT");
  told("a send's memory unmapped before its event", "EXS_EVT_SEND " + outcome, error_text(pair.left),
       "keep the memory of an operation mapped");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) != "0");
  BOOST_TEST(exs_mderegister(region, EXS_MRF_WAIT) == 0);
}

// The receiver is told; to the sender nothing comes back.
BOOST_AUTO_TEST_CASE(a_receive_is_too_small_for_an_immediate_message) {
  const Pair pair(queue);
  Memory memory(64);
  BOOST_REQUIRE_EQUAL(post_receive(pair.right, memory, 5), 0);
  BOOST_REQUIRE_EQUAL(post_send(pair.left, memory, 10), 0);
  const exs_event_t received = queue.next_of(pair.right, EXS_EVT_RECV);
  BOOST_TEST((received.exs_evt_flags & EXS_EVF_TRUNC) != 0U);
  BOOST_TEST(received.exs_evt_union.exs_evt_xfer.exs_evt_offset == 10U);
  const exs_event_t sent = queue.next_of(pair.left, EXS_EVT_SEND);
  BOOST_TEST((sent.exs_evt_flags & EXS_EVF_IMMEDIATE) != 0U);
  BOOST_TEST(sent.exs_evt_union.exs_evt_xfer.exs_evt_length == 10U);
  told("an immediate message too long", "EXS_EVT_RECV EXS_EVF_TRUNC",
       sentence_of("exs_recv.3", "The event of an immediate send"), "means only that the data left");
}

// An int in place of a size_t leaves half of it to chance in exs_fcntl; an option knows the size of what it is given.
BOOST_AUTO_TEST_CASE(a_value_has_the_wrong_size) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const std::size_t wide = 5;
  told_by_call("a size_t where an int is wanted",
               exs_setsockopt(socket, SOL_EXS, EXS_SO_LINGER_MS, &wide, sizeof wide), "4");
  exs_stats_t stats{};
  stats.struct_bytes = 4;
  told_by_call("exs_getstats without the size", exs_getstats(socket, &stats), "the size 4 is wrong");
  told_by_call("int for size_t in exs_fcntl, with chance above",
               exs_fcntl(socket, EXS_F_SET_SMALL_MAX, (std::size_t{0xBAD} << 32) | 512),
               "give a number from 0 to 32768");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
