// Frames between nodes: each decoder, and what is decoded is encoded to the same frame.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>

#include "service/wire/frames.h"
#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::service_frames {

using namespace exs::svc;
using Room = std::array<std::uint8_t, 2 * kFrameMax>;

void decode_again(const Data& data, const Header& header) {
  Room room;
  const auto frame = encode_data(room, header.flow, header.number, data);
  const auto again = decode_header(frame);
  hold(again.has_value(), "an encoded frame has a header");
  const auto same = decode_data(frame, *again);
  hold(same && same->items.count == data.items.count && same->longs.count == data.longs.count &&
           same->returns.size() == data.returns.size() && same->call == data.call,
       "the same data");
}

void decode_again(const Flow& flow, const Header& header) {
  Room room;
  const auto frame = encode_flow(room, header.flow, flow, header.ack);
  const auto again = decode_header(frame);
  hold(again && decode_flow(frame, *again).has_value(), "the same flow");
}

}  // namespace exs::fuzz::service_frames

EXS_FUZZ_TARGET(service_frames) {
  using namespace exs::fuzz::service_frames;
  const auto own = input.rest();
  const exs::svc::Bytes bytes(reinterpret_cast<const std::uint8_t*>(own.data()), own.size());
  const auto header = decode_header(bytes);
  if (!header) return;
  static_cast<void>(is_bare(bytes));
  switch (header->type) {
    case FrameType::kHello: static_cast<void>(decode_hello(bytes)); break;
    case FrameType::kFlow:
      if (const auto flow = decode_flow(bytes, *header)) decode_again(*flow, *header);
      break;
    case FrameType::kFlowOk: static_cast<void>(decode_flow_ok(bytes, *header)); break;
    case FrameType::kFlowNo: static_cast<void>(decode_flow_no(bytes)); break;
    case FrameType::kNack: static_cast<void>(decode_nack(bytes)); break;
    case FrameType::kStats: static_cast<void>(decode_stats(bytes)); break;
    case FrameType::kData:
      if (const auto data = decode_data(bytes, *header)) decode_again(*data, *header);
      break;
    default: break;
  }
}
