// exs_qcreate, exs_qdelete, exs_qmodify, exs_qstatus, and slots.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace queue_test {

struct Fixture {
  InitializedLibrary library;
};

struct Connected : Fixture {
  Queue connecting;
  Memory memory{4096};
  Pair pair{connecting};

  int receive(exs_qhandle_t queue) {
    return exs_recv(pair.right, memory.at(), 16, 0, queue, nullptr, memory.handle());
  }
  int send(exs_qhandle_t queue) {
    return exs_send(pair.left, memory.at(), 16, 0, queue, nullptr, memory.handle());
  }
};

std::string set(exs_qhandle_t queue, int name, int value) {
  return outcome(exs_qmodify(queue, name, &value, sizeof value));
}

}  // namespace queue_test

BOOST_AUTO_TEST_SUITE(queue_test)

BOOST_FIXTURE_TEST_CASE(depth_has_limits, Fixture) {
  for (const int depth : {0, -1, EXS_QDEPTH_MAX + 1, 1 << 31})
    BOOST_TEST(outcome(exs_qcreate(depth)) == "EINVAL");
  for (const int depth : {1, EXS_QDEPTH_MAX}) {
    const exs_qhandle_t queue = exs_qcreate(depth);
    BOOST_TEST(queue > 0);
    BOOST_TEST(attribute(queue, EXS_QATTR_DEPTH) == depth);
    BOOST_TEST(exs_qdelete(queue) == 0);
  }
}

BOOST_FIXTURE_TEST_CASE(a_queue_without_descriptors_is_enomem, Fixture) {
  if (kSanitized) {
    std::puts("skipped: a sanitizer needs descriptors of its own");
    return;
  }
  const Queue first;  // so that the shard has opened its own descriptors
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  std::vector<exs_qhandle_t> queues;
  const rlimit none{.rlim_cur = open_descriptors(), .rlim_max = before.rlim_max};
  ::setrlimit(RLIMIT_NOFILE, &none);
  exs_qhandle_t queue{};
  while ((queue = exs_qcreate(1)) > 0) queues.push_back(queue);
  const std::string error = errno_name(errno);
  ::setrlimit(RLIMIT_NOFILE, &before);
  BOOST_TEST(error == "ENOMEM");
  for (const exs_qhandle_t each : queues) BOOST_TEST(exs_qdelete(each) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_stale_queue_is_ebadf_everywhere, Fixture) {
  const exs_qhandle_t stale = exs_qcreate(4);
  BOOST_TEST(exs_qdelete(stale) == 0);
  const Queue fresh(4);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  exs_event_t event{};
  int value = 1;
  std::size_t length = sizeof value;
  for (const exs_qhandle_t queue : {stale, EXS_QHANDLE_INVALID, exs_qhandle_t{0}, exs_qhandle_t{1 << 29}}) {
    BOOST_TEST(outcome(exs_qdelete(queue)) == "EBADF");
    BOOST_TEST(outcome(exs_qdequeue(queue, &event, 1, nullptr)) == "EBADF");
    BOOST_TEST(outcome(exs_qdequeue(queue, &event, 0, nullptr)) == "EBADF");
    BOOST_TEST(outcome(exs_qwait(queue, &event, 1, 1, 0)) == "EBADF");
    BOOST_TEST(outcome(exs_qmodify(queue, EXS_QATTR_DEPTH, &value, sizeof value)) == "EBADF");
    BOOST_TEST(outcome(exs_qstatus(queue, EXS_QATTR_DEPTH, &value, &length)) == "EBADF");
    BOOST_TEST(outcome(exs_qfd(queue)) == "EBADF");
    BOOST_TEST(outcome(exs_accept(listening.number(), nullptr, 0, queue, nullptr)) == "EBADF");
    BOOST_TEST(outcome(exs_connect(socket, generic(address), sizeof address, 0, queue, nullptr)) == "EBADF");
  }
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(settable_attributes_check_name_value_and_length, Fixture) {
  const Queue queue(8);
  const exs_qhandle_t handle = queue.handle();
  int value = 16;
  std::uint64_t spin_ns = 0;
  BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_DEPTH, nullptr, sizeof value)) == "EFAULT");
  for (const std::size_t length : {0UL, 1UL, 3UL, 5UL, 8UL}) {
    BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_DEPTH, &spin_ns, length)) == "EINVAL");
    BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_WAIT, &spin_ns, length)) == "EINVAL");
  }
  for (const std::size_t length : {0UL, 4UL, 7UL}) {
    BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_SPIN_NS, &spin_ns, length)) == "EINVAL");
  }
  for (const int name : {0, 2, int{EXS_QATTR_EVENTS}, int{EXS_QATTR_RESERVED_SLOTS}, 65, 67, -1}) {
    BOOST_TEST(set(handle, name, 16) == "EINVAL");
  }
  for (const int depth : {0, -1, EXS_QDEPTH_MAX + 1})
    BOOST_TEST(set(handle, EXS_QATTR_DEPTH, depth) == "EINVAL");
  for (const int mode : {-1, 3}) BOOST_TEST(set(handle, EXS_QATTR_WAIT, mode) == "EINVAL");
  BOOST_TEST(attribute(handle, EXS_QATTR_DEPTH) == 8);
  BOOST_TEST(attribute(handle, EXS_QATTR_WAIT) == EXS_WAIT_ADAPTIVE);
}

BOOST_FIXTURE_TEST_CASE(attributes_tell_what_was_set, Fixture) {
  const Queue queue(8);
  const exs_qhandle_t handle = queue.handle();
  BOOST_TEST(set(handle, EXS_QATTR_DEPTH, 16) == "ok");
  BOOST_TEST(attribute(handle, EXS_QATTR_DEPTH) == 16);
  for (const int mode : {EXS_WAIT_NOTIFY, EXS_WAIT_BUSY_POLL, EXS_WAIT_ADAPTIVE}) {
    BOOST_TEST(set(handle, EXS_QATTR_WAIT, mode) == "ok");
    BOOST_TEST(attribute(handle, EXS_QATTR_WAIT) == mode);
  }
  for (const std::uint64_t spin_ns : {std::uint64_t{0}, UINT64_MAX}) {
    std::uint64_t told_ns = 1;
    std::size_t length = 100;
    BOOST_TEST(exs_qmodify(handle, EXS_QATTR_SPIN_NS, &spin_ns, sizeof spin_ns) == 0);
    BOOST_TEST(exs_qstatus(handle, EXS_QATTR_SPIN_NS, &told_ns, &length) == 0);
    BOOST_TEST(told_ns == spin_ns);
    BOOST_TEST(length == sizeof told_ns);
  }
  BOOST_TEST(attribute(handle, EXS_QATTR_EVENTS) == 0);
  BOOST_TEST(attribute(handle, EXS_QATTR_RESERVED_SLOTS) == 0);
}

BOOST_FIXTURE_TEST_CASE(status_checks_name_room_and_pointers, Fixture) {
  const Queue queue;
  int value = 77;
  std::size_t length = sizeof value;
  BOOST_TEST(outcome(exs_qstatus(queue.handle(), EXS_QATTR_DEPTH, nullptr, &length)) == "EFAULT");
  BOOST_TEST(outcome(exs_qstatus(queue.handle(), EXS_QATTR_DEPTH, &value, nullptr)) == "EFAULT");
  for (const int name : {0, 2, 5, 65, -1})
    BOOST_TEST(outcome(exs_qstatus(queue.handle(), name, &value, &length)) == "EINVAL");
  BOOST_TEST(outcome(exs_qstatus(queue.handle(), EXS_QATTR_SPIN_NS, &value, &length)) == "EINVAL");
  length = 3;
  BOOST_TEST(outcome(exs_qstatus(queue.handle(), EXS_QATTR_DEPTH, &value, &length)) == "EINVAL");
  BOOST_TEST(value == 77);
  BOOST_TEST(length == 3U);
}

BOOST_FIXTURE_TEST_CASE(a_post_takes_a_slot_until_its_event_is_dequeued, Connected) {
  Queue queue(3);
  for (int i = 0; i < 3; ++i) BOOST_REQUIRE_EQUAL(receive(queue.handle()), 0);
  BOOST_TEST(outcome(receive(queue.handle())) == "EAGAIN");
  BOOST_TEST(outcome(send(queue.handle())) == "EAGAIN");
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 3);
  BOOST_REQUIRE_EQUAL(send(connecting.handle()), 0);
  BOOST_TEST(connecting.next_outcome(pair.left, EXS_EVT_SEND) == "0");
  exs_event_t event{};
  BOOST_TEST(exs_qwait(queue.handle(), &event, 1, 1, -1) == 1);
  BOOST_TEST(attribute(queue.handle(), EXS_QATTR_RESERVED_SLOTS) == 2);
  BOOST_TEST(receive(queue.handle()) == 0);
  BOOST_TEST(outcome(receive(queue.handle())) == "EAGAIN");
}

BOOST_FIXTURE_TEST_CASE(an_event_that_waits_keeps_its_slot, Connected) {
  Queue queue(1);
  BOOST_REQUIRE_EQUAL(receive(queue.handle()), 0);
  BOOST_REQUIRE_EQUAL(send(connecting.handle()), 0);
  while (attribute(queue.handle(), EXS_QATTR_EVENTS) == 0) std::this_thread::yield();
  BOOST_TEST(outcome(receive(queue.handle())) == "EAGAIN");
  BOOST_TEST(queue.next_outcome(pair.right, EXS_EVT_RECV) == "0");
  BOOST_TEST(receive(queue.handle()) == 0);
}

BOOST_FIXTURE_TEST_CASE(connect_and_accept_need_a_slot_too, Connected) {
  Queue queue(1);
  BOOST_REQUIRE_EQUAL(receive(queue.handle()), 0);
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(outcome(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr)) == "EAGAIN");
  BOOST_TEST(outcome(exs_connect(socket, generic(address), sizeof address, 0, queue.handle(), nullptr)) ==
             "EAGAIN");
  // The refused calls changed nothing: both work with a queue that has a free slot.
  BOOST_TEST(exs_accept(listening.number(), nullptr, 0, connecting.handle(), nullptr) == 0);
  BOOST_TEST(exs_connect(socket, generic(address), sizeof address, 0, connecting.handle(), nullptr) == 0);
  BOOST_TEST(connecting.next_outcome(socket, EXS_EVT_CONNECT) == "0");
  BOOST_TEST(connecting.next_outcome(listening.number(), EXS_EVT_ACCEPT) == "0");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_FIXTURE_TEST_CASE(depth_cannot_go_below_the_slots_taken, Connected) {
  Queue queue(4);
  BOOST_REQUIRE_EQUAL(receive(queue.handle()), 0);
  BOOST_REQUIRE_EQUAL(receive(queue.handle()), 0);
  BOOST_TEST(set(queue.handle(), EXS_QATTR_DEPTH, 1) == "EBUSY");
  BOOST_TEST(set(queue.handle(), EXS_QATTR_DEPTH, 2) == "ok");
  BOOST_TEST(outcome(receive(queue.handle())) == "EAGAIN");
  BOOST_TEST(set(queue.handle(), EXS_QATTR_DEPTH, 3) == "ok");
  BOOST_TEST(outcome(receive(queue.handle())) == "ok");
  exs_close(pair.right);
}

BOOST_FIXTURE_TEST_CASE(delete_is_busy_while_operations_name_the_queue, Connected) {
  const exs_qhandle_t queue = exs_qcreate(4);
  BOOST_REQUIRE_EQUAL(receive(queue), 0);
  BOOST_TEST(outcome(exs_qdelete(queue)) == "EBUSY");
  BOOST_TEST(exs_close(pair.right) == 0);
  BOOST_TEST(attribute(queue, EXS_QATTR_EVENTS) == 1);
  BOOST_TEST(exs_qdelete(queue) == 0);  // the event still in it is dropped
}

BOOST_FIXTURE_TEST_CASE(delete_is_busy_while_a_thread_waits, Connected) {
  const exs_qhandle_t queue = exs_qcreate(4);
  exs_event_t events[2];
  int taken = 0;
  WaitingThread waiting([&] { taken = exs_qwait(queue, events, 2, 2, -1); });
  waiting.await_sleep();
  BOOST_TEST(outcome(exs_qdelete(queue)) == "EBUSY");
  for (int i = 0; i < 2; ++i) {
    BOOST_REQUIRE_EQUAL(receive(queue), 0);
    BOOST_REQUIRE_EQUAL(send(connecting.handle()), 0);
  }
  waiting.join();
  BOOST_TEST(taken == 2);
  BOOST_TEST(exs_qdelete(queue) == 0);
}

BOOST_FIXTURE_TEST_CASE(a_queue_that_stops_being_empty_sends_a_signal, Fixture) {
  sigset_t realtime;
  sigset_t before;
  ::sigemptyset(&realtime);
  ::sigaddset(&realtime, SIGRTMIN);
  ::pthread_sigmask(SIG_BLOCK, &realtime, &before);
  const auto pending = [&] {
    const timespec now{};
    siginfo_t info{};
    if (::sigtimedwait(&realtime, &info, &now) != SIGRTMIN) return static_cast<void*>(nullptr);
    BOOST_TEST(info.si_code == SI_QUEUE);
    return info.si_value.sival_ptr;
  };
  Queue queue;
  const exs_qhandle_t handle = queue.handle();
  exs_signal_t wish{EXS_SIG_ENABLE, SIGRTMIN, &queue};
  for (const exs_signal_t& wrong :
       {exs_signal_t{EXS_SIG_ENABLE, 0, nullptr}, exs_signal_t{EXS_SIG_ENABLE, SIGRTMAX + 1, nullptr},
        exs_signal_t{2, SIGRTMIN, nullptr}, exs_signal_t{-1, SIGRTMIN, nullptr}}) {
    BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_SIGNAL, &wrong, sizeof wrong)) == "EINVAL");
  }
  BOOST_TEST(outcome(exs_qmodify(handle, EXS_QATTR_SIGNAL, &wish, sizeof(int))) == "EINVAL");
  BOOST_TEST(exs_qpost(handle, nullptr, nullptr) == 0);
  BOOST_TEST(pending() == nullptr);  // the signal is off
  queue.next();
  BOOST_TEST(exs_qmodify(handle, EXS_QATTR_SIGNAL, &wish, sizeof wish) == 0);
  exs_signal_t found{};
  std::size_t length = sizeof found;
  BOOST_TEST(exs_qstatus(handle, EXS_QATTR_SIGNAL, &found, &length) == 0);
  BOOST_TEST(length == sizeof found);
  BOOST_TEST(found.exs_sig_control == EXS_SIG_ENABLE);
  BOOST_TEST(found.exs_sig_signo == SIGRTMIN);
  BOOST_TEST(found.exs_sig_value == &queue);
  for (int i = 0; i < 2; ++i) {
    BOOST_TEST(exs_qpost(handle, nullptr, nullptr) == 0);
    BOOST_TEST(pending() == &queue);
    BOOST_TEST(exs_qpost(handle, nullptr, nullptr) == 0);  // not empty any more
    BOOST_TEST(pending() == nullptr);
    for (int taken = 0; taken < 2; ++taken) queue.next();
  }
  wish.exs_sig_control = EXS_SIG_DISABLE;
  wish.exs_sig_signo = 0;
  BOOST_TEST(exs_qmodify(handle, EXS_QATTR_SIGNAL, &wish, sizeof wish) == 0);
  BOOST_TEST(exs_qpost(handle, nullptr, nullptr) == 0);
  BOOST_TEST(pending() == nullptr);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
