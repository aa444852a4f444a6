// A process simulates its network or not, and nothing but EXS_PROVIDER says so.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdlib>
#include <string>

#include "src/provider/registry.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace choice_test {

// A life of the library with this EXS_PROVIDER; null: without it.
struct Life {
  explicit Life(const char* provider) {
    provider != nullptr ? setenv("EXS_PROVIDER", provider, 1) : unsetenv("EXS_PROVIDER");
    BOOST_REQUIRE_EQUAL(exs_init(EXS_VERSION), 0);
  }
  ~Life() {
    exs_fini();
    unsetenv("EXS_PROVIDER");
  }
  Life(const Life&) = delete;
  Life& operator=(const Life&) = delete;
};

std::string providers_of_process() {
  exs_limits_t limits{};
  limits.struct_bytes = sizeof limits;
  BOOST_REQUIRE_EQUAL(exs_getlimits(&limits), 0);
  return limits.providers;
}

std::string choose(const std::string& text) {
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  const std::string chosen = outcome(
      exs_setsockopt(socket, SOL_EXS, EXS_SO_PROVIDER, text.data(), static_cast<socklen_t>(text.size())));
  exs_close(socket);
  return chosen;
}

std::string provider_of_a_pair() {
  Queue queue;
  const Pair pair(queue);
  return provider_of(pair.left) + " " + provider_of(pair.right);
}

}  // namespace choice_test

BOOST_AUTO_TEST_SUITE(choice_test)

BOOST_AUTO_TEST_CASE(a_process_that_simulates_has_nothing_else) {
  const choice_test::Life life("sim");
  BOOST_TEST(choice_test::providers_of_process() == "sim");
  BOOST_TEST(choice_test::provider_of_a_pair() == "sim sim");
  for (const char* const text : {"auto", "sim", "require:sim", "prefer:sim", "forbid:shm"})
    BOOST_TEST(choice_test::choose(text) == "ok", text);
  for (const char* const text : {"iwarp", "require:shm", "prefer:verbs", "forbid:sim"})
    BOOST_TEST(choice_test::choose(text) == errno_name(ENOTSUP), text);
}

BOOST_AUTO_TEST_CASE(a_process_that_does_not_simulate_never_does) {
  const choice_test::Life life(nullptr);
  BOOST_TEST(choice_test::providers_of_process().find("sim") == std::string::npos);
  BOOST_TEST(choice_test::provider_of_a_pair() == "shm shm");
  for (const char* const text : {"sim", "require:sim", "prefer:sim"})
    BOOST_TEST(choice_test::choose(text) == errno_name(ENOTSUP), text);
  BOOST_TEST((all_choices() & Choice::bit(ProviderId::kSim)) == 0);
}

BOOST_AUTO_TEST_CASE(the_next_life_of_the_library_may_choose_otherwise) {
  for (int i = 0; i < 3; ++i) {
    {
      const choice_test::Life life("sim:seed=3");
      BOOST_TEST(choice_test::provider_of_a_pair() == "sim sim");
    }
    const choice_test::Life life("shm");
    BOOST_TEST(choice_test::provider_of_a_pair() == "shm shm");
  }
}

BOOST_AUTO_TEST_CASE(a_setting_that_means_nothing_fails_the_init) {
  setenv("EXS_LOG", "off", 1);
  setenv("EXS_PROVIDER", "sim:lose=often", 1);
  BOOST_TEST(outcome(exs_init(EXS_VERSION)) == "EINVAL");
  BOOST_TEST(std::string(exs_errtext()).find("give lose= 0 for never") != std::string::npos, exs_errtext());
  unsetenv("EXS_PROVIDER");
  unsetenv("EXS_LOG");
}

BOOST_AUTO_TEST_CASE(the_reasons_of_a_connection_name_it) {
  const choice_test::Life life("sim");
  Queue queue;
  const Pair pair(queue);
  exs_reason_t reasons[EXS_REASONS_MAX];
  socklen_t length = sizeof reasons;
  BOOST_REQUIRE_EQUAL(exs_getsockopt(pair.left, SOL_EXS, EXS_SO_REASON, reasons, &length), 0);
  BOOST_REQUIRE(length >= sizeof reasons[0]);
  BOOST_TEST(std::string(reasons[0].provider) == "sim");
  BOOST_TEST(reasons[0].verdict == EXS_VERDICT_USED);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
