// exs_send_sync, exs_recv_sync: results, refusals, signals.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace sync_test {

std::string told(ssize_t result) {
  return result >= 0 ? std::to_string(result) : errno_name(errno);
}

void ignore_signal(int) {}

struct Fixture {
  InitializedLibrary library;
  Queue queue{16};
  Memory memory{1 << 18};
  Memory sink{1 << 18};
  Pair pair{queue};

  Fixture() {
    struct sigaction action {};
    action.sa_handler = ignore_signal;
    ::sigaction(SIGUSR1, &action, nullptr);
    memory.fill(5);
  }
  ~Fixture() { ::signal(SIGUSR1, SIG_DFL); }

  ssize_t send(std::size_t length, int flags = 0) {
    return exs_send_sync(pair.left, memory.at(), length, flags, memory.handle());
  }
  ssize_t receive(std::size_t length, int flags = 0) {
    return exs_recv_sync(pair.right, sink.at(), length, flags, sink.handle());
  }
};

}  // namespace sync_test

BOOST_FIXTURE_TEST_SUITE(sync_test, Fixture)

BOOST_AUTO_TEST_CASE(two_threads_talk_without_a_queue) {
  const std::size_t lengths[] = {0, 1, 64, 1024, 1025, 200'000};
  std::string sent;
  WaitingThread sender([&] {
    for (const std::size_t length : lengths) sent += told(send(length)) + " ";
  });
  for (const std::size_t length : lengths) {
    BOOST_TEST(told(receive(sink.size_bytes())) == std::to_string(length));
    BOOST_TEST(std::memcmp(memory.at(), sink.at(), length) == 0);
  }
  sender.join();
  BOOST_TEST(sent == "0 1 64 1024 1025 200000 ");
  BOOST_TEST(queue.empty());
}

BOOST_AUTO_TEST_CASE(unregistered_memory_will_do) {
  std::vector<std::byte> there(100'000, std::byte{7});
  std::vector<std::byte> here(100'000);
  WaitingThread sender(
      [&] { exs_send_sync(pair.left, there.data(), there.size(), 0, EXS_MHANDLE_UNREGISTERED); });
  BOOST_TEST(told(exs_recv_sync(pair.right, here.data(), here.size(), 0, EXS_MHANDLE_UNREGISTERED)) ==
             "100000");
  sender.join();
  BOOST_TEST(here == there);
}

BOOST_AUTO_TEST_CASE(the_end_of_the_peers_sending_is_zero_bytes) {
  BOOST_REQUIRE_EQUAL(exs_shutdown(pair.left, SHUT_WR), 0);
  BOOST_TEST(told(receive(10)) == "0");
  BOOST_TEST(told(send(10)) == "EPIPE");
}

BOOST_AUTO_TEST_CASE(what_would_need_another_call_is_refused) {
  for (const int flag : {EXS_PERSISTENT, EXS_NO_EVENT, EXS_PERSISTENT | EXS_NOTIFY, int{MSG_OOB}}) {
    BOOST_TEST(told(send(10, flag)) == "EOPNOTSUPP");
    BOOST_TEST(told(receive(10, flag)) == "EOPNOTSUPP");
  }
  BOOST_TEST(told(send(10, MSG_MORE)) == "EOPNOTSUPP");
  BOOST_TEST(told(exs_send_sync(-1, memory.at(), 1, 0, memory.handle())) == "EBADF");
  const int fresh = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(told(exs_recv_sync(fresh, memory.at(), 1, 0, memory.handle())) == "ENOTCONN");
  exs_close(fresh);
  BOOST_TEST(told(exs_send_sync(pair.left, memory.at(), 1 << 19, 0, memory.handle())) == "EFAULT");
  BOOST_TEST(told(exs_send_sync(pair.left, memory.at(), 1, 0, EXS_MHANDLE_INVALID)) == "EINVAL");
}

BOOST_AUTO_TEST_CASE(a_last_send_ends_the_direction) {
  WaitingThread receiver([&] { receive(10); });
  BOOST_TEST(told(send(10, EXS_SHUT_WR)) == "10");
  receiver.join();
  BOOST_TEST(told(receive(10)) == "0");
}

BOOST_AUTO_TEST_CASE(a_signal_takes_a_receive_back_and_the_next_one_works) {
  std::string result;
  WaitingThread receiver([&] { result = told(receive(10)); });
  receiver.await_sleep();
  receiver.interrupt(SIGUSR1);
  receiver.join();
  BOOST_TEST(result == "EINTR");
  BOOST_TEST(exs_mderegister(sink.handle(), 0) == 0);
  BOOST_REQUIRE_EQUAL(exs_send(pair.left, memory.at(), 9, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(told(exs_recv_sync(pair.right, memory.at(100), 10, 0, memory.handle())) == "9");
}

BOOST_AUTO_TEST_CASE(a_close_ends_a_receive_that_waits) {
  std::string result;
  WaitingThread receiver([&] { result = told(receive(10)); });
  receiver.await_sleep();
  BOOST_REQUIRE_EQUAL(exs_close(pair.right), 0);
  receiver.join();
  BOOST_TEST(result == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(a_cancel_of_the_socket_ends_a_receive_that_waits) {
  std::string result;
  WaitingThread receiver([&] { result = told(receive(10)); });
  receiver.await_sleep();
  BOOST_TEST(exs_cancel(pair.right, nullptr, EXS_CAF_FILDES) == 1);
  receiver.join();
  BOOST_TEST(result == "ECANCELED");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
