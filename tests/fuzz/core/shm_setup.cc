// The meeting of two ports of one host: packets of a peer over the Unix socket, with and without descriptors, as acceptor and as connector.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <vector>

#include "tests/fuzz/fuzz.h"
#include "tests/provider/shm/raw_end.h"

namespace exs::fuzz::shm_setup {

using namespace exs::shm;
using namespace exs::shm::test;

ControlPacket any_packet(Input& input, const RandomId& token) {
  ControlPacket packet;
  packet.kind =
      static_cast<PacketKind>(input.one_in(16) ? input.number<std::uint32_t>() : 1 + input.below(9));
  packet.version = input.one_in(8) ? static_cast<std::uint32_t>(input.below(5)) : kLayoutVersion;
  packet.number = static_cast<std::uint32_t>(input.near(1));
  packet.peer_number = static_cast<std::uint32_t>(input.near(1));
  packet.key = static_cast<std::uint32_t>(input.below(4));
  packet.code = static_cast<std::uint32_t>(input.one_in(4) ? input.number<std::uint32_t>() : input.below(80));
  packet.length_bytes = input.one_in(4) ? input.near(kSegmentBytes) : kSegmentBytes;
  if (!input.one_in(4)) static_cast<void>(offer_probe(packet));
  if (input.one_in(8)) packet.nonce_address = input.number<std::uint64_t>();
  // The peer is this process: what is written there has to be harmless.
  if (input.one_in(8)) packet.scratch_address = input.below(4096);
  if (packet.kind == PacketKind::kJoin) packet.id = token;
  return packet;
}

// More than an honest end may pass, too.
void send_with(const RawEnd& end, ControlPacket packet, std::span<const int> descriptors) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(8 * sizeof(int))> control{};
  iovec piece{&packet, sizeof packet};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  [[maybe_unused]] const ssize_t sent = ::sendmsg(end.descriptor(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

void send_any(Input& input, const RawEnd& end, const RandomId& token) {
  if (input.one_in(8)) {
    end.send_bytes(input.bytes(input.below(100)));
    return;
  }
  if (input.one_in(3)) {
    end.send_greeting(input.one_in(2) ? PacketKind::kAcceptorGreeting : PacketKind::kConnectorGreeting);
    return;
  }
  std::vector<UniqueFd> owned;
  std::vector<int> descriptors;
  for (std::uint64_t count = input.below(4); count > 0; --count) {
    const std::size_t bytes = input.one_in(3) ? input.below(3 * kSegmentBytes) : kSegmentBytes;
    owned.push_back(input.one_in(2) ? make_doorbell() : make_memfd(bytes, input.one_in(4) ? 0 : kGoodSeals));
    descriptors.push_back(owned.back().get());
  }
  send_with(end, any_packet(input, token), descriptors);
}

void turn(Half& half, Input& input) {
  half.turn();
  if (input.one_in(4)) half.now_ns += input.below(40) * 1'000'000'000;
}

void accept_peers(Input& input) {
  Half half;
  auto invited = half.invite();
  const auto invitation = Invitation::decode(invited->invitation());
  hold(invitation.has_value(), "an invitation of ours is one");
  std::vector<RawEnd> peers;
  peers.emplace_back(invitation->socket_id);
  for (int steps = 0; steps < 30 && !input.has_ended(); ++steps) {
    if (peers.size() < 4 && input.one_in(8)) peers.emplace_back(invitation->socket_id);
    send_any(input, peers[input.below(peers.size())], invitation->token);
    turn(half, input);
    for (const RawEnd& peer : peers) static_cast<void>(peer.receive());
    if (input.one_in(16)) peers[input.below(peers.size())].leave();
  }
  if (invited != nullptr) static_cast<void>(invited->take_slot());
}

void join_a_peer(Input& input) {
  Half half;
  const RawListener listener;
  auto invitation = listener.invitation();
  if (input.one_in(8))
    invitation[input.below(invitation.size())] ^= static_cast<std::byte>(1 + input.below(255));
  auto request = half.directory.join(invitation, 100);
  if (!request) return;
  half.turn();
  const RandomId token{};
  pollfd peer{listener.descriptor(), POLLIN, 0};
  if (::poll(&peer, 1, 0) != 1) return;
  const RawEnd end = listener.accept();
  for (int steps = 0; steps < 30 && !input.has_ended(); ++steps) {
    send_any(input, end, token);
    turn(half, input);
    static_cast<void>(end.receive());
  }
  static_cast<void>((*request)->take_slot());
}

}  // namespace exs::fuzz::shm_setup

EXS_FUZZ_TARGET(shm_setup) {
  using namespace exs::fuzz::shm_setup;
  input.one_in(2) ? accept_peers(input) : join_a_peer(input);
}
