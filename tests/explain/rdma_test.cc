// Why an RDMA device carries a connection or not. Without EXS_TEST_ADDRESS, the address of a device of a
// guest that may be changed (tests/rig/run), only that there is none.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "src/provider/verbs/survey.h"
#include "tests/explain/two_ends.h"
#include "tests/support/confinement.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace rdma_test {

constexpr uid_t kNobody = 65534;
constexpr rlim_t kLittleBytes = 65'536;

bool is_in_guest() {
  return std::getenv("EXS_TEST_ADDRESS") != nullptr;
}

End preferring_device() {
  End end;
  end.wish = "prefer:verbs";
  return end;
}

// With the interface of the test's device down, until the end.
class InterfaceDown {
 public:
  InterfaceDown() {
    sockaddr_in address = loopback();
    const verbs::Survey survey;
    const auto carriers = survey.carriers_of(*generic(address));
    if (carriers.empty()) std::abort();
    name_ = carriers.front()->ports.front().interfaces.front().name;
    set("down");
  }
  ~InterfaceDown() { set("up"); }
  InterfaceDown(const InterfaceDown&) = delete;
  InterfaceDown& operator=(const InterfaceDown&) = delete;

 private:
  void set(const char* state) const {
    if (std::system(("ip link set " + name_ + " " + state).c_str()) != 0) std::abort();
  }
  std::string name_;
};

// The devices' files with this mode, until the end.
class FileMode {
 public:
  explicit FileMode(mode_t mode) { set(mode); }
  ~FileMode() { set(0666); }
  FileMode(const FileMode&) = delete;
  FileMode& operator=(const FileMode&) = delete;

 private:
  static void set(mode_t mode) {
    for (const auto& file : std::filesystem::directory_iterator("/dev/infiniband"))
      ::chmod(file.path().c_str(), mode);
  }
};

// Something else carries it, and it works.
void check_carried_otherwise(const Told& end) {
  BOOST_TEST(end.error == 0);
  BOOST_TEST(end.provider != "verbs");
  BOOST_TEST(end.data_right);
}

}  // namespace rdma_test

BOOST_AUTO_TEST_SUITE(rdma_test)

BOOST_AUTO_TEST_CASE(no_device) {
  if (verbs::any_device()) return;
  const Ends ends = connect_ends({}, {});
  for (const Told& end : {ends.server, ends.client}) {
    check_carried_otherwise(end);
    check_refused(end, "verbs", EXS_REASON_NO_DEVICE, false);
  }
  End requiring;
  requiring.wish = "require:verbs";
  const Ends none = connect_ends({}, requiring);
  BOOST_TEST(none.client.error == EOPNOTSUPP);
  check_refused(none.client, "verbs", EXS_REASON_NO_DEVICE, false);
}

BOOST_AUTO_TEST_CASE(a_device_carries_it) {
  if (!is_in_guest()) return;
  const Ends ends = connect_ends({}, preferring_device());
  check_used(ends.server, "verbs");
  check_used(ends.client, "verbs");
}

BOOST_AUTO_TEST_CASE(the_port_is_down) {
  if (!is_in_guest()) return;
  const InterfaceDown down;
  const Ends ends = connect_ends({}, preferring_device());
  check_carried_otherwise(ends.client);
  check_refused(ends.client, "verbs", EXS_REASON_PORT_DOWN, false);
}

BOOST_AUTO_TEST_CASE(the_way_leads_over_no_device) {
  if (!is_in_guest()) return;
  End client = preferring_device();
  client.environment = {{"EXS_TEST_ADDRESS", "127.0.0.1"}};
  End server;
  server.environment = client.environment;
  const Ends ends = connect_ends(server, client);
  check_carried_otherwise(ends.client);
  check_refused(ends.client, "verbs", EXS_REASON_NO_ROUTE, false);
}

BOOST_AUTO_TEST_CASE(little_memory_may_be_pinned) {
  if (!is_in_guest()) return;
  const FileMode open(0666);
  End client = preferring_device();
  client.confine = [] { return lower_limit(RLIMIT_MEMLOCK, kLittleBytes) && become_user(kNobody); };
  const Ends ends = connect_ends({}, client);
  BOOST_REQUIRE(ends.ran());
  check_carried_otherwise(ends.client);
  check_refused(ends.client, "verbs", EXS_REASON_MEMLOCK, false);
}

BOOST_AUTO_TEST_CASE(the_devices_are_closed_to_this_user) {
  if (!is_in_guest()) return;
  const FileMode closed(0600);
  End client = preferring_device();
  client.confine = [] { return become_user(kNobody); };
  const Ends ends = connect_ends({}, client);
  BOOST_REQUIRE(ends.ran());
  check_carried_otherwise(ends.client);
  check_refused(ends.client, "verbs", EXS_REASON_NO_ACCESS, false);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
