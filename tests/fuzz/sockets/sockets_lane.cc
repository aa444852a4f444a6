// The two ends of a lane of the sockets layer, whose peer rewrites the words and the ring (tests/sockets/hostile_lane.h).
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/fuzz.h"
#include "tests/sockets/hostile_lane.h"

EXS_FUZZ_TARGET(sockets_lane) {
  using namespace exs::lane::test;
  static const GuardedBytes ring;
  const bool of_receiver = input.one_in(2);
  Peer& peer = g_peer.emplace(input);
  Words words = hostile_words(of_receiver);
  Words own = hostile_words(of_receiver);
  AnyWire wire{ring};
  for (int calls = 0; calls < 100 && !input.has_ended(); ++calls) {
    peer.loads = 0;
    if (of_receiver) {
      Receiver receiver(peer.receiver, words, {ring.bytes(), kCapacity}, wire);
      call(receiver, peer, ring, own);
    } else {
      Sender sender(peer.sender, words, {ring.bytes(), kCapacity}, wire);
      call(sender, peer, ring);
    }
  }
}
