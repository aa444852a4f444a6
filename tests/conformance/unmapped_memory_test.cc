// Memory that the program unmaps while an operation has it: every operation of the connection has its event,
// and the library does not touch what is not there.
#include <boost/test/unit_test.hpp>

#include <sys/mman.h>

#include <utility>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace unmapped_memory_test {

constexpr std::size_t kBytes = 4 << 20;

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
    if (start_ != nullptr) ::munmap(start_, kBytes);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  [[nodiscard]] void* at() const { return start_; }
  [[nodiscard]] exs_mhandle_t region() const { return region_; }
  void unmap() { BOOST_REQUIRE(::munmap(std::exchange(start_, nullptr), kBytes) == 0); }

 private:
  void* start_;
  exs_mhandle_t region_;
};

struct Connected {
  InitializedLibrary library;
  Queue queue;
  Memory memory{kBytes};
  Pair pair{queue};
  // A device may have pinned the pages, which outlive their mapping.
  const bool pinned = provider_of(pair.left) == "verbs";

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
  // is so where another thread drove at the time of the post, the send fails alone and right is told nothing.
  void check_transfer_fails(int type) {
    const std::string error = queue.next_outcome(pair.left, type);
    if (!pinned) BOOST_TEST(error != "0");
    if (!pinned || error != "EFAULT") check_fails(pair.right, EXS_EVT_RECV);
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
