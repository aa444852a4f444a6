// The lane against a peer that stores anything (hostile_lane.h).
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/sockets/hostile_lane.h"
#include "tests/support/property.h"

using namespace exs::lane::test;
using exs::test::SeededDice;

BOOST_FIXTURE_TEST_SUITE(hostile_words_test, exs::test::PropertyDefaults)

BOOST_AUTO_TEST_CASE(a_receiver_believes_nothing) {
  const GuardedBytes ring;
  BOOST_TEST(exs::test::holds("whatever the words of the sender are", [&] {
    SeededDice dice(exs::test::draw<std::uint32_t>());
    Peer& peer = g_peer.emplace(dice);
    Words words = hostile_words(true);
    Words own = hostile_words(true);
    AnyWire wire{ring};
    for (int calls = 0; calls < 200; ++calls) {
      peer.loads = 0;
      Receiver receiver(peer.receiver, words, {ring.bytes(), kCapacity}, wire);
      call(receiver, peer, ring, own);
    }
  }));
}

BOOST_AUTO_TEST_CASE(a_sender_believes_nothing) {
  const GuardedBytes ring;
  BOOST_TEST(exs::test::holds("whatever the words of the receiver are", [&] {
    SeededDice dice(exs::test::draw<std::uint32_t>());
    Peer& peer = g_peer.emplace(dice);
    Words words = hostile_words(false);
    AnyWire wire{ring};
    for (int calls = 0; calls < 200; ++calls) {
      peer.loads = 0;
      Sender sender(peer.sender, words, {ring.bytes(), kCapacity}, wire);
      call(sender, peer, ring);
    }
  }));
}

BOOST_AUTO_TEST_CASE(changes_of_lane_without_bytes_hold_nobody) {
  const GuardedBytes ring;
  SeededDice dice(1);
  Peer& peer = g_peer.emplace(dice, Peer::Kind::kEmptyStretches);
  Words words = hostile_words(true);
  AnyWire wire{ring};
  for (const bool peeks : {false, true}) {
    Receiver receiver(peer.receiver, words, {ring.bytes(), kCapacity}, wire);
    Memory sink{ring, 10};
    BOOST_TEST((peeks ? receiver.peek(sink) : receiver.receive(sink)) < 0);
  }
}

BOOST_AUTO_TEST_SUITE_END()
