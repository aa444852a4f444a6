// Readiness of sockets that belong to no link: told once for each watch(), with a token, and harmless when
// the socket is gone.
// SPDX-License-Identifier: BSD-2-Clause
#include <fcntl.h>
#include <sys/epoll.h>

#include <boost/test/unit_test.hpp>

#include "event/engine/readiness.h"
#include "tests/provider/iwarp/sockets.h"

using namespace exs;
using namespace exs::iwarp::test;

namespace readiness_test {

constexpr std::uint64_t kToken = 7;

struct Fixture {
  Fixture() {
    int ends[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0, "socketpair");
    near_end = Socket(ends[0]);
    far_end = Socket(ends[1]);
  }
  Status watch(std::uint32_t events) { return readiness->watch(near_end.get(), events, kToken); }
  Completion next() {
    pollfd wait{readiness->wait_fd(), POLLIN, 0};
    require(::poll(&wait, 1, kWaitLimitMs) == 1, "nothing happened for a long time");
    readiness->progress(0);
    Completion completion;
    require(readiness->poll({&completion, 1}) == 1, "a completion");
    BOOST_TEST((completion.kind == CompletionKind::kReadiness));
    BOOST_TEST(completion.link == kToken);
    return completion;
  }
  bool silent() {
    readiness->progress(0);
    Completion completion;
    return readiness->poll({&completion, 1}) == 0;
  }
  void speak() { require(::send(far_end.get(), "x", 1, 0) == 1, "send"); }

  std::unique_ptr<Readiness> readiness = std::move(*Readiness::open());
  Socket near_end, far_end;
};

}  // namespace readiness_test

BOOST_FIXTURE_TEST_SUITE(readiness_test, Fixture)

BOOST_AUTO_TEST_CASE(tells_once_until_asked_again) {
  BOOST_TEST(watch(EPOLLIN).ok());
  BOOST_TEST(silent());
  speak();
  BOOST_TEST(next().length_bytes == EPOLLIN);
  BOOST_TEST(silent());
  BOOST_TEST(watch(EPOLLIN).ok());
  BOOST_TEST(next().length_bytes == EPOLLIN);
}

BOOST_AUTO_TEST_CASE(new_events_replace_the_old) {
  BOOST_TEST(watch(EPOLLIN).ok());
  BOOST_TEST(watch(EPOLLOUT).ok());
  speak();
  BOOST_TEST(next().length_bytes == EPOLLOUT);
}

BOOST_AUTO_TEST_CASE(hang_up_is_told_unasked) {
  BOOST_TEST(watch(EPOLLIN).ok());
  far_end.close();
  BOOST_TEST((next().length_bytes & EPOLLHUP) != 0U);
}

BOOST_AUTO_TEST_CASE(nothing_after_unwatch) {
  BOOST_TEST(watch(EPOLLIN).ok());
  readiness->unwatch(near_end.get(), kToken);
  speak();
  BOOST_TEST(silent());
}

// The entry outlives the number as long as somebody else holds the socket, and tells at most once more.
BOOST_AUTO_TEST_CASE(a_socket_closed_behind_the_port) {
  const Socket held(::dup(near_end.get()));
  BOOST_TEST(watch(EPOLLIN).ok());
  near_end.close();
  BOOST_TEST(watch(EPOLLIN).error() == EBADF);
  speak();
  BOOST_TEST(next().length_bytes == EPOLLIN);
  BOOST_TEST(silent());
}

BOOST_AUTO_TEST_CASE(what_cannot_be_watched_is_refused) {
  const Socket file(::open("/proc/self/stat", O_RDONLY | O_CLOEXEC));
  BOOST_TEST(!readiness->watch(file.get(), EPOLLIN, kToken).ok());
}

BOOST_AUTO_TEST_SUITE_END()
