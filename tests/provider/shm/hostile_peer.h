// A port with a link of ours, and a peer of it that writes what it likes into its rings.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/provider/shm/claims.h"
#include "src/provider/shm/records.h"
#include "src/provider/shm/region_address.h"
#include "src/provider/shm/staging.h"
#include "tests/provider/shm/link_pair.h"

namespace exs::shm::test {

// The link under test is the initiator's; the peer joined it in order and breaks the rules from then on.
struct HostilePair {
  explicit HostilePair(const Settings& settings = {}, const LinkDepths& chosen = {8, 8, 8, 8})
      : depths(chosen), port(settings) {
    join(kClientToken, link, slot);
  }

  // One more link between the two.
  void join(std::uint64_t token, std::unique_ptr<Link>& joined, ChannelSlot& at) {
    join(peer, token, joined, at);
  }
  // Likewise, of the port and another peer.
  void join(Half& joiner, std::uint64_t token, std::unique_ptr<Link>& joined, ChannelSlot& at) {
    TcpPair& tcp = sockets.emplace_back();
    Reason why;
    auto pending = port->upgrade()->offer(why);
    require(pending.has_value(), std::string("invite: ") + why.fact);
    const auto request = joiner.join(pending->invitation, kMeetingToken);
    std::optional<Completion> met;
    while (!met) {
      turn();
      joiner.turn();
      met = joiner.take(kMeetingToken);
    }
    require(met->status.ok(), "met");
    auto taken = request->take_slot();
    require(taken.has_value(), "take_slot");
    at = std::move(*taken);
    auto made = port->upgrade()->adopt(std::move(pending->pending), tcp.client.get(), {{}, depths}, token);
    require(made.has_value(), "adopt");
    joined = std::move(*made);
  }
  // One look of both.
  void turn() {
    port.ahead_ns += 1'000'000;  // descriptors are looked at each time
    port.turn();
    peer.turn();
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) turn();
  }

  Channel& channel() { return slot.channel(); }
  // To the link under test, unless `number` says otherwise. False: no room.
  bool write(RecordKind kind, std::span<const std::byte> body, std::uint16_t flags = 0) {
    return write(slot.peer_number(), static_cast<std::uint16_t>(kind), body, flags);
  }
  bool write(std::uint32_t number, std::uint16_t kind, std::span<const std::byte> body,
             std::uint16_t flags = 0) {
    const bool written = channel().out().write({number, kind, flags, 0}, body);
    channel().wake_peer_if_asleep();
    return written;
  }
  // How the link under test ended; -1: it has not.
  int end_of(std::uint64_t token = kClientToken) {
    for (const Completion& completion : port.seen) {
      if (completion.kind == CompletionKind::kDisconnected && completion.link == token) {
        return completion.status.error();
      }
    }
    return -1;
  }

  LinkDepths depths;
  std::deque<TcpPair> sockets;
  PortDriver port;
  Half peer;
  ChannelSlot slot;  // the peer's, dies before its channel's port
  std::unique_ptr<Link> link;
};

}  // namespace exs::shm::test
