// The n-th kernel call of the service layer fails, for every n: names, the directory's client, multicast. Those of libexs do not.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE service_kernel_calls
#include <boost/test/unit_test.hpp>

#include "tests/faults/service_life.h"
#include "tests/support/faulty_kernel.h"

namespace exs::test {
namespace {

void fail_each(const char* name, Way way) {
  const DirectoryProcess directory;
  run_rounds(name, [&](std::uint32_t number, LifeReport& report) {
    static FaultPlan plan;
    plan.fails_at = number;
    follow(&plan);
    const Faults faults{[] { plan.counts = true; },
                        [] {
                          plan.counts = false;
                          return plan.failed.load() != nullptr;
                        }};
    live_twice(way, directory.address(), faults, report);
  });
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_life_on_one_host_survives_each) {
  fail_each("kernel calls, by host", Way::kHost);
}

BOOST_AUTO_TEST_CASE(a_life_with_a_directory_survives_each) {
  fail_each("kernel calls, by directory", Way::kDirectory);
}

}  // namespace exs::test
