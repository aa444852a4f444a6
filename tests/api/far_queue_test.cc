// Operations that name a queue of another shard than their connection's: a wait for the queue drives that shard, until the connection
// is gone.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <functional>
#include <thread>

#include "src/api/library.h"
#include "tests/support/environment_setting.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace far_queue_test {

struct Fixture {
  const EnvironmentSetting shards{"EXS_SHARDS", "2"};
  InitializedLibrary library;
  Queue home{64};
  Queue far{64};
  Memory memory{8192};

  [[nodiscard]] static bool drives_others(const Queue& queue) {
    return !Library::current()->queues.find(queue.handle())->far_shards().empty();
  }
  int receive(int socket, const Queue& queue, exs_mhandle_t region) {
    return exs_recv(socket, memory.at(4096), 64, 0, queue.handle(), nullptr, region);
  }
  // The thread that drives the shard may carry the operation out, a moment after the call.
  static void await_use(const Queue& queue) {
    while (!drives_others(queue)) std::this_thread::yield();
  }
  // Sockets are destroyed by the thread that drives, a moment after their last event.
  static void await_end(const Queue& queue) {
    while (drives_others(queue)) std::this_thread::yield();
  }
  // `post`(socket): one operation that names `far`.
  void names_its_queue(const std::function<int(int socket)>& post) {
    {
      const Pair pair(home);
      BOOST_TEST(!drives_others(far));
      BOOST_REQUIRE_EQUAL(post(pair.right), 0);
      await_use(far);
      BOOST_TEST(!drives_others(home));
    }
    await_end(far);
  }
};

}  // namespace far_queue_test

using far_queue_test::Fixture;

BOOST_FIXTURE_TEST_SUITE(far_queue_test, Fixture)

BOOST_AUTO_TEST_CASE(receives_make_the_shard_of_their_connection_known) {
  names_its_queue([&](int socket) { return receive(socket, far, memory.handle()); });
  names_its_queue([&](int socket) { return receive(socket, far, EXS_MHANDLE_UNREGISTERED); });
}

BOOST_AUTO_TEST_CASE(so_does_a_send_that_waits_for_its_peer) {
  names_its_queue([&](int socket) {
    return exs_send(socket, memory.at(), 64, EXS_NO_IMMEDIATE, far.handle(), nullptr, memory.handle());
  });
}

BOOST_AUTO_TEST_CASE(so_do_operations_of_control) {
  names_its_queue([&](int socket) {
    const exs_pollfd_t entry{.pfd_socket = socket, .pfd_events = EXS_POLLIN, .pfd_ahandle = nullptr};
    return exs_poll(&entry, 1, 0, far.handle()) == 1 ? 0 : -1;
  });
  names_its_queue([&](int socket) { return exs_window_map(socket, far.handle(), nullptr); });
}

BOOST_AUTO_TEST_CASE(an_accept_makes_the_shard_of_its_listening_socket_known) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  BOOST_REQUIRE_EQUAL(exs_bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  BOOST_REQUIRE_EQUAL(exs_listen(socket, 4), 0);
  BOOST_REQUIRE_EQUAL(exs_accept(socket, nullptr, 0, home.handle(), nullptr), 0);
  BOOST_TEST(!drives_others(far));
  BOOST_REQUIRE_EQUAL(exs_accept(socket, nullptr, 0, far.handle(), nullptr), 0);
  await_use(far);
  BOOST_REQUIRE_EQUAL(exs_close(socket), 0);
  await_end(far);
}

BOOST_AUTO_TEST_CASE(a_queue_that_is_deleted_first_leaves_nothing) {
  const Pair pair(home);
  {
    const Queue short_lived(4);  // on the home shard: queues take turns
    const Queue far_too(4);
    BOOST_REQUIRE_EQUAL(receive(pair.right, far_too, memory.handle()), 0);
    await_use(far_too);
    BOOST_REQUIRE_EQUAL(exs_cancel(pair.right, nullptr, EXS_CAF_FILDES), 1);
    exs_event_t event{};
    BOOST_REQUIRE_EQUAL(exs_qwait(far_too.handle(), &event, 1, 1, -1), 1);
  }
  BOOST_REQUIRE_EQUAL(receive(pair.right, far, memory.handle()), 0);
  await_use(far);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
