// Bell: the descriptor of a program that sleeps by itself, on a shard without an engine, so nobody else wakes it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <poll.h>

#include <memory>

#include "event/message/bell.h"
#include "tests/event/fake_port.h"

namespace exs::test {
namespace bell_test {

struct Fixture : ShardFixture {
  std::unique_ptr<Bell> bell = std::move(*Bell::make(shard));

  ~Fixture() {
    execute([&](Shard&) { bell->silence(); });
  }
  bool arm() {
    bool is_armed = false;
    execute([&](Shard&) {
      bell->silence();
      is_armed = bell->arm();
    });
    return is_armed;
  }
  void ring() {
    execute([&](Shard&) { bell->ring(); });
  }
  [[nodiscard]] bool is_readable() const {
    pollfd wanted{bell->descriptor(), POLLIN, 0};
    return ::poll(&wanted, 1, 0) == 1;
  }
  void drive() { shard->drive(shard->clock().now_ns(), false); }
};

}  // namespace bell_test

BOOST_FIXTURE_TEST_SUITE(bell_test, Fixture)

BOOST_AUTO_TEST_CASE(an_end_shows_once_it_is_armed) {
  ring();
  BOOST_TEST(!is_readable());
  BOOST_REQUIRE(arm());
  BOOST_TEST(!is_readable());
  ring();
  BOOST_TEST(is_readable());
  ring();
  BOOST_REQUIRE(arm());
  BOOST_TEST(!is_readable());
}

BOOST_AUTO_TEST_CASE(an_arrival_shows_until_somebody_drives) {
  BOOST_REQUIRE(arm());
  port.bring({});
  BOOST_TEST(is_readable());
  drive();
  BOOST_TEST(!is_readable());
}

// A thread that polls memory only would disarm the ports on which the program sleeps.
BOOST_AUTO_TEST_CASE(the_ports_stay_armed_for_the_program_until_something_ends) {
  BOOST_TEST(shard->poll_memory(false, ReadyPorts()));
  BOOST_REQUIRE(arm());
  BOOST_TEST(!shard->poll_memory(false, ReadyPorts()));
  BOOST_REQUIRE(arm());
  drive();
  BOOST_TEST(!shard->poll_memory(false, ReadyPorts()));
  ring();
  drive();
  BOOST_TEST(shard->poll_memory(false, ReadyPorts()));
}

BOOST_AUTO_TEST_CASE(nobody_sleeps_while_there_is_work) {
  port.quiet = false;
  BOOST_TEST(!arm());
  ring();
  BOOST_TEST(is_readable());
  port.quiet = true;
  port.deadline_ns = 1;
  BOOST_TEST(!arm());
  port.deadline_ns = kNoDeadline;
  BOOST_TEST(arm());
}

BOOST_AUTO_TEST_CASE(ports_that_are_opened_later_show_as_well) {
  BOOST_REQUIRE(arm());
  execute([&](Shard& owner) { BOOST_REQUIRE(owner.readiness()); });
  const UniqueFd ready(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  execute([&](Shard& owner) {
    const auto readiness = owner.readiness();
    BOOST_REQUIRE((*readiness)->watch(ready.get(), POLLIN, 1).ok());
  });
  BOOST_TEST(!is_readable());
  BOOST_TEST(arm());
  BOOST_TEST(is_readable());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
