// exs_init and exs_fini, and what works without them.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "tests/support/environment_setting.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace init_test {

const std::string kEnotsup = errno_name(ENOTSUP);  // EOPNOTSUPP has the same number

// Calls every function that needs the library, with arguments that are valid or refused for another reason.
void expect_eperm_of_every_call() {
  char bytes[64] = {};
  exs_mhandle_t region{7};
  const exs_qhandle_t queue{1};
  exs_event_t event{};
  int value = 0;
  std::size_t length = sizeof value;
  sockaddr_in address = loopback();
  socklen_t address_bytes = sizeof address;
  exs_stats_t stats{};
  stats.struct_bytes = sizeof stats;
  BOOST_TEST(outcome(exs_mregister(bytes, sizeof bytes, 0)) == "EPERM");
  BOOST_TEST(outcome(exs_mderegister(region, 0)) == "EPERM");
  errno = 0;
  BOOST_TEST(exs_alloc(64, &region) == nullptr);
  BOOST_TEST(errno_name(errno) == "EPERM");
  BOOST_TEST(region == 7);
  BOOST_TEST(outcome(exs_free(bytes)) == "EPERM");
  BOOST_TEST(outcome(exs_qcreate(1)) == "EPERM");
  BOOST_TEST(outcome(exs_qdelete(queue)) == "EPERM");
  BOOST_TEST(outcome(exs_qdequeue(queue, &event, 1, nullptr)) == "EPERM");
  BOOST_TEST(outcome(exs_qwait(queue, &event, 1, 1, -1)) == "EPERM");
  BOOST_TEST(outcome(exs_qmodify(queue, EXS_QATTR_DEPTH, &value, sizeof value)) == "EPERM");
  BOOST_TEST(outcome(exs_qstatus(queue, EXS_QATTR_DEPTH, &value, &length)) == "EPERM");
  BOOST_TEST(outcome(exs_qfd(queue)) == "EPERM");
  BOOST_TEST(outcome(exs_socket(AF_INET, SOCK_SEQPACKET, 0)) == "EPERM");
  BOOST_TEST(outcome(exs_bind(0, generic(address), sizeof address)) == "EPERM");
  BOOST_TEST(outcome(exs_listen(0, 1)) == "EPERM");
  BOOST_TEST(outcome(exs_accept(0, nullptr, 0, queue, nullptr)) == "EPERM");
  BOOST_TEST(outcome(exs_connect(0, generic(address), sizeof address, 0, queue, nullptr)) == "EPERM");
  BOOST_TEST(outcome(exs_shutdown(0, SHUT_WR)) == "EPERM");
  BOOST_TEST(outcome(exs_close(0)) == "EPERM");
  BOOST_TEST(outcome(exs_getsockname(0, generic(address), &address_bytes)) == "EPERM");
  BOOST_TEST(outcome(exs_getpeername(0, generic(address), &address_bytes)) == "EPERM");
  BOOST_TEST(outcome(exs_send(0, bytes, 1, 0, queue, nullptr, region)) == "EPERM");
  BOOST_TEST(outcome(exs_recv(0, bytes, 1, 0, queue, nullptr, region)) == "EPERM");
  BOOST_TEST(outcome(exs_fcntl(0, EXS_F_GET_MAX_OPS, &value)) == "EPERM");
  BOOST_TEST(outcome(exs_getstats(-1, &stats)) == "EPERM");
  BOOST_TEST(outcome(exs_fini()) == "EPERM");
}

}  // namespace init_test

BOOST_AUTO_TEST_SUITE(init_test)

BOOST_AUTO_TEST_CASE(every_call_is_refused_before_the_first_init) {
  expect_eperm_of_every_call();
}

BOOST_AUTO_TEST_CASE(names_and_version_need_no_library) {
  BOOST_TEST(exs_evtname(EXS_EVT_NONE) == std::string("EXS_EVT_NONE"));
  BOOST_TEST(exs_evtname(EXS_EVT_SEND) == std::string("EXS_EVT_SEND"));
  BOOST_TEST(exs_evtname(EXS_EVT_USER) == std::string("EXS_EVT_USER"));
  BOOST_TEST(exs_evtname(EXS_EVT_MAP) == std::string("EXS_EVT_MAP"));
  for (const int type : {-1, 13, 63, 68, 1 << 30}) BOOST_TEST(exs_evtname(type) == std::string("unknown"));
  int numbers[3] = {-1, -1, -1};
  BOOST_TEST(std::sscanf(exs_version_string(), "%d.%d.%d", &numbers[0], &numbers[1], &numbers[2]) == 3);
}

BOOST_AUTO_TEST_CASE(every_defined_event_type_has_its_own_name) {
  int named = 0;
  for (int type = 0; type <= EXS_EVT_MAP; ++type) {
    if (std::strcmp(exs_evtname(type), "unknown") != 0) ++named;
  }
  BOOST_TEST(named == 17);
}

BOOST_AUTO_TEST_CASE(an_unknown_version_is_refused_and_changes_nothing) {
  for (const int version : {0, 2, -1, 1 << 30}) BOOST_TEST(outcome(exs_init(version)) == kEnotsup);
  BOOST_TEST(outcome(exs_fini()) == "EPERM");
}

BOOST_AUTO_TEST_CASE(init_is_counted_and_the_last_fini_ends_everything) {
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  BOOST_TEST(outcome(exs_init(99)) == kEnotsup);
  const exs_qhandle_t queue = exs_qcreate(4);
  BOOST_TEST(queue > 0);
  BOOST_TEST(exs_fini() == 0);
  BOOST_TEST(attribute(queue, EXS_QATTR_DEPTH) == 4);
  BOOST_TEST(exs_fini() == 0);
  expect_eperm_of_every_call();
}

BOOST_AUTO_TEST_CASE(init_starts_no_thread_and_opens_nothing) {
  const std::size_t descriptors_before = open_descriptors();
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  BOOST_TEST(open_descriptors() == descriptors_before);
  await_no_engines();
  BOOST_TEST(exs_fini() == 0);
}

BOOST_AUTO_TEST_CASE(queues_sockets_and_memory_open_descriptors_and_start_no_thread) {
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  std::size_t before = open_descriptors();
  BOOST_TEST(exs_socket(AF_INET, SOCK_SEQPACKET, 0) >= 0);
  BOOST_TEST(open_descriptors() == before + 1);
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
  BOOST_TEST(exs_alloc(1, &region) != nullptr);
  BOOST_TEST(open_descriptors() == before + 2);
  before = open_descriptors();
  BOOST_TEST(exs_qcreate(1) > 0);
  BOOST_TEST(open_descriptors() > before);
  await_no_engines();
  BOOST_TEST(exs_fini() == 0);
}

BOOST_AUTO_TEST_CASE(fini_closes_what_was_left_open) {
  BOOST_TEST(exs_init(EXS_VERSION) == 0);  // a first round, so that lasting one-time set-up is done
  BOOST_TEST(exs_qcreate(1) > 0);
  BOOST_TEST(exs_fini() == 0);
  const std::size_t descriptors_before = open_descriptors();
  for (int round = 0; round < 3; ++round) {
    BOOST_TEST(exs_init(EXS_VERSION) == 0);
    const exs_qhandle_t queue = exs_qcreate(16);
    const int listening = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    const int connecting = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
    BOOST_TEST(exs_alloc(5000, &region) != nullptr);
    sockaddr_in address = loopback();
    socklen_t length = sizeof address;
    BOOST_TEST(exs_bind(listening, generic(address), length) == 0);
    BOOST_TEST(exs_listen(listening, 4) == 0);
    BOOST_TEST(exs_getsockname(listening, generic(address), &length) == 0);
    BOOST_TEST(exs_accept(listening, nullptr, 0, queue, nullptr) == 0);
    BOOST_TEST(exs_accept(listening, nullptr, 0, queue, nullptr) == 0);
    BOOST_TEST(exs_connect(connecting, generic(address), length, 0, queue, nullptr) == 0);
    exs_event_t events[2];
    BOOST_TEST(exs_qwait(queue, events, 2, 2, -1) == 2);
    BOOST_TEST(exs_fini() == 0);
    BOOST_TEST(open_descriptors() == descriptors_before);
    await_no_engines();
  }
}

BOOST_AUTO_TEST_CASE(handles_of_an_earlier_round_stay_dead) {
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  const exs_qhandle_t queue = exs_qcreate(4);
  const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  char byte = 0;
  const exs_mhandle_t region = exs_mregister(&byte, 1, 0);
  BOOST_TEST(exs_fini() == 0);
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  exs_event_t event{};
  BOOST_TEST(outcome(exs_qwait(queue, &event, 1, 1, 0)) == "EBADF");
  BOOST_TEST(outcome(exs_mderegister(region, 0)) == "EINVAL");
  BOOST_TEST(outcome(exs_close(socket)) == "EBADF");
  BOOST_TEST(exs_fini() == 0);
}

BOOST_AUTO_TEST_CASE(a_bad_environment_is_told_by_init) {
  for (const char* shards : {"0", "65", "two", "2x", "-1"}) {
    const EnvironmentSetting setting("EXS_SHARDS", shards);
    BOOST_TEST(outcome(exs_init(EXS_VERSION)) == "EINVAL");
  }
  {
    const EnvironmentSetting setting("EXS_PROVIDER", "carrier-pigeon");
    BOOST_TEST(outcome(exs_init(EXS_VERSION)) == kEnotsup);
  }
  BOOST_TEST(outcome(exs_fini()) == "EPERM");
  BOOST_TEST(exs_init(EXS_VERSION) == 0);
  BOOST_TEST(exs_fini() == 0);
}

BOOST_AUTO_TEST_CASE(an_empty_variable_is_as_none) {
  for (const char* name : {"EXS_SHARDS", "EXS_PROVIDER", "EXS_LOG", "EXS_EXPLAIN", "EXS_IWARP_CRC",
                           "EXS_IWARP_BACKEND", "EXS_SHM_PROCESS_VM", "EXS_SHM_USERS"}) {
    const EnvironmentSetting setting(name, "");
    BOOST_TEST_CONTEXT(name) {
      BOOST_TEST(exs_init(EXS_VERSION) == 0);
      BOOST_TEST(exs_fini() == 0);
    }
  }
}

BOOST_AUTO_TEST_CASE(each_variable_is_taken_or_refused_with_the_words_it_knows) {
  struct Wish {
    const char* name;
    const char* value;
    const char* known;  // nullptr: it is taken
  };
  const Wish wishes[] = {
      {"EXS_EXPLAIN", "yes", nullptr},
      {"EXS_EXPLAIN", "", nullptr},
      {"EXS_EXPLAIN", "2", "1, yes, on or true, or 0, no, off or false"},
      {"EXS_IWARP_CRC", "off", nullptr},
      {"EXS_IWARP_CRC", "maybe", "1, yes, on or true, or 0, no, off or false"},
      {"EXS_SHM_PROCESS_VM", "never", "1, yes, on or true, or 0, no, off or false"},
      {"EXS_SHM_USERS", "same,1000", nullptr},
      {"EXS_SHM_USERS", "root", "a list with commas of same, any and user ids"},
      {"EXS_IWARP_BACKEND", "epoll", nullptr},
      {"EXS_IWARP_BACKEND", "select", "io_uring or epoll"},
      {"EXS_LOG", "info", nullptr},
      {"EXS_LOG", "loud", "off, error, warn, info or debug"},
      {"EXS_SHARDS", "many", "a number from 1 to 64"},
  };
  for (const Wish& wish : wishes) {
    const EnvironmentSetting setting(wish.name, wish.value);
    const std::string said = std::string(wish.name) + "=" + wish.value;
    BOOST_TEST_CONTEXT(said) {
      if (wish.known == nullptr) {
        BOOST_TEST(exs_init(EXS_VERSION) == 0);
        BOOST_TEST(exs_fini() == 0);
      } else {
        BOOST_TEST(outcome(exs_init(EXS_VERSION)) == "EINVAL");
        BOOST_TEST(exs_errtext() == "exs_init: " + said + ": give " + wish.known + ", or leave it unset");
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
