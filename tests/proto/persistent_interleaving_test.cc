#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include "tests/proto/persistent_schedule.h"
#include "tests/proto/property.h"

using exs::test::PropertyDefaults;

namespace exs::proto {

static std::ostream& operator<<(std::ostream& out, const Action& action) {
  static const char* const names[] = {"step",
                                      "send",
                                      "receive",
                                      "send at",
                                      "receive at",
                                      "persistent send",
                                      "persistent receive",
                                      "cancel",
                                      "probe",
                                      "flush",
                                      "shutdown sending",
                                      "shutdown receiving",
                                      "close",
                                      "break"};
  return out << names[action.kind] << "@" << action.end << ":" << action.number << "/" << action.size;
}

}  // namespace exs::proto

using namespace exs;
using namespace exs::proto;

namespace {

using Actions = std::vector<Action>;

rc::Gen<Shape> shapes(std::uint32_t credits_max) {
  const auto shape = rc::gen::build<Shape>(
      rc::gen::set(&Shape::forth_credits, rc::gen::inRange<std::uint32_t>(1, credits_max + 1)),
      rc::gen::set(&Shape::back_credits, rc::gen::inRange<std::uint32_t>(1, credits_max + 1)),
      rc::gen::set(&Shape::small_bytes, rc::gen::inRange<std::uint32_t>(0, 90)),
      rc::gen::set(&Shape::reads, rc::gen::inRange<std::uint32_t>(1, 5)),
      rc::gen::set(&Shape::chunk_bytes, rc::gen::inRange<std::uint64_t>(1, 40)));
  return rc::gen::resize(100, shape);
}

rc::Gen<Action> action_of(rc::Gen<Action::Kind> kinds) {
  return rc::gen::build<Action>(
      rc::gen::set(&Action::kind, std::move(kinds)), rc::gen::set(&Action::end, rc::gen::inRange(0U, 2U)),
      rc::gen::set(&Action::number, rc::gen::resize(100, rc::gen::inRange(0U, 60U))),
      rc::gen::set(&Action::size, rc::gen::resize(100, rc::gen::inRange(0U, 100U))));
}

rc::Gen<Action> uses() {
  return action_of(rc::gen::weightedElement<Action::Kind>({
      {36, Action::kStep},
      {3, Action::kSend},
      {3, Action::kReceive},
      {2, Action::kSendAt},
      {2, Action::kReceiveAt},
      {2, Action::kPersistentSend},
      {2, Action::kPersistentReceive},
      {2, Action::kCancel},
      {1, Action::kProbe},
      {1, Action::kFlush},
  }));
}

rc::Gen<Action> endings() {
  return action_of(rc::gen::element(Action::kShutdownSending, Action::kShutdownReceiving, Action::kClose));
}

rc::Gen<Actions> many(rc::Gen<Action> one) {
  return rc::gen::scale(4.0, rc::gen::container<Actions>(std::move(one)));
}

void carry_out(PersistentSchedule& schedule, const Actions& actions) {
  RC_ASSERT(schedule.start());
  for (const Action& action : actions) {
    schedule.carry_out(action);
    RC_ASSERT(schedule.wrong_so_far() == "");
  }
  schedule.run();
  RC_ASSERT(schedule.wrong_so_far() == "");
}

void expect_orderly_end(PersistentSchedule& schedule) {
  schedule.finish();
  RC_ASSERT(schedule.wrong_at_end() == "");
  for (const unsigned i : {0U, 1U}) {
    RC_ASSERT(schedule.end(i).closed_count == 1);
    RC_ASSERT(schedule.end(i).link->windows() == 0U);
  }
}

template <typename Property>
void hold(const char* name, Property property) {
  const bool held = rc::check(name, property);
  BOOST_TEST(held);
}

void put(Bytes& memory, const AnyPosted& sent) {
  const std::size_t offset = sent.operation.at_offset ? sent.operation.offset : 0;
  std::copy(sent.memory.begin(), sent.memory.end(), memory.begin() + static_cast<std::ptrdiff_t>(offset));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(persistent_interleaving_test, *boost::unit_test::fixture<PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whatever_is_persistent_and_cancelled) {
  hold("persistence, credits up to 5", [] {
    PersistentSchedule schedule(*shapes(5));
    carry_out(schedule, *many(uses()));
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  hold("persistence, credits 1/1", [] {
    PersistentSchedule schedule(*shapes(1));
    carry_out(schedule, *many(uses()));
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_directions_and_connections_are_closed) {
  hold("persistence, shutdowns, closes", [] {
    PersistentSchedule schedule(*shapes(3));
    carry_out(schedule, *many(rc::gen::weightedOneOf<Action>({{40, uses()}, {1, endings()}})));
    expect_orderly_end(schedule);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_the_connection_is_lost) {
  hold("persistence, endings, broken links", [] {
    PersistentSchedule schedule(*shapes(3));
    const auto breaks = action_of(rc::gen::just(Action::kBreak));
    carry_out(schedule, *many(rc::gen::weightedOneOf<Action>({{80, uses()}, {2, endings()}, {1, breaks}})));
    schedule.finish();
    RC_ASSERT(schedule.wrong_at_end() == "");
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whichever_call_of_the_link_fails) {
  hold("persistence, one failing call", [] {
    PersistentSchedule schedule(*shapes(3));
    const auto actions = *many(rc::gen::weightedOneOf<Action>({{60, uses()}, {1, endings()}}));
    const auto end = *rc::gen::inRange(0U, 2U);
    const auto call = *rc::gen::resize(100, rc::gen::inRange<std::uint64_t>(1, 80));
    const bool link_goes = *rc::gen::arbitrary<bool>();
    RC_ASSERT(schedule.start());
    schedule.end(end).link->fail_call(call, link_goes ? ENOTCONN : ENOMEM);
    for (const Action& action : actions) {
      schedule.carry_out(action);
      RC_ASSERT(schedule.wrong_so_far() == "");
    }
    schedule.run();
    schedule.finish();
    RC_ASSERT(schedule.wrong_at_end() == "");
  });
}

BOOST_AUTO_TEST_CASE(persistent_memory_is_as_if_every_send_had_gone_the_same_way) {
  hold("sends around an offer", [] {
    PersistentSchedule schedule(*shapes(4));
    RC_ASSERT(schedule.start());
    const auto actions = *many(action_of(rc::gen::weightedElement<Action::Kind>(
        {{12, Action::kStep}, {2, Action::kSend}, {2, Action::kSendAt}})));
    const auto offered_at = *rc::gen::inRange<std::size_t>(0, actions.size() + 1);
    constexpr std::size_t kBlockBytes = 160;
    AnyPosted* block = nullptr;
    const auto offer = [&] {
      block = &schedule.post(schedule.end(1), Action::kPersistentReceive, kBlockBytes, 0);
    };
    for (std::size_t i = 0; i < actions.size(); ++i) {
      if (i == offered_at) offer();
      Action action = actions[i];
      if (action.kind != Action::kStep) action.end = 0;
      schedule.carry_out(action);
      RC_ASSERT(schedule.wrong_so_far() == "");
    }
    if (block == nullptr) offer();
    schedule.end(0).connection->flush();
    schedule.run();
    Bytes expected(kBlockBytes, kGuard);
    std::uint64_t bytes = 0;
    for (const AnyPosted& sent : schedule.end(0).posted) {
      RC_ASSERT(sent.outcomes == 1);
      RC_ASSERT(sent.outcome.error == 0);
      put(expected, sent);
      bytes += sent.memory.size();
    }
    RC_ASSERT(block->memory == expected);
    RC_ASSERT(block->told_bytes == bytes);
    expect_orderly_end(schedule);
    RC_ASSERT(block->outcome.length_bytes == bytes);
  });
}

BOOST_AUTO_TEST_SUITE_END()
