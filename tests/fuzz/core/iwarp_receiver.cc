// The receiving half of a connection of iWARP: MPA, DDP and RDMAP of a peer that keeps to nothing, in any pieces.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/core/any_fpdu.h"
#include "tests/fuzz/fuzz.h"
#include "tests/provider/iwarp/frames.h"

namespace exs::fuzz::iwarp_receiver {

using iwarp::test::ReceiverRig;

// As a socket would: straight into the payload's place, or not.
void feed(iwarp::Receiver& receiver, std::span<const std::byte> piece, bool direct) {
  while (direct && !piece.empty()) {
    const std::span<std::byte> target = receiver.payload_target();
    if (target.empty()) break;
    const std::size_t placed = std::min(target.size(), piece.size());
    std::copy_n(piece.begin(), placed, target.begin());
    receiver.placed(placed);
    piece = piece.subspan(placed);
    const std::size_t between = std::min(receiver.bytes_between_payloads(), piece.size());
    receiver.consume(piece.first(between));
    piece = piece.subspan(between);
  }
  receiver.consume(piece);
}

}  // namespace exs::fuzz::iwarp_receiver

EXS_FUZZ_TARGET(iwarp_receiver) {
  using namespace exs::fuzz;
  iwarp_receiver::ReceiverRig rig(input.one_in(2));
  FpduPeer peer{rig.write_stag, rig.read_stag, iwarp_receiver::ReceiverRig::kSink, rig.writable.size()};
  int requests = 0;
  for (int frames = 0; frames < 60 && !input.has_ended(); ++frames) {
    const Bytes frame = any_fpdu(input, peer);
    const std::size_t cut =
        input.one_in(2) ? frame.size() : std::min<std::size_t>(input.below(80), frame.size());
    const bool direct = input.one_in(3);
    iwarp_receiver::feed(rig.receiver, std::span(frame).first(cut), direct);
    iwarp_receiver::feed(rig.receiver, std::span(frame).subspan(cut), direct);
    if (input.one_in(4) &&
        rig.told.find("requested", static_cast<std::size_t>(requests)) != std::string::npos)
      ++requests;
  }
  hold(rig.readable == Bytes(1000, std::byte{0x5A}), "nothing is written where the peer may only read");
  static_cast<void>(rig.outcome());
}
