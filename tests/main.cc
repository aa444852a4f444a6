// main() of the test programs; each file of tests is a suite below.
// SPDX-License-Identifier: BSD-2-Clause
#define BOOST_TEST_MODULE exs
#include <boost/test/unit_test.hpp>
