// FPDUs with a right length and checksum, whose headers are nearly right.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/fuzz/fuzz.h"
#include "tests/provider/iwarp/frames.h"

namespace exs::fuzz {

// What a peer knows of us, and where it is in its own counting.
struct FpduPeer {
  std::uint32_t write_stag = 0;
  std::uint32_t read_stag = 0;
  std::uint32_t sink_stag = 0;
  std::uint64_t window_bytes = 0;
  std::uint32_t next_send = 1;
  std::uint32_t next_read = 1;
  std::uint32_t sink_offset = 0;
};

inline std::uint32_t any_stag(Input& input, const FpduPeer& peer) {
  switch (input.below(8)) {
    case 0: return input.number<std::uint32_t>();
    case 1: return peer.read_stag ^ 1U << input.below(32);
    case 2: return peer.sink_stag;
    case 3: return peer.read_stag;
    default: return peer.write_stag;
  }
}

inline Bytes any_payload(Input& input) {
  return Bytes(input.one_in(4) ? input.below(1500) : input.below(64), std::byte{0x33});
}

inline Bytes any_send(Input& input, FpduPeer& peer) {
  iwarp::test::Untagged head;
  head.ddp = input.one_in(4) ? 0x01 : 0x41;
  head.rdmap = 0x43U + static_cast<unsigned>(input.below(input.one_in(8) ? 8 : 1));
  head.invalidate = input.one_in(8) ? input.number<std::uint32_t>() : 0;
  head.queue = input.one_in(16) ? static_cast<std::uint32_t>(input.below(5)) : 0;
  head.number = input.one_in(16) ? static_cast<std::uint32_t>(input.near(peer.next_send)) : peer.next_send;
  head.offset = input.one_in(8) ? static_cast<std::uint32_t>(input.near(64)) : 0;
  if (head.ddp == 0x41) ++peer.next_send;
  return iwarp::test::untagged_fpdu(head, any_payload(input));
}

inline Bytes any_fpdu(Input& input, FpduPeer& peer) {
  switch (input.below(8)) {
    case 0: return any_send(input, peer);
    case 1: return any_send(input, peer);
    case 2: {
      const std::uint64_t offset =
          input.one_in(2) ? input.below(peer.window_bytes + 1) : input.near(peer.window_bytes);
      return iwarp::test::write_fpdu(any_stag(input, peer), offset, any_payload(input));
    }
    case 3: {
      const auto length = static_cast<std::uint32_t>(input.one_in(4) ? input.near(peer.window_bytes)
                                                                     : input.below(peer.window_bytes + 1));
      const std::uint64_t offset =
          input.one_in(2)
              ? 0
              : input.near(peer.window_bytes - std::min<std::uint64_t>(length, peer.window_bytes));
      const std::uint32_t source = input.one_in(4) ? any_stag(input, peer) : peer.read_stag;
      return iwarp::test::read_request_fpdu(peer.next_read++, 4, length, source, offset);
    }
    case 4: {
      const bool is_last = input.one_in(2);
      const Bytes payload = any_payload(input);
      const std::uint64_t offset = input.one_in(8) ? input.near(peer.sink_offset) : peer.sink_offset;
      peer.sink_offset += static_cast<std::uint32_t>(payload.size());
      return iwarp::test::tagged_fpdu(is_last ? 0xC1 : 0x81, 0x42,
                                      input.one_in(8) ? any_stag(input, peer) : peer.sink_stag, offset,
                                      payload);
    }
    case 5: {
      iwarp::test::Untagged head{0x41, 0x47, 0, 2, static_cast<std::uint32_t>(input.below(3)), 0};
      return iwarp::test::untagged_fpdu(head, input.bytes(input.below(30)));
    }
    case 6: return iwarp::test::framed(input.bytes(input.below(80)));
    default: return input.bytes(input.below(60));
  }
}

}  // namespace exs::fuzz
