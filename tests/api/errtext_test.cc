// exs_errtext: the sentence of the last call of a thread that failed.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/resource.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

#include "base/c_call.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace errtext_test {

bool tells(std::string_view words) {
  const std::string_view text = exs_errtext();
  const bool told = text.find(words) != text.npos;
  if (!told) BOOST_TEST_MESSAGE("exs_errtext is: " << text);
  return told;
}

}  // namespace errtext_test

BOOST_AUTO_TEST_SUITE(errtext_test)

BOOST_AUTO_TEST_CASE(nothing_is_told_before_a_call_has_failed) {
  std::thread([] { BOOST_TEST(*exs_errtext() == '\0'); }).join();
}

BOOST_AUTO_TEST_CASE(it_works_without_the_library) {
  BOOST_TEST(outcome(exs_close(3)) == "EPERM");
  BOOST_TEST(tells("exs_close: the library is not initialized: call exs_init"));
}

BOOST_FIXTURE_TEST_SUITE(initialized, InitializedLibrary)

BOOST_AUTO_TEST_CASE(a_refused_post_names_the_call_the_memory_and_the_region) {
  Queue queue;
  const Pair pair(queue);
  Memory memory(64);
  BOOST_TEST(outcome(exs_send(pair.left, memory.at(60), 8, 0, queue.handle(), nullptr, memory.handle())) ==
             "EFAULT");
  char expected[256];
  std::snprintf(expected, sizeof expected,
                "exs_send: the 8 bytes at %p are not inside the region 0x%x, which covers [%p, %p)",
                static_cast<void*>(memory.at(60)), static_cast<unsigned>(memory.handle()),
                static_cast<void*>(memory.at()), static_cast<void*>(memory.at() + 64));
  BOOST_TEST(tells(expected));
  BOOST_TEST(outcome(exs_recv(pair.left, memory.at(), 8, EXS_SHUT_WR, queue.handle(), nullptr,
                              memory.handle())) == errno_name(EOPNOTSUPP));
  BOOST_TEST(tells("exs_recv: the call does not take the flags 0x"));
}

BOOST_AUTO_TEST_CASE(success_leaves_the_text_and_asking_leaves_errno) {
  BOOST_TEST(outcome(exs_qdelete(exs_qhandle_t{12345})) == "EBADF");
  BOOST_TEST(exs_qdelete(exs_qcreate(1)) == 0);
  errno = ENOSPC;
  BOOST_TEST(tells("exs_qdelete: 0x3039 is no queue"));
  BOOST_TEST(tells("exs_qdelete: 0x3039 is no queue"));
  BOOST_TEST(errno == ENOSPC);
}

BOOST_AUTO_TEST_CASE(each_thread_has_its_own) {
  BOOST_TEST(outcome(exs_qdelete(exs_qhandle_t{12345})) == "EBADF");
  std::thread([] { BOOST_TEST(outcome(exs_mderegister(exs_mhandle_t{99}, 0)) == "EINVAL"); }).join();
  BOOST_TEST(tells("exs_qdelete: "));
}

BOOST_AUTO_TEST_CASE(an_error_of_the_kernel_comes_with_a_cure) {
  const ListeningSocket listening;
  sockaddr_in address = listening.address();
  const int other = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(outcome(exs_bind(other, generic(address), sizeof address)) == "EADDRINUSE");
  BOOST_TEST(tells("exs_bind: Address already in use: another socket has the port"));
  BOOST_TEST(exs_close(other) == 0);
}

BOOST_AUTO_TEST_CASE(a_bad_choice_of_a_provider_has_the_words_of_the_log) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, "pigeon", 6)) == errno_name(ENOTSUP));
  BOOST_TEST(tells("exs_setsockopt: provider \"pigeon\": choose \"auto\""));
  BOOST_TEST(exs_close(socket) == 0);
}

// A process simulates or not, and no socket of it otherwise.
BOOST_AUTO_TEST_CASE(a_provider_that_another_process_may_have_reads_differently_from_an_unknown_one) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  for (const std::string text : {"sim", "require:sim", "prefer:sim"}) {
    BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, text.data(),
                                      static_cast<socklen_t>(text.size()))) == errno_name(ENOTSUP));
    BOOST_TEST(tells("exs_setsockopt: provider \"" + text + "\": sim is chosen for a whole process"));
    BOOST_TEST(tells("set EXS_PROVIDER=sim before exs_init"));
  }
  // What is not there is easily done without.
  BOOST_TEST(outcome(exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, "forbid:sim", 10)) == "ok");
  BOOST_TEST(exs_close(socket) == 0);
}

BOOST_AUTO_TEST_CASE(a_full_queue_and_a_full_socket_read_differently) {
  Queue queue(2);
  const Pair pair(queue);
  Memory memory(64);
  const auto post = [&] {
    return outcome(exs_recv(pair.left, memory.at(), 8, 0, queue.handle(), nullptr, memory.handle()));
  };
  BOOST_TEST(post() == "ok");
  BOOST_TEST(post() == "ok");
  BOOST_TEST(post() == "EAGAIN");
  BOOST_TEST(tells("each of the 2 slots of the queue has an event or an operation: dequeue"));
  BOOST_TEST(exs_fcntl(pair.left, EXS_F_SET_MAX_OPS, 2) == 0);
  BOOST_TEST(post() == "EAGAIN");
  BOOST_TEST(tells("2 operations of this direction are pending, the most that EXS_F_SET_MAX_OPS allows"));
  BOOST_TEST(exs_close(pair.left) == 0);
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
  BOOST_TEST(queue.next_outcome(pair.left, EXS_EVT_RECV) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(memory_that_the_kernel_refuses_names_the_call_and_its_cause) {
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
  BOOST_REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  BOOST_TEST(exs_alloc(64, &region) == nullptr);
  BOOST_TEST(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  BOOST_TEST(
      tells("exs_alloc: memfd_create: Too many open files; raise the limit of descriptors (ulimit -n)"));
  BOOST_TEST(exs_alloc(std::size_t{1} << 61U, &region) == nullptr);
  BOOST_TEST(tells("exs_alloc: "));
  BOOST_TEST(!tells("descriptors"));
}

BOOST_AUTO_TEST_CASE(messages_are_told_of_ranks_and_not_of_sockets) {
  call_failed("exm_send", Status(EPIPE));
  BOOST_TEST(tells("exm_send: Broken pipe: the peer has left by exm_finalize"));
  BOOST_TEST(!tells("exs_shutdown"));
  call_failed("exm_wait", Status(ECANCELED));
  BOOST_TEST(tells("exm_cancel"));
  call_failed("exm_recv", Status(ECONNRESET));
  BOOST_TEST(tells("no connection with it came up"));
  call_failed("exs_send_sync", Status(EPIPE));
  BOOST_TEST(tells("exs_shutdown was called"));
}

BOOST_AUTO_TEST_CASE(a_message_that_is_longer_than_its_buffer_has_a_cure) {
  call_failed("exs_recv_sync", Status(EMSGSIZE));
  BOOST_TEST(tells("give a larger one; MSG_TRUNC tells the length"));
}

BOOST_AUTO_TEST_CASE(levels_of_the_log_are_checked) {
  BOOST_TEST(outcome(exs_setlog(nullptr, nullptr, 5)) == "EINVAL");
  BOOST_TEST(tells("exs_setlog: the level 5 is none of EXS_LOG_OFF (0) to EXS_LOG_DEBUG (4)"));
  BOOST_TEST(outcome(exs_setlog(nullptr, nullptr, -1)) == "EINVAL");
}

BOOST_AUTO_TEST_SUITE_END()
BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
