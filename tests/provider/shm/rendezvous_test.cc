// Two ports of one host find each other, or say why not.
#define BOOST_TEST_MODULE rendezvous_test
#include "src/provider/shm/rendezvous.h"

#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/halves.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace {

constexpr std::uint64_t kToken = 7;

struct Fixture {
  Half initiator, responder;
  Half* halves[2] = {&initiator, &responder};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(rendezvous_test, Fixture)

BOOST_AUTO_TEST_CASE(two_ports_meet) {
  const auto invited = initiator.invite();
  BOOST_TEST(invited->words().size() == Invitation::kBytes);
  const auto visit = responder.meet(invited->words(), kToken);
  const Completion met = await(halves, responder, kToken);
  BOOST_TEST((met.kind == CompletionKind::kMet));
  BOOST_TEST(met.status.ok());
  const auto ours = invited->take_place();
  const auto theirs = visit->take_place();
  BOOST_REQUIRE(ours.has_value());
  BOOST_REQUIRE(theirs.has_value());
  BOOST_TEST(ours->peer_number() == theirs->our_number());
  BOOST_TEST(theirs->peer_number() == ours->our_number());
  BOOST_TEST(ours->first_to_speak());
  BOOST_TEST(!theirs->first_to_speak());
  BOOST_TEST(ours->channel().reads_memory());
  BOOST_TEST(theirs->channel().reads_memory());
}

BOOST_AUTO_TEST_SUITE_END()
