// A program locks all its memory (mlockall), and may lock no more.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/support/confinement.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace locked_memory_test {

constexpr uid_t kNobody = 65534;
constexpr rlim_t kLimitBytes = rlim_t{4} << 20U;  // less than a thread's stack
constexpr int kOther = 255;

bool locks_all() {
  return lower_limit(RLIMIT_MEMLOCK, kLimitBytes) && become_user(kNobody) && lock_later_memory() &&
         exs_init(EXS_VERSION) == 0;
}

// Each returns an errno.
int connect_with_all_locked() {
  if (!locks_all()) return kOther;
  const exs_qhandle_t queue = exs_qcreate(16);
  if (queue == EXS_QHANDLE_INVALID) return errno;  // with io_uring alone
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  sockaddr_in address = loopback();
  return exs_connect(socket, generic(address), sizeof address, 0, queue, nullptr) == 0 ? 0 : errno;
}

int allocate_with_all_locked() {
  if (!locks_all()) return kOther;
  exs_mhandle_t region = EXS_MHANDLE_INVALID;
  return exs_alloc(2 * kLimitBytes, &region) != nullptr ? 0 : errno;
}

void check_for_lack_of_memory(int (*run)()) {
  if (::geteuid() != 0) return;  // only root becomes another user
  const pid_t child = ::fork();
  if (child == 0) ::_exit(run());
  int status = 0;
  BOOST_REQUIRE(::waitpid(child, &status, 0) == child);
  BOOST_TEST(WIFEXITED(status));
  BOOST_TEST(WEXITSTATUS(status) == ENOMEM);
}

}  // namespace locked_memory_test

BOOST_AUTO_TEST_SUITE(locked_memory_test)

// EAGAIN would mean that the queue is full.
BOOST_AUTO_TEST_CASE(a_connect_without_memory_for_a_thread) {
  locked_memory_test::check_for_lack_of_memory(locked_memory_test::connect_with_all_locked);
}

BOOST_AUTO_TEST_CASE(memory_of_exs) {
  locked_memory_test::check_for_lack_of_memory(locked_memory_test::allocate_with_all_locked);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
