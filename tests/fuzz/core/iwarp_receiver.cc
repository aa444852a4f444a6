// The receiving half of a connection of iWARP: MPA, DDP and RDMAP of a peer that keeps to nothing, in any pieces.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/fuzz/core/any_fpdu.h"
#include "tests/fuzz/fuzz.h"
#include "tests/provider/iwarp/frames.h"

EXS_FUZZ_TARGET(iwarp_receiver) {
  using namespace exs::fuzz;
  exs::iwarp::test::ReceiverRig rig(input.one_in(2));
  FpduPeer peer{rig.write_stag, rig.read_stag, exs::iwarp::test::ReceiverRig::kSink, rig.writable.size()};
  int requests = 0;
  for (int frames = 0; frames < 60 && !input.has_ended(); ++frames) {
    const Bytes frame = any_fpdu(input, peer);
    const std::size_t cut =
        input.one_in(2) ? frame.size() : std::min<std::size_t>(input.below(80), frame.size());
    const bool direct = input.one_in(3);
    exs::iwarp::test::feed(rig.receiver, std::span(frame).first(cut), direct);
    exs::iwarp::test::feed(rig.receiver, std::span(frame).subspan(cut), direct);
    if (input.one_in(4) &&
        rig.told.find("requested", static_cast<std::size_t>(requests)) != std::string::npos)
      ++requests;
  }
  hold(rig.readable == Bytes(1000, std::byte{0x5A}), "nothing is written where the peer may only read");
  static_cast<void>(rig.outcome());
}
