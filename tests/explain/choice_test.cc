// What either end wishes, and what becomes of it: by socket option, by environment, and where wishes clash.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "src/wire/messages.h"
#include "src/wire/paths.h"
#include "tests/explain/man_in_the_middle.h"
#include "tests/explain/two_ends.h"

namespace exs::test {
namespace choice_test {

End wishing(const char* wish) {
  End end;
  end.wish = wish;
  return end;
}

End with_environment(const char* wish) {
  End end;
  end.wish = "";
  end.environment = {{"EXS_PROVIDER", wish}};
  return end;
}

}  // namespace choice_test

BOOST_AUTO_TEST_SUITE(choice_test)

BOOST_AUTO_TEST_CASE(both_on_one_host_use_shared_memory_and_need_no_network) {
  const Ends ends = connect_ends({}, {});
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "shm");
    check_refused(end, "iwarp", EXS_REASON_NOT_NEEDED, false);
  }
}

BOOST_AUTO_TEST_CASE(either_end_prefers_the_network) {
  for (const bool client_does : {true, false}) {
    const Ends ends = connect_ends(wishing(client_does ? "auto" : "prefer:iwarp"),
                                   wishing(client_does ? "prefer:iwarp" : "auto"));
    for (const Told& end : {ends.server, ends.client}) {
      check_used(end, "iwarp");
      check_refused(end, "shm", EXS_REASON_NOT_NEEDED, false);
    }
  }
}

BOOST_AUTO_TEST_CASE(client_forbids) {
  for (const End& client : {wishing("forbid:shm"), wishing("require:iwarp"), wishing("iwarp"),
                            with_environment("forbid:shm"), with_environment("iwarp")}) {
    const Ends ends = connect_ends({}, client);
    check_used(ends.server, "iwarp");
    check_used(ends.client, "iwarp");
    check_refused(ends.client, "shm", EXS_REASON_FORBIDDEN, false);
    check_refused(ends.server, "shm", EXS_REASON_FORBIDDEN, true);
  }
}

BOOST_AUTO_TEST_CASE(server_forbids) {
  for (const End& server : {wishing("forbid:shm"), wishing("iwarp"), with_environment("require:iwarp")}) {
    const Ends ends = connect_ends(server, {});
    check_used(ends.server, "iwarp");
    check_used(ends.client, "iwarp");
    check_refused(ends.client, "shm", EXS_REASON_FORBIDDEN, true);
    check_refused(ends.server, "shm", EXS_REASON_FORBIDDEN, false);
  }
}

BOOST_AUTO_TEST_CASE(the_option_counts_more_than_the_environment) {
  End end = wishing("forbid:shm");
  end.environment = {{"EXS_PROVIDER", "require:shm"}};
  check_used(connect_ends({}, end).client, "iwarp");
}

BOOST_AUTO_TEST_CASE(what_one_requires_and_the_other_forbids_is_no_connection) {
  for (const End& server : {wishing("forbid:shm"), wishing("iwarp")}) {
    const Ends ends = connect_ends(server, wishing("require:shm"));
    BOOST_TEST(ends.client.error == EOPNOTSUPP);
    check_refused(ends.client, "shm", EXS_REASON_FORBIDDEN, true);
    check_refused(ends.client, "iwarp", EXS_REASON_FORBIDDEN, false);
  }
}

BOOST_AUTO_TEST_CASE(a_server_that_requires_shared_memory_takes_no_other) {
  const Ends ends = connect_ends(wishing("require:shm"), wishing("forbid:shm"));
  BOOST_TEST(ends.client.error == EOPNOTSUPP);
  check_refused(ends.client, "shm", EXS_REASON_FORBIDDEN, false);
  check_refused(ends.client, "iwarp", EXS_REASON_FORBIDDEN, true);
}

BOOST_AUTO_TEST_CASE(both_require_the_same) {
  const Ends ends = connect_ends(wishing("require:shm"), wishing("shm"));
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "shm");
    check_refused(end, "iwarp", EXS_REASON_FORBIDDEN, false);
  }
}

// An old version says nothing behind its hello, and gets an answer that it understands.
BOOST_AUTO_TEST_CASE(peer_lacks_it) {
  const auto forget_paths = [](std::vector<std::byte>& private_data) {
    private_data.resize(wire::kHelloBytes);
  };
  ManInTheMiddle old_version(forget_paths);
  const Ends ends = connect_ends({}, {}, old_version.detour());
  for (const Told& end : {ends.server, ends.client}) {
    check_used(end, "iwarp");
    check_refused(end, "shm", EXS_REASON_PEER_LACKS, true);
  }
  ManInTheMiddle another(forget_paths);
  const Ends none = connect_ends({}, wishing("require:shm"), another.detour());
  BOOST_TEST(none.client.error == EOPNOTSUPP);
  check_refused(none.client, "shm", EXS_REASON_PEER_LACKS, true);
}

// Another build has more, and would like to use that.
BOOST_AUTO_TEST_CASE(not_built) {
  ManInTheMiddle newer_version([](std::vector<std::byte>& private_data) {
    constexpr std::size_t kAllowed = wire::kPathsOffset + 2;
    constexpr std::byte kSim{3};
    private_data[kAllowed] |= std::byte{1} << std::to_integer<int>(kSim);
    private_data[kAllowed + 1] = kSim;
  });
  const Ends ends = connect_ends({}, {}, newer_version.detour());
  check_used(ends.server, "shm");
  check_used(ends.client, "shm");
  check_refused(ends.server, "sim", EXS_REASON_NOT_BUILT, false);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
