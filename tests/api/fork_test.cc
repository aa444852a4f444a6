// Children after fork, and processes that end without cleaning up.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>

#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace fork_test {

pid_t start_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}

// Runs `body` in a child. Returns its result, or minus the number of the signal that ended it.
int await_end(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) != child) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int in_child(const std::function<int()>& body) {
  return await_end(start_child(body));
}

// Sends a message between two sockets of this process. 0: it arrived.
int round_trip(Queue& queue) {
  Memory source(100'000);
  Memory sink(100'000);
  const Pair pair(queue);
  source.fill(5);
  if (exs_recv(pair.right, sink.at(), 100'000, 0, queue.handle(), nullptr, sink.handle()) != 0) return 1;
  if (exs_send(pair.left, source.at(), 100'000, 0, queue.handle(), nullptr, source.handle()) != 0) return 2;
  if (queue.next_of(pair.left, EXS_EVT_SEND).exs_evt_errno != 0) return 3;
  if (queue.next_of(pair.right, EXS_EVT_RECV).exs_evt_errno != 0) return 4;
  return std::memcmp(source.at(), sink.at(), 100'000) == 0 ? 0 : 5;
}

}  // namespace fork_test

BOOST_AUTO_TEST_SUITE(fork_test)

BOOST_AUTO_TEST_CASE(a_child_has_nothing_until_it_begins_itself) {
  const InitializedLibrary library;
  Queue queue;
  BOOST_REQUIRE_EQUAL(round_trip(queue), 0);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const int result = in_child([&] {
    exs_event_t event{};
    if (exs_qcreate(1) != -1 || errno != EPERM) return 11;
    if (exs_qwait(queue.handle(), &event, 1, 1, -1) != -1 || errno != EPERM) return 12;
    if (exs_close(socket) != -1 || errno != EPERM) return 13;
    if (exs_fini() != -1 || errno != EPERM) return 14;
    if (exs_init(EXS_VERSION) != 0) return 15;
    if (exs_close(socket) != -1 || errno != EBADF) return 16;
    if (exs_qdelete(queue.handle()) != -1 || errno != EBADF) return 17;
    return exs_fini() == 0 ? 0 : 18;
  });
  BOOST_TEST(result == 0);
  BOOST_TEST(round_trip(queue) == 0);
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_CASE(a_child_works_by_itself_and_its_parent_goes_on) {
  if (kThreadSanitized) {
    std::puts("skipped: the thread sanitizer bears no threads in the child of a process with threads");
    return;
  }
  const InitializedLibrary library;
  Queue queue;
  BOOST_REQUIRE_EQUAL(round_trip(queue), 0);
  const int result = in_child([] {
    const InitializedLibrary own;
    Queue own_queue;
    return round_trip(own_queue);
  });
  BOOST_TEST(result == 0);
  BOOST_TEST(round_trip(queue) == 0);
}

BOOST_AUTO_TEST_CASE(a_child_of_a_parent_whose_threads_are_busy_works_too) {
  if (kSanitized) {
    std::puts("skipped: a sanitizer's allocator does not survive the fork of a busy process");
    return;
  }
  const InitializedLibrary library;
  Queue queue;
  std::atomic<bool> over{false};
  std::atomic<int> failures{0};
  std::thread busy([&] {
    while (!over) failures += round_trip(queue);
  });
  for (int i = 0; i < 5; ++i) {
    const int result = in_child([] {
      const InitializedLibrary own;
      Queue own_queue;
      return round_trip(own_queue);
    });
    BOOST_TEST(result == 0);
  }
  over = true;
  busy.join();
  BOOST_TEST(failures == 0);
}

BOOST_AUTO_TEST_CASE(a_child_talks_to_its_parent) {
  if (kThreadSanitized) {
    std::puts("skipped: the thread sanitizer bears no threads in the child of a process with threads");
    return;
  }
  const InitializedLibrary library;
  Queue queue;
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  Memory memory(64);
  BOOST_REQUIRE_EQUAL(exs_accept(listening.number(), nullptr, 0, queue.handle(), nullptr), 0);
  const pid_t child = start_child([&] {
    const InitializedLibrary own;
    Queue own_queue;
    Memory own_memory(64);
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    if (exs_connect(socket, generic(address), sizeof address, 0, own_queue.handle(), nullptr) != 0) return 1;
    if (own_queue.next_of(socket, EXS_EVT_CONNECT).exs_evt_errno != 0) return 2;
    if (exs_send(socket, "from the child", 15, 0, own_queue.handle(), nullptr, own_memory.handle()) != -1)
      return 3;
    std::memcpy(own_memory.at(), "from the child", 15);
    if (exs_send(socket, own_memory.at(), 15, 0, own_queue.handle(), nullptr, own_memory.handle()) != 0)
      return 4;
    if (own_queue.next_of(socket, EXS_EVT_SEND).exs_evt_errno != 0) return 5;
    return exs_close(socket) == 0 ? 0 : 6;
  });
  const int accepted =
      queue.next_of(listening.number(), EXS_EVT_ACCEPT).exs_evt_union.exs_evt_accept.exs_evt_newsocket;
  BOOST_REQUIRE_EQUAL(exs_recv(accepted, memory.at(), 64, 0, queue.handle(), nullptr, memory.handle()), 0);
  BOOST_TEST(queue.next_outcome(accepted, EXS_EVT_RECV) == "0");
  BOOST_TEST(std::memcmp(memory.at(), "from the child", 15) == 0);
  BOOST_TEST(await_end(child) == 0);
  BOOST_TEST(exs_close(accepted) == 0);
}

BOOST_AUTO_TEST_CASE(a_process_may_exit_in_the_middle_of_everything) {
  const int result = in_child([]() -> int {
    static Queue* queue = nullptr;  // static, so that a leak checker finds them at exit
    static Pair* pair = nullptr;
    static Memory* memory = nullptr;
    exs_init(EXS_VERSION);
    queue = new Queue;
    pair = new Pair(*queue);
    memory = new Memory(4096);
    exs_recv(pair->right, memory->at(), 4096, 0, queue->handle(), nullptr, memory->handle());
    exs_send(pair->left, memory->at(), 4096, 0, queue->handle(), nullptr, memory->handle());
    std::thread([] {
      exs_event_t events[200];
      exs_qwait(queue->handle(), events, 200, 200, -1);
    }).detach();
    std::exit(42);
  });
  BOOST_TEST(result == 42);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
