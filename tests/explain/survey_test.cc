// What is made of a machine's RDMA devices as /sys shows them, in folders that look like it.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/exs.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "src/provider/verbs/survey.h"
#include "tests/support/confinement.h"
#include "tests/support/exs_fixture.h"

namespace exs::verbs {
namespace survey_test {

namespace files = std::filesystem;
using exs::test::generic;
using exs::test::loopback;

// A /sys and a /dev of our own.
class Machine {
 public:
  Machine() {
    std::string name = (files::temp_directory_path() / "exs-survey-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    root_ = name;
    devices_ = root_ / "devices";
    openers_ = root_ / "openers";
    files_ = root_ / "files";
    files::create_directories(files_);
  }
  ~Machine() { files::remove_all(root_); }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  [[nodiscard]] SurveyRoots roots() const {
    return {devices_.c_str(), openers_.c_str(), files_.c_str(), false};
  }
  [[nodiscard]] files::path device(const std::string& name) const { return devices_ / name; }

  void add(const std::string& name, const std::string& node_type, const std::string& link_layer,
           const std::string& state) const {
    write(device(name) / "node_type", node_type);
    write(device(name) / "ports/1/state", state);
    write(device(name) / "ports/1/phys_state", "3: Disabled");
    write(device(name) / "ports/1/link_layer", link_layer);
    write(device(name) / "ports/1/rate", "100 Gb/sec (4X EDR)");
  }
  void let_open(const std::string& name, const std::string& opener) const {
    write(openers_ / opener / "ibdev", name);
    write(files_ / opener, "");
    write(files_ / "rdma_cm", "");
  }
  static void write(const files::path& file, const std::string& line) {
    files::create_directories(file.parent_path());
    std::ofstream(file) << line << '\n';
  }
  [[nodiscard]] files::path file(const std::string& name) const { return files_ / name; }

 private:
  files::path root_;
  files::path devices_;
  files::path openers_;
  files::path files_;
};

void check(const Reason& reason, int code, const std::string& part) {
  BOOST_TEST(int{static_cast<std::uint8_t>(reason.code)} == code);
  BOOST_TEST(std::string(reason.fact).find(part) != std::string::npos, reason.fact);
}

}  // namespace survey_test

BOOST_AUTO_TEST_SUITE(survey_test)

BOOST_AUTO_TEST_CASE(no_device) {
  const Machine machine;
  BOOST_TEST(!any_device(machine.roots()));
  check(Survey(machine.roots()).why_not(), EXS_REASON_NO_DEVICE, "no RDMA device");
  files::create_directories(machine.roots().devices);
  BOOST_TEST(!any_device(machine.roots()));
  BOOST_TEST(Survey(machine.roots()).devices().empty());
}

BOOST_AUTO_TEST_CASE(a_device_is_told_as_it_is) {
  const Machine machine;
  machine.add("card0", "1: CA", "Ethernet", "4: ACTIVE");
  machine.let_open("card0", "uverbs0");
  BOOST_TEST(any_device(machine.roots()));
  const Survey survey(machine.roots());
  BOOST_REQUIRE(survey.devices().size() == 1U);
  const SurveyedDevice& card = survey.devices().front();
  BOOST_TEST(card.name == "card0");
  BOOST_TEST(card.node_type == "CA");
  BOOST_TEST(name_of(card.transport) == std::string("RoCE"));
  BOOST_TEST(card.file == machine.file("uverbs0").string());
  BOOST_REQUIRE(card.ports.size() == 1U);
  BOOST_TEST(card.ports[0].number == 1U);
  BOOST_TEST(card.ports[0].state == "ACTIVE");
  BOOST_TEST(card.ports[0].physical_state == "Disabled");
  BOOST_TEST(card.ports[0].link_layer == "Ethernet");
  BOOST_TEST(card.ports[0].rate == "100 Gb/sec (4X EDR)");
  check(survey.why_not(), 0, "");
}

BOOST_AUTO_TEST_CASE(transports) {
  const Machine machine;
  machine.add("a_roce", "1: CA", "Ethernet", "4: ACTIVE");
  machine.add("b_infiniband", "1: CA", "InfiniBand", "4: ACTIVE");
  machine.add("c_iwarp", "4: RNIC", "Ethernet", "4: ACTIVE");
  machine.add("d_usnic", "6: usNIC UDP", "Ethernet", "4: ACTIVE");
  const Survey survey(machine.roots());
  std::string told;
  for (const SurveyedDevice& device : survey.devices()) told += name_of(device.transport) + std::string(" ");
  BOOST_TEST(told == "RoCE InfiniBand iWARP unknown ");
}

// Where the kernel names the interface depends on the kind of device.
BOOST_AUTO_TEST_CASE(addresses_of_the_interface_are_the_devices) {
  const Machine machine;
  machine.add("a_roce", "1: CA", "Ethernet", "4: ACTIVE");
  Machine::write(machine.device("a_roce") / "ports/1/gid_attrs/ndevs/0", "");
  Machine::write(machine.device("a_roce") / "ports/1/gid_attrs/ndevs/1", "lo");
  Machine::write(machine.device("a_roce") / "ports/1/gid_attrs/ndevs/2", "lo");
  machine.add("b_infiniband", "1: CA", "InfiniBand", "4: ACTIVE");
  Machine::write(machine.device("b_infiniband") / "device/net/lo/dev_port", "0");
  machine.add("c_infiniband", "1: CA", "InfiniBand", "4: ACTIVE");
  Machine::write(machine.device("c_infiniband") / "device/net/lo/dev_port", "1");  // of port 2
  machine.add("d_software", "4: RNIC", "Ethernet", "4: ACTIVE");
  Machine::write(machine.device("d_software") / "parent", "lo");
  machine.add("e_elsewhere", "1: CA", "Ethernet", "4: ACTIVE");
  Machine::write(machine.device("e_elsewhere") / "ports/1/gid_attrs/ndevs/0", "no-such-interface");

  const Survey survey(machine.roots());
  sockaddr_in here = loopback(4711);
  std::string carriers;
  for (const SurveyedDevice* device : survey.carriers_of(*generic(here))) carriers += device->name + ' ';
  BOOST_TEST(carriers == "a_roce b_infiniband d_software ");
  BOOST_REQUIRE(survey.devices().front().ports.front().interfaces.size() == 1U);
  BOOST_TEST(survey.devices().front().ports.front().interfaces.front().is_up);

  sockaddr_in elsewhere = here;
  elsewhere.sin_addr.s_addr = htonl(0xc0000201);  // 192.0.2.1, for documentation
  BOOST_TEST(survey.carriers_of(*generic(elsewhere)).empty());
}

BOOST_AUTO_TEST_CASE(port_down) {
  const Machine machine;
  machine.add("card0", "1: CA", "InfiniBand", "1: DOWN");
  machine.let_open("card0", "uverbs0");
  check(Survey(machine.roots()).why_not(), EXS_REASON_PORT_DOWN, "card0 port 1 is DOWN (Disabled)");
  Machine::write(machine.device("card0") / "parent", "eth-down");
  check(Survey(machine.roots()).why_not(), EXS_REASON_PORT_DOWN,
        "card0 port 1 is DOWN: ip link set eth-down up");
}

BOOST_AUTO_TEST_CASE(one_that_works_is_enough) {
  const Machine machine;
  machine.add("card0", "1: CA", "InfiniBand", "2: INIT");
  machine.let_open("card0", "uverbs0");
  machine.add("card1", "1: CA", "Ethernet", "4: ACTIVE");
  machine.let_open("card1", "uverbs1");
  const Survey survey(machine.roots());
  check(survey.why_not(), 0, "");
  check(why_not(survey.devices().front()), EXS_REASON_PORT_DOWN, "INIT");
}

BOOST_AUTO_TEST_CASE(nobody_may_open_it) {
  const Machine machine;
  machine.add("card0", "1: CA", "Ethernet", "4: ACTIVE");
  check(Survey(machine.roots()).why_not(), EXS_REASON_NO_ACCESS, "ib_uverbs");
  machine.let_open("card0", "uverbs0");
  files::remove(machine.file("rdma_cm"));
  check(Survey(machine.roots()).why_not(), EXS_REASON_NO_ACCESS, "rdma_cm: No such file");
  files::remove(machine.file("uverbs0"));
  check(Survey(machine.roots()).why_not(), EXS_REASON_NO_ACCESS, "uverbs0: No such file");
}

// For root the limit does not count, unless the driver counts it all the same.
BOOST_AUTO_TEST_CASE(little_memory_may_be_pinned) {
  rlimit before{};
  BOOST_REQUIRE(::getrlimit(RLIMIT_MEMLOCK, &before) == 0);
  const rlimit little{65536, before.rlim_max};
  BOOST_REQUIRE(::setrlimit(RLIMIT_MEMLOCK, &little) == 0);
  check(why_not_pinned(1 << 20), EXS_REASON_MEMLOCK, "1048576 bytes more: the limit is 64 KiB");
  if (is_memory_limited()) check(why_not_pinned(4096), EXS_REASON_MEMLOCK, "4096 bytes more");
  if (!is_memory_limited()) check(why_not_pinned(4096), EXS_REASON_FAILED, "Cannot allocate memory");
  BOOST_TEST(::setrlimit(RLIMIT_MEMLOCK, &before) == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::verbs
