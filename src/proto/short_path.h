// The state of a connection that short messages use, and their two steps in the steady case: a few dozen instructions each. All else of
// the protocol works on the same state. Whether the case is steady, Connection decides (sends_short(), takes_short()).
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/fifo.h"
#include "src/proto/credit.h"
#include "src/proto/hello.h"
#include "src/proto/operation.h"
#include "src/provider/provider.h"
#include "src/wire/codec.h"

namespace exs::proto {

// Thread: shard.
struct ShortPath {
  ShortPath(const Agreement& agreement, Link& on_link, std::uint32_t first_sequence, Counters& of_connection)
      : link(on_link),
        credits(agreement.send_credits, agreement.receive_credits),
        small_bytes(agreement.small_bytes),
        next_out(first_sequence),
        next_in(first_sequence),
        counters(of_connection) {}

  // Sends at once and flushes the link. Requires that nothing waits before it.
  [[nodiscard]] ShortSend send(LocalSlice payload) noexcept {
    if (payload.length_bytes > small_bytes) return ShortSend::kNot;
    if (credits.available() == 0) return ShortSend::kNoCredit;
    const std::uint32_t owed = credits.owed();
    const auto header = wire::encode_immediate(static_cast<std::uint16_t>(owed), next_out);
    if (!link.send_short(header, payload)) return ShortSend::kNot;
    credits.returned(owed);
    ++counters.immediates_sent;
    count_sent(payload.length_bytes);
    return ShortSend::kSent;
  }
  void count_sent(std::uint64_t bytes) noexcept {
    credits.spend();
    ++next_out;
    counters.bytes_sent += bytes;
    counters.immediate_bytes += bytes;
  }

  // Copies an immediate into the receive that waits for it, and calls `deliver(receive, payload_bytes)`. Requires that no message waits
  // before it. False: no short receive waits, or it is another message; nothing has changed. Throws MemoryGone.
  template <typename Deliver>
  [[nodiscard]] bool take(const ArrivingMessage& message, Deliver&& deliver) {
    const auto first = message.first_piece();
    if (receives.empty() || first.size() < wire::kHeaderBytes) return false;
    const Operation& receive = receives.front();
    std::array<std::byte, wire::kHeaderBytes> bytes;
    std::memcpy(bytes.data(), first.data(), bytes.size());
    wire::Header header;
    if (!receive.is_short || !wire::decode_immediate(bytes, header)) return false;
    const std::size_t payload_bytes = message.length_bytes() - wire::kHeaderBytes;
    if (!may_admit(header.sequence, payload_bytes) || !credits.may_take_back(header.credits)) return false;
    const std::size_t taken = std::min<std::size_t>(payload_bytes, receive.memory.length_bytes);
    message.copy(wire::kHeaderBytes, {receive.memory.address, taken});
    pass_through();
    credits.add_back(header.credits);
    count_received(taken);
    std::forward<Deliver>(deliver)(receive, payload_bytes);
    receives.drop_front();
    return true;
  }
  // An immediate that is next, from a peer that had a credit for it.
  [[nodiscard]] bool may_admit(std::uint32_t sequence, std::size_t payload_bytes) const noexcept {
    return sequence == next_in && payload_bytes <= small_bytes && credits.peer_has_one();
  }
  // It may be admitted, and is done with.
  void pass_through() noexcept {
    credits.pass_through();
    ++next_in;
  }
  void count_received(std::uint64_t bytes) noexcept {
    counters.bytes_received += bytes;
    counters.copied_bytes += bytes;
  }

  Link& link;
  Credits credits;
  const std::uint32_t small_bytes;
  std::uint32_t next_out;    // the sequence number of our next data message
  std::uint32_t next_in;     // of the peer's
  bool sends = false;        // nothing waits before the next send, as far as Connection knows
  bool takes = false;        // likewise, before the next short receive and the peer's next message
  Fifo<Operation> receives;  // without a message, in their order
  Counters& counters;
};

}  // namespace exs::proto
