// What may follow each state of a call and of a greeting.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <initializer_list>

#include "rpc/fast/binding.h"
#include "rpc/fast/client_call.h"

namespace exs::test {

using rpc::CallState;
using rpc::ClientCall;
using rpc::GreetingState;

BOOST_AUTO_TEST_SUITE(call_states_test)

BOOST_AUTO_TEST_CASE(a_call_goes_from_its_start_to_its_end_and_is_used_again) {
  using Way = std::initializer_list<CallState>;
  for (const Way& way : {Way{CallState::kNew, CallState::kInSlot, CallState::kEnded, CallState::kFree},
                         Way{CallState::kNew, CallState::kInSlot, CallState::kInSlotOver, CallState::kEnded},
                         Way{CallState::kNew, CallState::kQueued, CallState::kInSlot},
                         Way{CallState::kNew, CallState::kQueued, CallState::kQueuedOver, CallState::kEnded},
                         Way{CallState::kNew, CallState::kEnded, CallState::kFree, CallState::kNew}}) {
    ClientCall call;
    for (const CallState next : way) call.move_to(next);
    BOOST_TEST((call.state == *(way.end() - 1)));
  }
}

BOOST_AUTO_TEST_CASE(a_call_that_has_ended_is_never_sent) {
  for (const CallState over : {CallState::kEnded, CallState::kInSlotOver, CallState::kQueuedOver})
    for (const CallState sent : {CallState::kInSlot, CallState::kQueued, CallState::kNew})
      BOOST_TEST(!rpc::kCallStates.may_follow(over, sent));
  BOOST_TEST(!rpc::kCallStates.may_follow(CallState::kFree, CallState::kInSlot));
  BOOST_TEST(!rpc::kCallStates.may_follow(CallState::kFree, CallState::kFree));
}

BOOST_AUTO_TEST_CASE(a_call_knows_what_its_state_means) {
  ClientCall call;
  call.move_to(CallState::kNew);
  BOOST_TEST(!call.has_ended());
  call.move_to(CallState::kQueued);
  BOOST_TEST((call.is_queued() && !call.is_in_slot() && !call.has_ended()));
  call.move_to(CallState::kInSlot);
  BOOST_TEST((call.is_in_slot() && !call.is_queued() && !call.has_ended()));
  call.move_to(CallState::kInSlotOver);
  BOOST_TEST((call.is_in_slot() && call.has_ended()));
  call.move_to(CallState::kEnded);
  BOOST_TEST((!call.is_in_slot() && call.has_ended()));
}

BOOST_AUTO_TEST_CASE(a_client_is_refused_or_greeted_once) {
  using enum GreetingState;
  const auto may_follow = [](GreetingState now, GreetingState next) {
    return rpc::kGreetingStates.may_follow(now, next);
  };
  BOOST_TEST((may_follow(kHello, kTable) && may_follow(kHello, kRefused) && may_follow(kTable, kReady)));
  BOOST_TEST(!may_follow(kHello, kReady));
  for (const GreetingState next : {kHello, kTable, kRefused, kReady})
    BOOST_TEST((!may_follow(kRefused, next) && !may_follow(kReady, next)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
