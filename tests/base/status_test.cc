// SPDX-License-Identifier: BSD-2-Clause
#include "base/status.h"

#include <memory>
#include <string>

#include <boost/test/unit_test.hpp>

using exs::failure;
using exs::Result;
using exs::Status;

namespace status_test {

Result<std::unique_ptr<int>> positive(int value) {
  if (value <= 0) return failure(EINVAL);
  return std::make_unique<int>(value);
}

Result<std::string> in_words(int value) {
  auto number = positive(value);
  if (!number) return failure(number.error());
  return std::to_string(**number);
}

}  // namespace status_test

BOOST_AUTO_TEST_SUITE(status_test)

BOOST_AUTO_TEST_CASE(default_is_success) {
  const Status status;
  BOOST_TEST(status.ok());
  BOOST_TEST(status.error() == 0);
}

BOOST_AUTO_TEST_CASE(error_number_is_kept) {
  const Status status(ENOMEM);
  BOOST_TEST(!status.ok());
  BOOST_TEST(status.error() == ENOMEM);
}

BOOST_AUTO_TEST_CASE(equal_when_the_error_number_is) {
  BOOST_TEST((Status() == Status()));
  BOOST_TEST((Status(EPROTO) == Status(EPROTO)));
  BOOST_TEST((Status(EPROTO) != Status()));
  BOOST_TEST((Status(EPROTO) != Status(EPIPE)));
}

BOOST_AUTO_TEST_CASE(result_carries_a_value_or_an_error) {
  const auto good = positive(3);
  BOOST_REQUIRE(good.has_value());
  BOOST_TEST(**good == 3);
  const auto bad = positive(0);
  BOOST_REQUIRE(!bad.has_value());
  BOOST_TEST(bad.error().error() == EINVAL);
}

BOOST_AUTO_TEST_CASE(error_passes_through_another_type_of_result) {
  BOOST_TEST(in_words(12).value() == "12");
  BOOST_TEST((in_words(-1).error() == Status(EINVAL)));
}

BOOST_AUTO_TEST_SUITE_END()
