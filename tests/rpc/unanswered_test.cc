// Which calls of a handle the server may not have served yet.
// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/sunrpc/unanswered.h"

#include <boost/test/unit_test.hpp>

namespace exs::test {
namespace unanswered_test {

using rpc::Unanswered;

struct Filled {
  Unanswered calls;
  Filled() {
    for (std::uint32_t id = 100; id > 100 - Unanswered::kMost; --id) calls.add(id);
  }
};

}  // namespace unanswered_test

BOOST_FIXTURE_TEST_SUITE(unanswered_test, unanswered_test::Filled)

BOOST_AUTO_TEST_CASE(an_answer_is_that_of_all_before) {
  calls.answered(100);
  BOOST_TEST(calls.count() == rpc::Unanswered::kMost - 1);
  calls.answered(95);
  BOOST_TEST(calls.count() == rpc::Unanswered::kMost - 6);
  calls.answered(96);  // a late one
  calls.answered(7);   // of none
  BOOST_TEST(calls.count() == rpc::Unanswered::kMost - 6);
  calls.answered(101 - rpc::Unanswered::kMost);
  BOOST_TEST(calls.count() == 0U);
}

BOOST_AUTO_TEST_CASE(a_question_has_room_behind_as_many_as_may_be) {
  calls.note_batched();
  calls.add_question(1);
  BOOST_TEST(calls.ends_with_question());
  calls.answered(101 - rpc::Unanswered::kMost);
  BOOST_TEST(calls.count() == 1U);
  BOOST_TEST(calls.ends_with_question());
  calls.add(0);
  BOOST_TEST(!calls.ends_with_question());
  BOOST_TEST(calls.has_batched());
  calls.answered(0);
  BOOST_TEST(calls.count() == 0U);
  BOOST_TEST(!calls.has_batched());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
