// Memory that the program unmaps while an operation has it: every operation of the connection has its event,
// and the library does not touch what is not there.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <sys/mman.h>

#include <ostream>
#include <utility>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace data = boost::unit_test::data;
namespace unmapped_memory_test {

constexpr std::size_t kBytes = 4 << 20;

enum class Way { kUnmapped, kProtected };
std::ostream& operator<<(std::ostream& out, Way way) {
  return out << (way == Way::kUnmapped ? "unmapped" : "protected");
}
constexpr Way kWays[] = {Way::kUnmapped, Way::kProtected};
// In a slot of the ring, beyond it, beyond what travels in its message, in one piece, and in several.
// When the receive is posted. "Kept": the message has no receive by then, so the connection keeps it.
enum class Posted { kBeforeTheSend, kAfterTheSend, kWhenKept };
std::ostream& operator<<(std::ostream& out, Posted posted) {
  return out << static_cast<int>(posted);
}
constexpr Posted kPosted[] = {Posted::kBeforeTheSend, Posted::kAfterTheSend, Posted::kWhenKept};

constexpr std::size_t kShortLengths[] = {1, 64, 200};
constexpr std::size_t kLengths[] = {1, 64, 200, 4096, 60'000, 300'000};

// Registered memory of its own mapping.
class Mapping {
 public:
  explicit Mapping(int protection = PROT_READ | PROT_WRITE)
      : start_(::mmap(nullptr, kBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0)),
        region_(exs_mregister(start_, kBytes, 0)) {
    BOOST_REQUIRE(region_ > 0);
  }
  ~Mapping() {
    exs_mderegister(region_, EXS_MRF_WAIT);
    if (start_ != nullptr && is_mine_) ::munmap(start_, kBytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] void* at() const { return start_; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }
  void unmap() { BOOST_REQUIRE(::munmap(std::exchange(start_, nullptr), kBytes) == 0); }
  // Its address is what it was.
  void take_away(Way way) {
    if (way == Way::kProtected) {
      BOOST_REQUIRE(::mprotect(start_, kBytes, PROT_NONE) == 0);
    } else {
      BOOST_REQUIRE(::munmap(start_, kBytes) == 0);
      is_mine_ = false;
    }
  }

 private:
  void* start_;
  bool is_mine_ = true;
  exs_mhandle_t region_;
};

struct Connected {
  InitializedLibrary library;
  Queue queue;
  Memory memory{kBytes};
  Pair pair{queue};
  // A device may have pinned the pages, which outlive their mapping.
  const bool pinned = provider_of(pair.left) == "verbs";
#if defined(__x86_64__)
  const bool copies_are_guarded = provider_of(pair.left) == "shm";
#else
  const bool copies_are_guarded = false;
#endif

  void send(int socket, void* from, exs_mhandle_t region) {
    BOOST_REQUIRE_EQUAL(exs_send(socket, from, kBytes, 0, queue.handle(), nullptr, region), 0);
  }
  void receive(int socket, void* into, exs_mhandle_t region) {
    BOOST_REQUIRE_EQUAL(exs_recv(socket, into, kBytes, 0, queue.handle(), nullptr, region), 0);
  }
  void check_fails(int socket, int type) {
    const int error = queue.next_of(socket, type).exs_evt_errno;
    if (!pinned) BOOST_TEST(error != 0);
  }
  // The memory that left sends has gone. A device looks at it when the send has its turn: if it has gone by then, which
  // is so where another thread drove at the time of the post, the send fails alone. The connection goes on, and the receive gets the
  // next message: it may not stay, as its region waits for it.
  void check_transfer_fails(int type) {
    const std::string error = queue.next_outcome(pair.left, type);
    if (pinned && error == "EFAULT") {
      send(pair.left, memory.at(), memory.handle());
      BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
      BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
      return;
    }
    if (!pinned) BOOST_TEST(error != "0");
    check_fails(pair.right, EXS_EVT_RECV);
  }
  // The same of the memory of a receive. On a device one that fails ends the connection, or fails alone and leaves left's send to the next.
  void check_receive_fails() {
    const std::string error = queue.next_outcome(pair.right, EXS_EVT_RECV);
    BOOST_TEST((error == "EFAULT" || (pinned && error == "0")), error);
    if (pinned && error == "EFAULT")
      exs_recv(pair.right, memory.at(), kBytes, 0, queue.handle(), nullptr, memory.handle());
    check_fails(pair.left, EXS_EVT_SEND);
  }
};

}  // namespace unmapped_memory_test

BOOST_FIXTURE_TEST_SUITE(unmapped_memory_test, Connected)

BOOST_AUTO_TEST_CASE(the_memory_of_a_send_goes) {
  Mapping source;
  send(pair.left, source.at(), source.region());
  source.unmap();
  receive(pair.right, memory.at(), memory.handle());
  check_transfer_fails(EXS_EVT_SEND);
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_send_has_gone_before) {
  Mapping source;
  void* const gone = source.at();
  source.unmap();
  receive(pair.right, memory.at(), memory.handle());
  send(pair.left, gone, source.region());
  const std::string error = queue.next_outcome(pair.left, EXS_EVT_SEND);
  if (pinned) {  // seen before anything was sent
    BOOST_TEST(error == "EFAULT");
    send(pair.left, memory.at(), memory.handle());
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  } else {
    BOOST_TEST(error != "0");
    check_fails(pair.right, EXS_EVT_RECV);
  }
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_receive_goes) {
  Mapping sink;
  receive(pair.right, sink.at(), sink.region());
  sink.unmap();
  send(pair.left, memory.at(), memory.handle());
  check_receive_fails();
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_receive_from_shared_memory_goes) {
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  void* const shared = exs_alloc(kBytes, &region);
  BOOST_REQUIRE(shared != nullptr);
  {
    Mapping sink;
    // The first transfer maps the memory here, which may not take the place of what goes.
    receive(pair.right, sink.at(), sink.region());
    send(pair.left, shared, region);
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    receive(pair.right, sink.at(), sink.region());
    sink.unmap();
    send(pair.left, shared, region);
    check_receive_fails();
  }
  BOOST_TEST(exs_free(shared) == 0);
}

BOOST_AUTO_TEST_CASE(the_memory_of_a_vector_goes) {
  Mapping source;
  exs_iovec_t pieces[2] = {{memory.at(), 64, memory.handle(), 0}, {source.at(), kBytes, source.region(), 0}};
  exs_msghdr_t message{pieces, 2, 0, nullptr, 0};
  Mapping sink;
  BOOST_REQUIRE_EQUAL(exs_sendmsg(pair.left, &message, 0, queue.handle(), nullptr), 0);
  source.unmap();
  receive(pair.right, sink.at(), sink.region());
  check_transfer_fails(EXS_EVT_SENDMSG);
}

// Others of the connection end as well, with its error.
BOOST_AUTO_TEST_CASE(every_operation_of_the_connection_has_its_event) {
  Mapping sink;
  receive(pair.right, sink.at(), sink.region());
  receive(pair.right, memory.at(), memory.handle());
  receive(pair.left, memory.at(), memory.handle());
  sink.unmap();
  send(pair.left, memory.at(), memory.handle());
  if (pinned) return;
  for (int i = 0; i < 2; ++i) check_fails(pair.right, EXS_EVT_RECV);
  check_fails(pair.left, EXS_EVT_SEND);
  check_fails(pair.left, EXS_EVT_RECV);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_AUTO_TEST_CASE(memory_that_may_only_be_read_can_be_sent) {
  const Mapping source(PROT_READ);
  receive(pair.right, memory.at(), memory.handle());
  send(pair.left, source.at(), source.region());
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
}

// By shm the library itself copies what is short. A fault in such a copy ends the connection as every other, and not the program.
BOOST_DATA_TEST_CASE(short_memory_of_a_send_goes, data::make(kLengths) * data::make(kWays), length, way) {
  if (!copies_are_guarded) return;
  Mapping source;
  source.take_away(way);
  receive(pair.right, memory.at(), memory.handle());
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, source.at(), length, 0, queue.handle(), nullptr, source.region()),
                      0);
  // Who copies finds out.
  const std::string ends =
      queue.next_outcome(pair.left, EXS_EVT_SEND) + " " + queue.next_outcome(pair.right, EXS_EVT_RECV);
  BOOST_TEST((ends == "EFAULT ECONNRESET" || ends == "ECONNRESET EPROTO"), ends);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

// Of messages that travel inside of their advertisements, whether the receive waits for them or they for the receive.
BOOST_DATA_TEST_CASE(short_memory_of_a_receive_goes,
                     data::make(kShortLengths) * data::make(kWays) * data::make(kPosted), length, way,
                     posted) {
  if (!copies_are_guarded) return;
  Mapping sink;
  const auto post = [&] {
    return exs_recv(pair.right, sink.at(), length, 0, queue.handle(), nullptr, sink.region());
  };
  if (posted == Posted::kBeforeTheSend) BOOST_REQUIRE_EQUAL(post(), 0);
  sink.take_away(way);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), length, 0, queue.handle(), nullptr, memory.handle()),
                      0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  if (posted == Posted::kWhenKept) {
    const exs_pollfd_t entry = {pair.right, EXS_POLLIN, nullptr};
    BOOST_REQUIRE_EQUAL(exs_poll(&entry, 1, 0, queue.handle()), 1);
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_POLL) == "0");
  }
  if (posted != Posted::kBeforeTheSend) BOOST_REQUIRE_EQUAL(post(), 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "EFAULT");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

// Pieces of either side, of which the last is not there.
BOOST_DATA_TEST_CASE(the_short_memory_of_a_vector_goes, data::make(kWays) * data::make({false, true}), way,
                     sends) {
  if (!copies_are_guarded) return;
  Mapping gone;
  gone.take_away(way);
  exs_iovec_t pieces[2] = {{memory.at(), 64, memory.handle(), 0}, {gone.at(), 64, gone.region(), 0}};
  exs_msghdr_t message{pieces, 2, 0, nullptr, 0};
  if (sends) {
    BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), 4096, 0, queue.handle(), nullptr, memory.handle()),
                        0);
    BOOST_REQUIRE_EQUAL(exs_sendmsg(pair.left, &message, 0, queue.handle(), nullptr), 0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SENDMSG) == "EFAULT");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "ECONNRESET");
  } else {
    BOOST_REQUIRE_EQUAL(exs_recvmsg(pair.right, &message, 0, queue.handle(), nullptr), 0);
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 128, 0, queue.handle(), nullptr, memory.handle()),
                        0);
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "0");
    BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECVMSG) == "EFAULT");
  }
}

// It travels inside of its message, so the call copies it.
BOOST_AUTO_TEST_CASE(unregistered_memory_that_may_not_be_read_is_refused) {
  if (!copies_are_guarded) return;
  Mapping source;
  source.take_away(Way::kProtected);
  for (const std::size_t length : {1, 64, 200}) {
    errno = 0;
    BOOST_TEST(
        exs_send(pair.left, source.at(), length, 0, queue.handle(), nullptr, EXS_MHANDLE_UNREGISTERED) == -1);
    BOOST_TEST(errno == EFAULT);
  }
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 0);
}

// The peer reads it when it wants, and how it likes.
BOOST_DATA_TEST_CASE(memory_of_a_persistent_send_goes, data::make(kLengths) * data::make(kWays), length,
                     way) {
  if (!copies_are_guarded) return;
  Mapping source;
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, source.at(), kBytes, EXS_PERSISTENT, queue.handle(), nullptr, source.region()), 0);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), length, 0, queue.handle(), nullptr, memory.handle()),
                      0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  source.take_away(way);
  BOOST_REQUIRE_EQUAL(exs_recv(pair.right, memory.at(), length, 0, queue.handle(), nullptr, memory.handle()),
                      0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) != "0");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) != "0");
}

BOOST_DATA_TEST_CASE(memory_of_a_persistent_receive_goes, data::make(kLengths) * data::make(kWays), length,
                     way) {
  if (!copies_are_guarded) return;
  Mapping sink;
  BOOST_REQUIRE_EQUAL(
      exs_recv(pair.right, sink.at(), kBytes, EXS_PERSISTENT, queue.handle(), nullptr, sink.region()), 0);
  const auto send_into_it = [&] {
    BOOST_REQUIRE_EQUAL(
        exs_send(pair.left, memory.at(), length, EXS_NO_IMMEDIATE, queue.handle(), nullptr, memory.handle()),
        0);
    return queue.next_outcome(pair.left, EXS_EVT_SEND);
  };
  BOOST_TEST(send_into_it() == "0");
  sink.take_away(way);
  // In pieces a write has left before anybody looks at where it goes.
  send_into_it();
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) != "0");
}

// Read into by the library itself, from memory of exs_alloc.
BOOST_DATA_TEST_CASE(the_short_sink_of_a_window_goes, data::make(kLengths) * data::make(kWays), length, way) {
  if (!copies_are_guarded) return;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  void* const shared = exs_alloc(kBytes, &region);
  BOOST_REQUIRE(shared != nullptr);
  {
    Mapping sink;
    BOOST_REQUIRE_EQUAL(exs_send(pair.left, shared, kBytes, EXS_PERSISTENT, queue.handle(), nullptr, region),
                        0);
    const auto read = [&] {
      BOOST_REQUIRE_EQUAL(exs_recv(pair.right, sink.at(), length, 0, queue.handle(), nullptr, sink.region()),
                          0);
      return queue.next_outcome(pair.right, EXS_EVT_RECV);
    };
    BOOST_TEST(read() == "0");
    BOOST_TEST(read() == "0");
    sink.take_away(way);
    BOOST_TEST(read() == "EFAULT");
    BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_SEND) == "ECONNRESET");
  }
  BOOST_TEST(exs_free(shared) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
