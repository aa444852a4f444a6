// Receives into a pool of buffers that many sockets share.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <deque>
#include <memory>
#include <set>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace data = boost::unit_test::data;

namespace exs::test {
namespace pooled_receive_test {

constexpr std::size_t kBufferBytes = 40'000;
constexpr std::uint32_t kBuffers = 4;
constexpr std::size_t kInside = 64;    // travels inside its advertisement
constexpr std::size_t kRead = 40'000;  // is read
const std::size_t kKinds[] = {kInside, kRead};

struct Fixture {
  InitializedLibrary library;
  Queue sends{256};
  Queue queue{64};
  Memory memory{2 * kRead};
  Memory buffers{kBuffers * kBufferBytes};
  exs_phandle_t pool = create();

  Fixture() { memory.fill(7); }
  ~Fixture() { exs_pool_delete(pool); }

  exs_phandle_t create(std::uint32_t count = kBuffers) {
    const exs_phandle_t made = exs_pool_create(buffers.at(), kBufferBytes, count, buffers.handle());
    BOOST_REQUIRE_GT(made, 0);
    return made;
  }
  void use_fewer_buffers(std::uint32_t count) {
    BOOST_REQUIRE_EQUAL(exs_pool_delete(pool), 0);
    pool = create(count);
  }
  void receive(int socket, void* handle = nullptr) {
    BOOST_REQUIRE_EQUAL(outcome(exs_recv_pooled(socket, pool, 0, queue.handle(), handle)), "ok");
  }
  // Different for each number.
  std::byte* message(std::size_t number) { return memory.at(number); }
  void send(int socket, std::size_t number, std::size_t length) {
    BOOST_REQUIRE_EQUAL(
        exs_send(socket, message(number), length, 0, sends.handle(), nullptr, memory.handle()), 0);
  }
  exs_event_t received(int socket) { return queue.next_of(socket, EXS_EVT_RECV); }
  void give_back(const exs_event_t& event) {
    BOOST_TEST(exs_pool_return(pool, event.exs_evt_union.exs_evt_xfer.exs_evt_buf) == 0);
  }
  bool is_message(const exs_event_t& event, std::size_t number, std::size_t length) {
    const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
    return event.exs_evt_errno == 0 && (event.exs_evt_flags & EXS_EVF_MORE) != 0 &&
           transfer.exs_evt_length == length && transfer.exs_evt_bufsize == kBufferBytes &&
           transfer.exs_evt_mhandle == buffers.handle() &&
           std::memcmp(transfer.exs_evt_buf, message(number), length) == 0;
  }
  // Cancels the receive, and returns the name of its last event's error.
  std::string end(int socket) {
    BOOST_TEST(exs_cancel(socket, nullptr, EXS_CAF_FILDES) == 1);
    return last_of(socket);
  }
  std::string last_of(int socket) {
    const exs_event_t event = received(socket);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_MORE) == 0U);
    BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_buf == nullptr);
    const bool at_end = (event.exs_evt_flags & EXS_EVF_EOF) != 0;
    return at_end ? "EOF" : errno_name(event.exs_evt_errno);
  }
};

}  // namespace pooled_receive_test

BOOST_FIXTURE_TEST_SUITE(pooled_receive_test, Fixture)

BOOST_DATA_TEST_CASE(each_message_comes_in_a_buffer_of_the_pool, data::make(kKinds), length) {
  Pair pair(sends, queue);
  int tag = 0;
  receive(pair.right, &tag);
  for (std::size_t i = 0; i < 3 * kBuffers; ++i) {
    send(pair.left, i, length);
    const exs_event_t event = received(pair.right);
    BOOST_TEST(is_message(event, i, length));
    BOOST_TEST(event.exs_evt_ahandle == &tag);
    give_back(event);
  }
  send(pair.left, 0, 0);  // an empty message is one
  const exs_event_t empty = received(pair.right);
  BOOST_TEST(is_message(empty, 0, 0));
  give_back(empty);
  BOOST_TEST(end(pair.right) == "ECANCELED");
}

BOOST_DATA_TEST_CASE(messages_wait_while_no_buffer_is_free, data::make(kKinds), length) {
  Pair pair(sends, queue);
  receive(pair.right);
  constexpr std::size_t kMessages = 3 * kBuffers;
  for (std::size_t i = 0; i < kMessages; ++i) send(pair.left, i, length);
  std::deque<exs_event_t> held;
  for (std::size_t i = 0; i < kBuffers; ++i) held.push_back(received(pair.right));
  BOOST_TEST(queue.empty());
  std::set<void*> different;
  for (std::size_t i = 0; i < kMessages; ++i) {
    BOOST_TEST(is_message(held.front(), i, length));
    different.insert(held.front().exs_evt_union.exs_evt_xfer.exs_evt_buf);
    give_back(held.front());
    held.pop_front();
    if (i + kBuffers < kMessages) held.push_back(received(pair.right));
  }
  BOOST_TEST(different.size() == kBuffers);
  BOOST_TEST(end(pair.right) == "ECANCELED");
}

BOOST_DATA_TEST_CASE(messages_wait_while_no_slot_is_free, data::make(kKinds), length) {
  Queue narrow(2);  // one slot is for the last event
  Pair pair(sends, narrow);
  BOOST_REQUIRE_EQUAL(exs_recv_pooled(pair.right, pool, 0, narrow.handle(), nullptr), 0);
  for (std::size_t i = 0; i < 6; ++i) send(pair.left, i, length);
  for (std::size_t i = 0; i < 6; ++i) {
    const exs_event_t event = narrow.next();
    BOOST_TEST(is_message(event, i, length));
    give_back(event);
  }
  BOOST_TEST(exs_cancel(pair.right, nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(narrow.next_outcome(pair.right, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(many_sockets_share_a_buffer) {
  use_fewer_buffers(1);
  std::vector<std::unique_ptr<Pair>> pairs;
  for (std::size_t i = 0; i < 8; ++i) {
    pairs.push_back(std::make_unique<Pair>(sends, queue));
    receive(pairs[i]->right);
    send(pairs[i]->left, i, kInside);
    send(pairs[i]->left, i, kRead);
  }
  std::vector<int> messages(pairs.size());
  for (std::size_t count = 0; count < 2 * pairs.size(); ++count) {
    const exs_event_t event = queue.next();
    std::size_t who = 0;
    while (pairs[who]->right != event.exs_evt_socket) ++who;
    BOOST_TEST(is_message(event, who, messages[who]++ == 0 ? kInside : kRead));
    give_back(event);
  }
  for (const auto& pair : pairs) BOOST_TEST(end(pair->right) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(the_end_of_the_peer_is_the_last_event) {
  Pair pair(sends, queue);
  receive(pair.right);
  send(pair.left, 1, kInside);
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  const exs_event_t event = received(pair.right);
  BOOST_TEST(is_message(event, 1, kInside));
  BOOST_TEST(last_of(pair.right) == "EOF");
  BOOST_TEST(exs_pool_delete(pool) == 0);  // nothing takes buffers any more; this one is ours
  BOOST_TEST(std::memcmp(event.exs_evt_union.exs_evt_xfer.exs_evt_buf, message(1), kInside) == 0);
  pool = create();
}

// shows: exs_recv_pooled event ECANCELED
BOOST_AUTO_TEST_CASE(a_close_ends_it_before_its_own_event) {
  Pair pair(sends, queue);
  receive(pair.right);
  BOOST_REQUIRE_EQUAL(exs_close_async(pair.right, 0, queue.handle(), nullptr), 0);
  BOOST_TEST(last_of(pair.right) == "ECANCELED");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_CLOSE) == "0");
}

// shows: exs_recv_pooled event ECONNRESET, exs_recv_pooled ENOTCONN
BOOST_AUTO_TEST_CASE(a_broken_connection_ends_it) {
  Pair pair(sends, queue);
  receive(pair.right);
  BOOST_TEST(set_option(pair.left, EXS_SO_LINGER_MS, 0) == 0);
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(last_of(pair.right) == "ECONNRESET");
  BOOST_TEST(outcome(exs_recv_pooled(pair.right, pool, 0, queue.handle(), nullptr)) == "ENOTCONN");
}

BOOST_AUTO_TEST_CASE(a_stream_comes_in_pieces) {
  Pair pair(sends, queue, nullptr, SOCK_STREAM);
  receive(pair.right);
  for (const std::size_t length : {kInside, 2 * kRead}) {
    send(pair.left, 0, length);
    std::vector<std::byte> all;
    while (all.size() < length) {
      const exs_event_t event = received(pair.right);
      BOOST_REQUIRE_EQUAL(errno_name(event.exs_evt_errno), "0");
      const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
      const auto* const bytes = static_cast<const std::byte*>(transfer.exs_evt_buf);
      all.insert(all.end(), bytes, bytes + transfer.exs_evt_length);
      give_back(event);
    }
    BOOST_TEST(all.size() == length);
    BOOST_TEST(std::memcmp(all.data(), message(0), length) == 0);
  }
  BOOST_TEST(exs_shutdown(pair.left, SHUT_WR) == 0);
  BOOST_TEST(last_of(pair.right) == "EOF");
}

// shows: exs_recv_pooled EBUSY, exs_recv EBUSY, exs_pool_delete EBUSY
BOOST_AUTO_TEST_CASE(it_owns_its_direction_and_its_pool) {
  Pair pair(sends, queue);
  receive(pair.right);
  BOOST_TEST(outcome(exs_recv_pooled(pair.right, pool, 0, queue.handle(), nullptr)) == "EBUSY");
  BOOST_TEST(outcome(exs_recv(pair.right, memory.at(), 1, 0, queue.handle(), nullptr, memory.handle())) ==
             "EBUSY");
  BOOST_TEST(outcome(exs_pool_delete(pool)) == "EBUSY");
  BOOST_TEST(outcome(exs_mderegister(buffers.handle(), 0)) == "EBUSY");
  BOOST_TEST(end(pair.right) == "ECANCELED");
  send(pair.left, 3, kInside);
  BOOST_TEST(exs_recv(pair.right, memory.at(), kInside, 0, queue.handle(), nullptr, memory.handle()) == 0);
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
}

// Also where the peer's memory could be read in the call.
BOOST_AUTO_TEST_CASE(it_owns_its_direction_beside_memory_of_the_peer) {
  use_fewer_buffers(1);
  Pair pair(sends, queue);
  receive(pair.right);
  BOOST_REQUIRE_EQUAL(
      exs_send(pair.left, memory.at(), kInside, EXS_PERSISTENT, sends.handle(), nullptr, memory.handle()), 0);
  const exs_event_t event = received(pair.right);  // what it reads into the only buffer
  BOOST_TEST(outcome(exs_recv(pair.right, memory.at(kRead), kInside, 0, queue.handle(), nullptr,
                              memory.handle())) == "EBUSY");
  BOOST_TEST(end(pair.right) == "ECANCELED");
  give_back(event);
}

// shows: exs_pool_return EINVAL
BOOST_AUTO_TEST_CASE(only_what_was_given_out_is_taken_back) {
  Pair pair(sends, queue);
  receive(pair.right);
  BOOST_TEST(outcome(exs_pool_return(pool, buffers.at())) == "EINVAL");
  send(pair.left, 0, kInside);
  const exs_event_t event = received(pair.right);
  auto* const buffer = static_cast<std::byte*>(event.exs_evt_union.exs_evt_xfer.exs_evt_buf);
  BOOST_TEST(outcome(exs_pool_return(pool, buffer + 1)) == "EINVAL");
  BOOST_TEST(outcome(exs_pool_return(pool, nullptr)) == "EINVAL");
  BOOST_TEST(outcome(exs_pool_return(pool, buffers.at() + kBuffers * kBufferBytes)) == "EINVAL");
  give_back(event);
  BOOST_TEST(outcome(exs_pool_return(pool, buffer)) == "EINVAL");
  BOOST_TEST(end(pair.right) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_message_longer_than_a_buffer_is_cut) {
  Pair pair(sends, queue);
  receive(pair.right);
  send(pair.left, 0, kBufferBytes + 5);
  const exs_event_t event = received(pair.right);
  BOOST_TEST((event.exs_evt_flags & EXS_EVF_TRUNC) != 0U);
  BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_length == kBufferBytes);
  BOOST_TEST(event.exs_evt_union.exs_evt_xfer.exs_evt_offset == kBufferBytes + 5);
  give_back(event);
  BOOST_TEST(end(pair.right) == "ECANCELED");
}

// shows: exs_pool_create EFAULT EINVAL, exs_pool_delete EINVAL
BOOST_AUTO_TEST_CASE(a_pool_needs_memory_that_receives_may_write) {
  const auto create = [&](std::byte* first, std::size_t bytes, std::uint32_t count, exs_mhandle_t region) {
    return outcome(exs_pool_create(first, bytes, count, region));
  };
  BOOST_TEST(create(buffers.at(), kBufferBytes, kBuffers + 1, buffers.handle()) == "EFAULT");
  BOOST_TEST(create(buffers.at() + 1, kBufferBytes, kBuffers, buffers.handle()) == "EFAULT");
  BOOST_TEST(create(buffers.at(), SIZE_MAX / 2, 3, buffers.handle()) == "EFAULT");
  BOOST_TEST(create(buffers.at(), 0, kBuffers, buffers.handle()) == "EINVAL");
  BOOST_TEST(create(buffers.at(), kBufferBytes, 0, buffers.handle()) == "EINVAL");
  BOOST_TEST(create(buffers.at(), kBufferBytes, kBuffers, static_cast<exs_mhandle_t>(queue.handle())) ==
             "EINVAL");
  BOOST_TEST(create(buffers.at(), kBufferBytes, kBuffers, static_cast<exs_mhandle_t>(pool)) == "EINVAL");
  static const std::byte constant[64] = {};
  auto* const unwritable = const_cast<std::byte*>(constant);  // the call is to refuse it
  const exs_mhandle_t region = exs_mregister(unwritable, sizeof constant, 0);
  BOOST_TEST(create(unwritable, sizeof constant, 1, region) == "EFAULT");
  BOOST_TEST(exs_mderegister(region, 0) == 0);
  const exs_phandle_t second = this->create(1);
  BOOST_TEST(exs_pool_delete(second) == 0);
  BOOST_TEST(outcome(exs_pool_delete(second)) == "EINVAL");
  BOOST_TEST(outcome(exs_pool_delete(static_cast<exs_phandle_t>(buffers.handle()))) == "EINVAL");
}

// shows: exs_recv_pooled EAGAIN EBADF EINVAL
BOOST_AUTO_TEST_CASE(a_refused_receive_takes_nothing) {
  Pair pair(sends, queue);
  Queue full(1);
  BOOST_TEST(exs_qpost(full.handle(), nullptr, nullptr) == 0);
  const auto post = [&](int socket, exs_phandle_t from, int flags, exs_qhandle_t into) {
    return outcome(exs_recv_pooled(socket, from, flags, into, nullptr));
  };
  BOOST_TEST(post(pair.right, pool, 0, full.handle()) == "EAGAIN");
  BOOST_TEST(post(100'000, pool, 0, queue.handle()) == "EBADF");
  BOOST_TEST(post(pair.right, pool, 0, EXS_QHANDLE_INVALID) == "EBADF");
  BOOST_TEST(post(pair.right, pool, 1, queue.handle()) == "EINVAL");
  BOOST_TEST(post(pair.right, EXS_PHANDLE_INVALID, 0, queue.handle()) == "EINVAL");
  BOOST_TEST(post(pair.right, static_cast<exs_phandle_t>(buffers.handle()), 0, queue.handle()) == "EINVAL");
  BOOST_TEST(exs_pool_delete(pool) == 0);  // no use of it is left
  pool = create();
  receive(pair.right);
  BOOST_TEST(end(pair.right) == "ECANCELED");
  full.next();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
