// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/light_check.h"

namespace exs::test::light {

namespace {

// The last failed comparison in one BOOST_TEST.
thread_local std::string compared;

}  // namespace

bool note(const char* between, const std::string& left, const std::string& right) {
  compared = " [" + left + between + right + "]";
  return false;
}

void say_and_count(bool holds, const char* text, const char* file, std::size_t line) {
  using namespace boost::test_tools;
  assertion_result result(holds);
  if (!holds) result.message() << compared;
  compared.clear();
  tt_detail::report_assertion(result, BOOST_TEST_LAZY_MSG(text),
                              boost::unit_test::const_string(file, std::strlen(file)), line, tt_detail::CHECK,
                              tt_detail::CHECK_BUILT_ASSERTION, 0);
}

}  // namespace exs::test::light
