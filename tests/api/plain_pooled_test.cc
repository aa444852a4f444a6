// Kernel stream sockets: receives into a pool, and accepts that stay.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cstring>
#include <vector>

#include "tests/api/kernel_sockets.h"

using namespace exs::test;

namespace plain_pooled_test {

constexpr std::size_t kBufferBytes = 4096;
constexpr std::uint32_t kBuffers = 2;

struct Fixture {
  InitializedLibrary library;
  Queue queue{64};
  Memory buffers{kBuffers * kBufferBytes};
  exs_phandle_t pool = exs_pool_create(buffers.at(), kBufferBytes, kBuffers, buffers.handle());

  static std::vector<std::byte> bytes(std::size_t count) {
    std::vector<std::byte> made(count);
    for (std::size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(i * 7);
    return made;
  }
  exs_event_t received(int socket) { return queue.next_of(socket, EXS_EVT_RECV); }
};

}  // namespace plain_pooled_test

BOOST_FIXTURE_TEST_SUITE(plain_pooled_test, Fixture)

BOOST_AUTO_TEST_CASE(bytes_come_in_buffers_of_the_pool) {
  KernelPair pair;
  const int socket = pair.near.number();
  BOOST_REQUIRE_EQUAL(outcome(exs_recv_pooled(socket, pool, 0, queue.handle(), this)), "ok");
  const auto sent = bytes(10 * kBufferBytes);
  BOOST_TEST(pair.far.write_all(sent));
  std::vector<std::byte> all;
  while (all.size() < sent.size()) {
    const exs_event_t event = received(socket);
    BOOST_REQUIRE_EQUAL(errno_name(event.exs_evt_errno), "0");
    BOOST_TEST(event.exs_evt_ahandle == this);
    const exs_evt_xfer_t& transfer = event.exs_evt_union.exs_evt_xfer;
    const auto* const first = static_cast<const std::byte*>(transfer.exs_evt_buf);
    all.insert(all.end(), first, first + transfer.exs_evt_length);
    BOOST_TEST(exs_pool_return(pool, transfer.exs_evt_buf) == 0);
  }
  BOOST_TEST((all == sent));
  pair.far.close();
  const exs_event_t last = received(socket);
  BOOST_TEST((last.exs_evt_flags & (EXS_EVF_EOF | EXS_EVF_MORE)) == EXS_EVF_EOF);
  BOOST_TEST(last.exs_evt_errno == 0);
  BOOST_TEST(exs_pool_delete(pool) == 0);
}

BOOST_AUTO_TEST_CASE(a_cancel_ends_it_and_leaves_the_bytes) {
  KernelPair pair;
  const int socket = pair.near.number();
  BOOST_REQUIRE_EQUAL(exs_recv_pooled(socket, pool, 0, queue.handle(), this), 0);
  BOOST_TEST(exs_cancel(socket, this, EXS_CAF_FILDES | EXS_CAF_AHANDLE) == 1);
  BOOST_TEST(errno_name(received(socket).exs_evt_errno) == "ECANCELED");
  const auto sent = bytes(100);
  BOOST_TEST(pair.far.write_all(sent));
  BOOST_TEST((pair.near.read(100) == sent));
}

BOOST_AUTO_TEST_CASE(a_reset_ends_it) {
  KernelPair pair;
  const int socket = pair.near.number();
  BOOST_REQUIRE_EQUAL(exs_recv_pooled(socket, pool, 0, queue.handle(), this), 0);
  pair.far.reset();
  BOOST_TEST(errno_name(received(socket).exs_evt_errno) == "ECONNRESET");
}

BOOST_AUTO_TEST_CASE(one_accept_takes_every_connection) {
  KernelListener listener;
  const int number = listener.socket.number();
  Queue narrow(2);  // one slot is for the last event
  BOOST_REQUIRE_EQUAL(exs_accept(number, nullptr, EXS_MULTISHOT, narrow.handle(), nullptr), 0);
  std::vector<KernelSocket> clients;
  for (int i = 0; i < 5; ++i) {
    clients.push_back(listener.connect());
    BOOST_REQUIRE_GE(clients.back().number(), 0);
  }
  for (int i = 0; i < 5; ++i) {
    const exs_event_t event = narrow.next_of(number, EXS_EVT_ACCEPT);
    BOOST_TEST((event.exs_evt_flags & EXS_EVF_MORE) != 0U);
    BOOST_TEST(exs_close(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket) == 0);
  }
  BOOST_TEST(exs_cancel(number, nullptr, EXS_CAF_FILDES) == 1);
  BOOST_TEST(narrow.next_outcome(number, EXS_EVT_ACCEPT) == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()
