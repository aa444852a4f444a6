// What limits a connection over the network: io_uring is refused, or not wanted.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/explain/two_ends.h"
#include "tests/support/confinement.h"

namespace exs::test {
namespace iwarp_test {

End over_network() {
  End end;
  end.wish = "iwarp";
  return end;
}

End without_io_uring(int error) {
  End end = over_network();
  end.confine = [error] { return deny_system_calls({SYS_io_uring_setup}, error); };
  return end;
}

}  // namespace iwarp_test

BOOST_AUTO_TEST_SUITE(iwarp_test)

BOOST_AUTO_TEST_CASE(nothing_limits_where_nothing_is_refused) {
  const Ends ends = connect_ends(over_network(), over_network());
  BOOST_REQUIRE(ends.ran());
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "iwarp");
    const exs_reason_t* limit = end.find("iwarp", EXS_VERDICT_LIMITED);
    // The sandbox that this test itself runs in may refuse it.
    if (limit != nullptr) BOOST_TEST(limit->code == int{EXS_REASON_NO_IO_URING});
  }
}

BOOST_AUTO_TEST_CASE(a_seccomp_filter_refuses_io_uring) {
  for (const int error : {EPERM, ENOSYS}) {
    const Ends ends = connect_ends(without_io_uring(error), over_network());
    BOOST_REQUIRE(ends.ran());
    check_used(ends.server, "iwarp");
    check_used(ends.client, "iwarp");
    check_limited(ends.server, "iwarp", EXS_REASON_NO_IO_URING);
  }
  const Ends ends = connect_ends(over_network(), without_io_uring(EPERM));
  check_used(ends.client, "iwarp");
  check_limited(ends.client, "iwarp", EXS_REASON_NO_IO_URING);
}

BOOST_AUTO_TEST_CASE(the_environment_chooses_epoll) {
  End chosen = over_network();
  chosen.environment = {{"EXS_IWARP_BACKEND", "epoll"}};
  const Ends ends = connect_ends(chosen, chosen);
  BOOST_REQUIRE(ends.ran());
  check_used(ends.server, "iwarp");
  check_limited(ends.server, "iwarp", EXS_REASON_EPOLL_CHOSEN);
  check_limited(ends.client, "iwarp", EXS_REASON_EPOLL_CHOSEN);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
