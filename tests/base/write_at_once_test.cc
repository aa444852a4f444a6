// A write that never waits and never ends the program; and which errors of accept(2) are those of one peer.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <string>

#include <boost/test/unit_test.hpp>

#include "base/accept_errors.h"
#include "base/kernel.h"
#include "base/unique_fd.h"

using exs::UniqueFd;

namespace write_at_once_test {

struct Pipe {
  Pipe() {
    int ends[2];
    BOOST_REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    reader = UniqueFd(ends[0]);
    writer = UniqueFd(ends[1]);
  }
  UniqueFd reader, writer;
};

bool is_pending(int signal) {
  sigset_t pending;
  return ::sigpending(&pending) == 0 && ::sigismember(&pending, signal) == 1;
}

}  // namespace write_at_once_test

BOOST_AUTO_TEST_SUITE(write_at_once_test)

BOOST_AUTO_TEST_CASE(bytes_for_which_there_is_room_are_written) {
  const Pipe pipe;
  BOOST_TEST(exs::kernel::write_at_once(pipe.writer.get(), "abc", 3) == 3);
  char read[8];
  BOOST_TEST(::read(pipe.reader.get(), read, sizeof read) == 3);
  BOOST_TEST(std::string(read, 3) == "abc");
}

BOOST_AUTO_TEST_CASE(a_full_pipe_is_not_waited_for) {
  const Pipe pipe;
  const std::string much(1 << 20, 'x');
  BOOST_REQUIRE(::fcntl(pipe.writer.get(), F_SETFL, O_NONBLOCK) == 0);
  while (::write(pipe.writer.get(), much.data(), much.size()) > 0) continue;
  BOOST_REQUIRE(::fcntl(pipe.writer.get(), F_SETFL, 0) == 0);
  BOOST_TEST(exs::kernel::write_at_once(pipe.writer.get(), "abc", 3) == -1);
  BOOST_TEST(errno == EAGAIN);
}

BOOST_AUTO_TEST_CASE(a_pipe_without_a_reader_is_an_error_and_no_signal) {
  Pipe pipe;
  pipe.reader.reset();
  BOOST_TEST(exs::kernel::write_at_once(pipe.writer.get(), "abc", 3) == -1);
  BOOST_TEST(errno == EPIPE);
  BOOST_TEST(!is_pending(SIGPIPE));
}

BOOST_AUTO_TEST_CASE(a_signal_that_was_there_before_stays_and_so_does_the_mask) {
  sigset_t pipe_signal, before;
  ::sigemptyset(&pipe_signal);
  ::sigaddset(&pipe_signal, SIGPIPE);
  BOOST_REQUIRE(::pthread_sigmask(SIG_BLOCK, &pipe_signal, &before) == 0);
  BOOST_REQUIRE(::raise(SIGPIPE) == 0);
  Pipe pipe;
  pipe.reader.reset();
  BOOST_TEST(exs::kernel::write_at_once(pipe.writer.get(), "abc", 3) == -1);
  BOOST_TEST(is_pending(SIGPIPE));
  sigset_t now;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &now);
  BOOST_TEST(::sigismember(&now, SIGPIPE) == 1);
  const timespec at_once{};
  BOOST_TEST(::sigtimedwait(&pipe_signal, nullptr, &at_once) == SIGPIPE);
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

BOOST_AUTO_TEST_CASE(a_regular_file_is_written_whatever_it_knows_of_waiting) {
  char name[] = "/tmp/write-at-once-XXXXXX";
  const UniqueFd file(::mkstemp(name));
  BOOST_REQUIRE(file.valid());
  ::unlink(name);
  BOOST_TEST(exs::kernel::write_at_once(file.get(), "abc", 3) == 3);
  BOOST_TEST(::lseek(file.get(), 0, SEEK_CUR) == 3);
}

BOOST_AUTO_TEST_CASE(errors_of_one_peer_are_told_from_those_of_the_listener) {
  for (const int error : {ECONNABORTED, EINTR, EPROTO, ENETDOWN, ENOPROTOOPT, EHOSTDOWN, ENONET, EHOSTUNREACH,
                          EOPNOTSUPP, ENETUNREACH, EPERM})
    BOOST_TEST(exs::is_peers_error(error), error);
  for (const int error : {0, EMFILE, ENFILE, ENOMEM, ENOBUFS, EBADF, EINVAL, EAGAIN})
    BOOST_TEST(!exs::is_peers_error(error), error);
}

BOOST_AUTO_TEST_SUITE_END()
