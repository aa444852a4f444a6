#include <boost/test/unit_test.hpp>

#include <ostream>
#include <vector>

#include <rapidcheck.h>

#include "tests/proto/property.h"
#include "tests/proto/stream_schedule.h"

using exs::test::PropertyDefaults;

namespace exs::proto {

static std::ostream& operator<<(std::ostream& out, const StreamDecision& decision) {
  static const char* const names[] = {
      "step",    "send",   "receive", "end burst",        "flush",
      "nodelay", "cancel", "starve",  "shutdown sending", "shutdown receiving",
      "close",   "abort",  "break"};
  return out << names[decision.kind] << "@" << decision.end << ":" << decision.number << "/"
             << decision.flags;
}

}  // namespace exs::proto

using namespace exs;
using namespace exs::proto;

namespace {

using Decisions = std::vector<StreamDecision>;
using Kind = StreamDecision::Kind;

rc::Gen<Shape> shapes(std::uint32_t credits_max) {
  const auto shape = rc::gen::build<Shape>(
      rc::gen::set(&Shape::forth_credits, rc::gen::inRange<std::uint32_t>(1, credits_max + 1)),
      rc::gen::set(&Shape::back_credits, rc::gen::inRange<std::uint32_t>(1, credits_max + 1)),
      rc::gen::set(&Shape::small_bytes, rc::gen::inRange<std::uint32_t>(0, 48)),
      rc::gen::set(&Shape::reads, rc::gen::inRange<std::uint32_t>(1, 5)),
      rc::gen::set(&Shape::chunk_bytes, rc::gen::inRange<std::uint64_t>(1, 40)));
  return rc::gen::resize(100, shape);  // whole ranges, however short the schedule
}

// Sizes from none to several times the small maximum and a chunk.
rc::Gen<StreamDecision> decision_of(rc::Gen<Kind> kinds) {
  return rc::gen::build<StreamDecision>(
      rc::gen::set(&StreamDecision::kind, std::move(kinds)),
      rc::gen::set(&StreamDecision::end, rc::gen::inRange(0U, 2U)),
      rc::gen::set(&StreamDecision::number, rc::gen::resize(100, rc::gen::oneOf(rc::gen::inRange(0U, 20U),
                                                                                rc::gen::inRange(0U, 160U)))),
      rc::gen::set(&StreamDecision::flags, rc::gen::resize(100, rc::gen::inRange(0U, 24U))));
}

rc::Gen<StreamDecision> transfers() {
  return decision_of(rc::gen::weightedElement<Kind>({
      {20, Kind::kStep},
      {6, Kind::kSend},
      {4, Kind::kReceive},
      {2, Kind::kEndBurst},
      {1, Kind::kFlush},
      {1, Kind::kNodelay},
      {1, Kind::kCancel},
      {1, Kind::kStarve},
  }));
}

rc::Gen<StreamDecision> endings() {
  return decision_of(rc::gen::element(Kind::kShutdownSending, Kind::kShutdownReceiving, Kind::kClose));
}

rc::Gen<StreamDecision> failures() {
  return decision_of(rc::gen::element(Kind::kAbort, Kind::kBreak));
}

// About four times as many decisions as RapidCheck's size.
rc::Gen<Decisions> many(rc::Gen<StreamDecision> one) {
  return rc::gen::scale(4.0, rc::gen::container<Decisions>(std::move(one)));
}

void carry_out(StreamSchedule& schedule, const Decisions& decisions) {
  RC_ASSERT(schedule.start());
  for (const StreamDecision& decision : decisions) {
    schedule.carry_out(decision);
    RC_ASSERT(schedule.wrong_so_far() == "");
  }
}

template <typename Property>
void hold(const char* name, Property property) {
  const bool held = rc::check(name, property);
  BOOST_TEST(held);
}

void expect_complete(const Shape& shape, const Decisions& decisions) {
  StreamSchedule schedule(shape);
  carry_out(schedule, decisions);
  schedule.complete_transfers();
  RC_ASSERT(schedule.wrong_if_undisturbed() == "");
  schedule.finish();
  RC_ASSERT(schedule.wrong_at_end() == "");
  // Nothing was refused or lost, so the close is orderly at both ends.
  RC_ASSERT(schedule.end(0).closed_count == 1);
  RC_ASSERT(schedule.end(1).closed_count == 1);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(stream_property_test, *boost::unit_test::fixture<PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_byte_arrives_once_and_in_order) {
  hold("transfers, credits up to 6", [] { expect_complete(*shapes(6), *many(transfers())); });
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  hold("transfers, credits 1/1", [] { expect_complete(*shapes(1), *many(transfers())); });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_directions_and_connections_are_closed) {
  hold("transfers, shutdowns, closes", [] {
    StreamSchedule schedule(*shapes(4));
    carry_out(schedule, *many(rc::gen::weightedOneOf<StreamDecision>({{30, transfers()}, {1, endings()}})));
    schedule.run();
    schedule.finish();
    RC_ASSERT(schedule.wrong_at_end() == "");
    // Without a failure every close is orderly.
    RC_ASSERT(schedule.end(0).closed_count == 1);
    RC_ASSERT(schedule.end(1).closed_count == 1);
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_when_the_connection_is_lost) {
  hold("transfers, endings, aborts, broken links", [] {
    StreamSchedule schedule(*shapes(4));
    carry_out(
        schedule,
        *many(rc::gen::weightedOneOf<StreamDecision>({{60, transfers()}, {2, endings()}, {1, failures()}})));
    schedule.run();
    schedule.finish();
    RC_ASSERT(schedule.wrong_at_end() == "");
  });
}

BOOST_AUTO_TEST_CASE(every_operation_ends_once_whichever_call_of_the_link_fails) {
  hold("transfers, one failing call", [] {
    StreamSchedule schedule(*shapes(4));
    const auto decisions = *many(rc::gen::weightedOneOf<StreamDecision>({{40, transfers()}, {1, endings()}}));
    const auto end = *rc::gen::inRange(0U, 2U);
    const auto call = *rc::gen::resize(100, rc::gen::inRange<std::uint64_t>(1, 80));
    const bool link_goes = *rc::gen::arbitrary<bool>();
    RC_ASSERT(schedule.start());
    schedule.end(end).link->fail_call(call, link_goes ? ENOTCONN : ENOMEM);
    for (const StreamDecision& decision : decisions) {
      schedule.carry_out(decision);
      RC_ASSERT(schedule.wrong_so_far() == "");
    }
    schedule.run();
    schedule.finish();
    RC_ASSERT(schedule.end(0).is_over());
    RC_ASSERT(schedule.end(1).is_over());
    for (unsigned i = 0; i < 2; ++i) {
      RC_ASSERT(schedule.end(i).sends_ended == schedule.end(i).sends.size());
      RC_ASSERT(schedule.end(i).receives_ended == schedule.end(i).receives.size());
    }
    RC_ASSERT(schedule.wrong_so_far() == "");
  });
}

BOOST_AUTO_TEST_SUITE_END()
