// Snapshots of memory that its owner updates: what they tell when there is none.
#include <boost/test/unit_test.hpp>

#include <cerrno>

#include "tests/conformance/test_bed.h"

namespace exs::test {
namespace {

constexpr std::size_t kSharedBytes = 4096;

// The left end publishes the beginning of the memory, the right end reads into the rest.
struct Fixture {
  TestBed bed;

  int publish() {
    return exs_send(bed.connected(), bed.at(), kSharedBytes, EXS_PERSISTENT, bed.q(), nullptr, bed.mh());
  }
  std::string window(std::int64_t timeout_ns) {
    return outcome(
        static_cast<int>(exs_recv_window(bed.peer(), bed.at(kSharedBytes), 64, bed.mh(), 64, 0, timeout_ns)));
  }
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(snapshots_test, Fixture)

// The first read takes place however little time there is.
// shows: exs_recv_window ENOMSG ETIMEDOUT EINPROGRESS
BOOST_AUTO_TEST_CASE(no_memory_too_little_time_and_an_update_are_told_apart) {
  BOOST_TEST(window(1'000'000) == "ENOMSG");
  BOOST_REQUIRE_EQUAL(publish(), 0);
  BOOST_TEST(window(-1) == "ok");
  BOOST_TEST(window(0) == "ETIMEDOUT");
  exs_window_begin(static_cast<exs_window_t*>(bed.at()));
  BOOST_TEST(window(0) == "EINPROGRESS");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
