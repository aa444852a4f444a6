// The n-th allocation of the service layer, or of libexs below it, fails, for every n.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE service_allocations
#include <boost/test/unit_test.hpp>

#include <optional>

#include "tests/faults/service_life.h"
#include "tests/support/exs_fixture.h"
#include "tests/support/failing_allocations.h"

namespace exs::test {
namespace {

// With checks a round takes long, so there it is one in three.
constexpr std::uint32_t kStep = kSanitized ? 3 : 1;

// Allocations of the calling thread count, too: what a life does there is almost all calls of the library.
void fail_each(const char* name, Way way, std::uint32_t how_many) {
  const DirectoryProcess directory;
  run_rounds(name, [&](std::uint32_t number, LifeReport& report) {
    std::optional<CountedCall> counted;
    const Faults faults{[&] {
                          count_allocations({number * kStep, how_many, 0, 0});
                          counted.emplace();
                        },
                        [&] {
                          counted.reset();
                          return stop_counting_allocations();
                        }};
    live_twice(way, directory.address(), faults, report);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_life_on_one_host_survives_each) {
  fail_each("allocations, by host", Way::kHost, 1);
}

BOOST_AUTO_TEST_CASE(a_life_with_a_directory_survives_each) {
  fail_each("allocations, by directory", Way::kDirectory, 1);
}

}  // namespace exs::test
