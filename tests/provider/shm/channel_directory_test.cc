// Two ports of one host find each other, or say why not.
// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel_directory.h"

#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/halves.h"
#include "tests/provider/shm/raw_end.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace channel_directory_test {

constexpr std::uint64_t kToken = 7;

struct Fixture {
  Half initiator, responder;
  Half* halves[2] = {&initiator, &responder};

  // Both have their slot.
  struct Pair {
    ChannelSlot initiators, responders;
  };
  Pair join(Half& from, Half& to) {
    const auto pending = from.invite();
    const auto request = to.join(pending->invitation(), kToken);
    BOOST_TEST(await(halves, to, kToken).status.ok());
    auto ours = pending->take_slot();
    auto theirs = request->take_slot();
    BOOST_REQUIRE(ours.has_value());
    BOOST_REQUIRE(theirs.has_value());
    BOOST_TEST(ours->peer_number() == theirs->our_number());
    BOOST_TEST(theirs->peer_number() == ours->our_number());
    return {std::move(*ours), std::move(*theirs)};
  }
  Pair join() { return join(initiator, responder); }

  // The responder's.
  ReasonCode refused(std::span<const std::byte> words) {
    const auto request = responder.join(words, kToken);
    return reason_of(*request);
  }
  ReasonCode reason_of(ShmUpgrade& request) {
    const Completion met = await(halves, responder, kToken);
    BOOST_TEST((met.kind == CompletionKind::kUpgradeReady));
    BOOST_TEST(!met.status.ok());
    BOOST_TEST(!request.take_slot().has_value());
    BOOST_TEST(request.why_not().fact != "");
    return request.why_not().code;
  }
  void turn(int times = 8) {
    for (int i = 0; i < times; ++i) {
      for (Half* half : halves) half->turn();
    }
  }
  void pass(std::uint64_t ns) {
    for (Half* half : halves) half->now_ns += ns;
    turn();
  }
};

Settings allowing(AllowedUsers users) {
  Settings settings;
  settings.users = std::move(users);
  return settings;
}

Settings without_process_vm() {
  Settings settings;
  settings.process_vm = false;
  return settings;
}

RandomId socket_id_of(const ShmUpgrade& pending) {
  return Invitation::decode(pending.invitation())->socket_id;
}

}  // namespace channel_directory_test

BOOST_AUTO_TEST_SUITE(channel_directory_test)

BOOST_FIXTURE_TEST_SUITE(meeting, Fixture)

BOOST_AUTO_TEST_CASE(two_ports_meet) {
  const Pair pair = join();
  BOOST_TEST(pair.initiators.sends_ready());
  BOOST_TEST(!pair.responders.sends_ready());
  BOOST_TEST(pair.initiators.channel().reads_memory());
  BOOST_TEST(pair.responders.channel().reads_memory());
  BOOST_TEST(pair.initiators.channel().peer_pid() == ::getpid());
  BOOST_TEST(pair.initiators.channel().peer_process_lives());
}

BOOST_AUTO_TEST_CASE(what_one_end_writes_the_other_reads) {
  const Pair pair = join();
  const std::byte word[] = {std::byte{42}};
  BOOST_TEST(pair.initiators.channel().out().write({.link = pair.initiators.peer_number(), .kind = 3}, word));
  RecordHeader header;
  BOOST_TEST(pair.responders.channel().in().peek(header));
  BOOST_TEST(header.link == pair.responders.our_number());
  BOOST_TEST(!pair.initiators.channel().in().peek(header));
}

BOOST_AUTO_TEST_CASE(nothing_is_met_before_the_peer_has_come) {
  const auto pending = initiator.invite();
  BOOST_TEST((pending->take_slot().error() == Status(EAGAIN)));
  const auto request = responder.join(pending->invitation(), kToken);
  BOOST_TEST((request->take_slot().error() == Status(EAGAIN)));
}

BOOST_AUTO_TEST_CASE(a_second_connection_uses_the_channel_that_is_there) {
  const Pair first = join();
  const std::size_t before = open_descriptors();
  const Pair second = join();
  BOOST_TEST(open_descriptors() == before);
  BOOST_TEST(first.initiators.shared_channel() == second.initiators.shared_channel());
  BOOST_TEST(first.responders.shared_channel() == second.responders.shared_channel());
  BOOST_TEST(first.initiators.our_number() != second.initiators.our_number());
  BOOST_TEST(initiator.directory.channels().size() == 1U);
}

BOOST_AUTO_TEST_CASE(connections_that_come_during_the_set_up_wait_for_it) {
  std::vector<std::unique_ptr<ShmUpgrade>> pending, requests;
  for (std::uint64_t i = 0; i < 50; ++i) {
    pending.push_back(initiator.invite());
    requests.push_back(responder.join(pending.back()->invitation(), i));
  }
  for (std::uint64_t i = 0; i < 50; ++i) BOOST_TEST(await(halves, responder, i).status.ok());
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto ours = pending[i]->take_slot();
    const auto theirs = requests[i]->take_slot();
    BOOST_REQUIRE((ours.has_value() && theirs.has_value()));
    BOOST_TEST(ours->peer_number() == theirs->our_number());
  }
  BOOST_TEST(responder.directory.channels().size() == 1U);
}

BOOST_AUTO_TEST_CASE(both_ends_may_be_one_port) {
  const Pair pair = join(initiator, initiator);
  BOOST_TEST(initiator.directory.channels().size() == 2U);
  BOOST_TEST(pair.initiators.shared_channel() != pair.responders.shared_channel());
}

BOOST_AUTO_TEST_CASE(both_invite_at_once) {
  const auto ours = initiator.invite();
  const auto theirs = responder.invite();
  const auto our_request = initiator.join(theirs->invitation(), 1);
  const auto their_request = responder.join(ours->invitation(), 2);
  BOOST_TEST(await(halves, initiator, 1).status.ok());
  BOOST_TEST(await(halves, responder, 2).status.ok());
  for (ShmUpgrade* meeting : {ours.get(), theirs.get(), our_request.get(), their_request.get()}) {
    BOOST_TEST(meeting->take_slot().has_value());
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left) {
  const std::size_t before = open_descriptors();
  {
    Half one, other;
    Half* both[] = {&one, &other};
    const auto pending = one.invite();
    const auto request = other.join(pending->invitation(), kToken);
    BOOST_TEST(await(both, other, kToken).status.ok());
  }
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(giving_up, Fixture)

BOOST_AUTO_TEST_CASE(a_join_request_that_is_given_up_says_nothing_more) {
  const auto pending = initiator.invite();
  responder.join(pending->invitation(), kToken).reset();
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(join().initiators.is_reserved());
}

BOOST_AUTO_TEST_CASE(a_join_request_is_given_up_after_it_has_joined) {
  const Pair first = join();
  const auto pending = initiator.invite();
  responder.join(pending->invitation(), kToken).reset();
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(first.responders.channel().links().count() == 1U);
  // The initiator's end holds its slot until its connection says that they have not met.
  BOOST_TEST(first.initiators.channel().links().count() == 2U);
}

BOOST_AUTO_TEST_CASE(the_numbers_of_slots_come_back) {
  std::shared_ptr<Channel> channel;
  {
    const Pair pair = join();
    channel = pair.initiators.shared_channel();
    BOOST_TEST(channel->links().count() == 1U);
  }
  BOOST_TEST(channel->links().count() == 0U);
}

BOOST_AUTO_TEST_CASE(channels_without_links_go_and_the_one_who_connected_goes_first) {
  const std::size_t before_sockets = [&] {
    initiator.invite();
    return open_descriptors();
  }();
  { const Pair pair = join(); }
  turn();
  BOOST_TEST(responder.directory.next_deadline_ns() == responder.now_ns + ChannelDirectory::kIdleConnectedNs);
  pass(ChannelDirectory::kIdleConnectedNs - 1);
  BOOST_TEST(responder.directory.channels().size() == 1U);
  pass(1);
  BOOST_TEST(responder.directory.channels().empty());
  BOOST_TEST(initiator.directory.channels().empty());
  BOOST_TEST(open_descriptors() == before_sockets);
  BOOST_TEST(responder.directory.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_channel_that_has_ended_goes_with_its_last_link) {
  auto pair = std::make_unique<Pair>(join());
  turn();
  pair->responders.channel().end(Status(EPROTO));
  turn();
  BOOST_TEST(initiator.directory.channels().size() == 1U);
  BOOST_TEST(initiator.directory.next_deadline_ns() == kNoDeadline);
  pair.reset();
  // At once, not when it would have been idle for long enough.
  BOOST_TEST(initiator.directory.next_deadline_ns() <= initiator.now_ns);
  turn();
  BOOST_TEST(initiator.directory.channels().empty());
}

BOOST_AUTO_TEST_CASE(an_idle_channel_that_ends_goes_at_once) {
  { const Pair pair = join(); }
  turn();
  responder.directory.channels()[0].channel->end(Status(EPROTO));
  BOOST_TEST(responder.directory.next_deadline_ns() <= responder.now_ns);
  turn();
  BOOST_TEST(initiator.directory.channels().empty());
}

BOOST_AUTO_TEST_CASE(a_channel_with_links_stays) {
  const Pair pair = join();
  pass(100 * ChannelDirectory::kIdleAcceptedNs);
  pass(100 * ChannelDirectory::kIdleAcceptedNs);
  BOOST_TEST(!pair.initiators.channel().is_over());
  BOOST_TEST(initiator.directory.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(who_joins_a_channel_that_is_being_closed_connects_anew) {
  { const Pair pair = join(); }
  turn();
  initiator.now_ns += ChannelDirectory::kIdleAcceptedNs;
  const auto pending = initiator.invite();
  const auto request = responder.join(pending->invitation(), kToken);  // has written into the socket
  // The acceptor closes without having read it.
  initiator.directory.progress(initiator.now_ns);
  BOOST_TEST(initiator.directory.channels().empty());
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  BOOST_TEST(pending->take_slot().has_value());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(refusals, Fixture)

BOOST_AUTO_TEST_CASE(words_of_another_version_or_length) {
  auto words = Invitation{}.encode();
  words[0] = std::byte{Invitation::kVersion + 1};
  BOOST_TEST(refused(words) == ReasonCode::kFailed);
  for (std::size_t length = 0; length < words.size(); ++length) {
    BOOST_TEST(refused(std::span(words).first(length)) == ReasonCode::kFailed);
  }
}

BOOST_AUTO_TEST_CASE(another_host) {
  Reason why;
  Invitation invitation{*Identity::of_this_process(why), *random_id(), *random_id()};
  invitation.identity.host[3] ^= std::byte{1};
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kOtherHost);
}

BOOST_AUTO_TEST_CASE(another_network_namespace) {
  Reason why;
  Invitation invitation{*Identity::of_this_process(why), *random_id(), *random_id()};
  ++invitation.identity.net_namespace;
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kOtherNetns);
}

BOOST_AUTO_TEST_CASE(nobody_there) {
  Reason why;
  const Invitation invitation{*Identity::of_this_process(why), *random_id(), *random_id()};
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kNoUnixSocket);
}

BOOST_AUTO_TEST_CASE(an_invitation_that_is_forgotten) {
  auto pending = initiator.invite();
  const std::vector<std::byte> words(pending->invitation().begin(), pending->invitation().end());
  pending.reset();
  BOOST_TEST(refused(words) == ReasonCode::kNoProof);
}

BOOST_AUTO_TEST_CASE(an_invitation_is_for_one) {
  const auto pending = initiator.invite();
  const auto request = responder.join(pending->invitation(), 1);
  BOOST_TEST(await(halves, responder, 1).status.ok());
  BOOST_TEST(refused(pending->invitation()) == ReasonCode::kNoProof);
  BOOST_TEST(request->take_slot().has_value());
}

BOOST_AUTO_TEST_CASE(the_responder_does_not_allow_the_initiators_user) {
  Half strict(allowing({.same = false, .any = false, .uids = {::geteuid() + 1}}));
  Half* both[] = {&initiator, &strict};
  const auto pending = initiator.invite();
  const auto request = strict.join(pending->invitation(), kToken);
  BOOST_TEST(!await(both, strict, kToken).status.ok());
  BOOST_TEST(request->why_not().code == ReasonCode::kOtherUser);
}

BOOST_AUTO_TEST_CASE(the_initiator_does_not_allow_the_responders_user) {
  Half strict(allowing({.same = false, .any = false, .uids = {::geteuid() + 1}}));
  Half* both[] = {&strict, &responder};
  const auto pending = strict.invite();
  const auto request = responder.join(pending->invitation(), kToken);
  BOOST_TEST(!await(both, responder, kToken).status.ok());
  BOOST_TEST(request->why_not().code == ReasonCode::kOtherUser);
  BOOST_TEST((pending->take_slot().error() == Status(EAGAIN)));
}

BOOST_AUTO_TEST_CASE(without_process_vm_they_meet_all_the_same) {
  Half plain(without_process_vm());
  Half* both[] = {&initiator, &plain};
  const auto pending = initiator.invite();
  const auto request = plain.join(pending->invitation(), kToken);
  BOOST_TEST(await(both, plain, kToken).status.ok());
  const auto slot = request->take_slot();
  BOOST_REQUIRE(slot.has_value());
  BOOST_TEST(!slot->channel().reads_memory());
  BOOST_TEST(slot->channel().why_not().code == ReasonCode::kNoPtrace);
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing) {
  const RawListener listener;
  const auto request = responder.join(listener.invitation(), kToken);
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(responder.directory.next_deadline_ns() == responder.now_ns + ChannelDirectory::kSetupLimitNs);
  pass(ChannelDirectory::kSetupLimitNs - 1);
  BOOST_TEST(responder.seen.empty());
  pass(1);
  BOOST_TEST(reason_of(*request) == ReasonCode::kTimedOut);
  BOOST_TEST(responder.directory.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing_after_the_greeting) {
  const RawListener listener;
  const auto request = responder.join(listener.invitation(), kToken);
  const RawEnd peer = listener.accept();
  BOOST_TEST(peer.send_greeting(PacketKind::kAcceptorGreeting));
  turn();
  pass(ChannelDirectory::kSetupLimitNs);
  BOOST_TEST(reason_of(*request) == ReasonCode::kTimedOut);
}

BOOST_AUTO_TEST_CASE(a_socket_with_a_full_backlog) {
  const RawListener listener(0);
  const RawEnd before(listener.socket_id);
  BOOST_TEST(before.connected);
  const auto request = responder.join(listener.invitation(), kToken);
  turn();
  BOOST_TEST(responder.seen.empty());
  // Tries again now and then.
  BOOST_TEST(responder.directory.next_deadline_ns() <
             responder.now_ns + ChannelDirectory::kSetupLimitNs / 100);
  const RawEnd accepted = listener.accept();
  turn();
  const RawEnd peer = listener.accept();
  pass(ChannelDirectory::kSetupLimitNs);
  BOOST_TEST(reason_of(*request) == ReasonCode::kTimedOut);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(protocol_errors, Fixture)

// What a peer may say instead of its greeting, by either end.
struct ProtocolError {
  const char* what;
  bool (*send)(const RawEnd& peer, PacketKind kind);
};

bool send_with(const RawEnd& peer, const ControlPacket& packet, const UniqueFd& first,
               const UniqueFd& second) {
  const int descriptors[] = {first.get(), second.get()};
  return peer.send(packet, descriptors);
}

// More than a packet may have, so that the kernel cuts them off.
bool send_with_five(const RawEnd& peer, PacketKind kind) {
  const UniqueFd one = make_doorbell();
  const int five[] = {one.get(), one.get(), one.get(), one.get(), one.get()};
  ControlPacket packet = greeting(kind);
  iovec piece{&packet, sizeof packet};
  alignas(cmsghdr) std::byte control[CMSG_SPACE(sizeof five)]{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  *header = {CMSG_LEN(sizeof five), SOL_SOCKET, SCM_RIGHTS};
  std::memcpy(CMSG_DATA(header), five, sizeof five);
  return ::sendmsg(peer.descriptor(), &message, MSG_NOSIGNAL) > 0;
}

const ProtocolError kProtocolErrors[] = {
    {"one byte", [](const RawEnd& peer, PacketKind) { return peer.send_bytes(std::vector<std::byte>(1)); }},
    {"nothing", [](const RawEnd& peer, PacketKind) { return peer.send_bytes({}); }},
    {"a byte too few",
     [](const RawEnd& peer, PacketKind) { return peer.send_bytes(std::vector<std::byte>(63)); }},
    {"a byte too many",
     [](const RawEnd& peer, PacketKind) { return peer.send_bytes(std::vector<std::byte>(65)); }},
    {"64 KiB", [](const RawEnd& peer, PacketKind) { return peer.send_bytes(std::vector<std::byte>(65536)); }},
    {"all zero", [](const RawEnd& peer, PacketKind) { return peer.send(ControlPacket{}); }},
    {"no descriptors", [](const RawEnd& peer, PacketKind kind) { return peer.send(greeting(kind)); }},
    {"the other's greeting",
     [](const RawEnd& peer, PacketKind kind) {
       return peer.send_greeting(kind == PacketKind::kConnectorGreeting ? PacketKind::kAcceptorGreeting
                                                                        : PacketKind::kConnectorGreeting);
     }},
    {"a join", [](const RawEnd& peer,
                  PacketKind) { return peer.send(ControlPacket{.kind = PacketKind::kJoin, .number = 1}); }},
    {"another version",
     [](const RawEnd& peer, PacketKind kind) {
       ControlPacket packet = greeting(kind);
       ++packet.version;
       return send_with(peer, packet, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell());
     }},
    {"another size",
     [](const RawEnd& peer, PacketKind kind) {
       ControlPacket packet = greeting(kind);
       packet.length_bytes = UINT64_MAX;
       return send_with(peer, packet, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell());
     }},
    {"a segment that may shrink",
     [](const RawEnd& peer, PacketKind kind) {
       return send_with(peer, greeting(kind), make_memfd(kSegmentBytes, F_SEAL_GROW), make_doorbell());
     }},
    {"a segment that is too small",
     [](const RawEnd& peer, PacketKind kind) {
       return send_with(peer, greeting(kind), make_memfd(kSegmentBytes - 4096, kGoodSeals), make_doorbell());
     }},
    {"the descriptors the wrong way round",
     [](const RawEnd& peer, PacketKind kind) {
       return send_with(peer, greeting(kind), make_doorbell(), make_memfd(kSegmentBytes, kGoodSeals));
     }},
    {"a doorbell that is a pipe",
     [](const RawEnd& peer, PacketKind kind) {
       int ends[2];
       require(::pipe2(ends, O_CLOEXEC) == 0, "pipe2");
       const UniqueFd reader(ends[0]), writer(ends[1]);
       return send_with(peer, greeting(kind), make_memfd(kSegmentBytes, kGoodSeals), writer);
     }},
    {"five descriptors", send_with_five},
};

BOOST_AUTO_TEST_CASE(from_who_connects) {
  const auto pending = initiator.invite();
  { const Pair pair = join(); }
  const std::size_t before = open_descriptors();
  for (const ProtocolError& wrong : kProtocolErrors) {
    BOOST_TEST_CONTEXT(wrong.what) {
      RawEnd peer(socket_id_of(*pending));
      BOOST_TEST(peer.connected);
      turn();
      BOOST_TEST((peer.receive()->packet.kind == PacketKind::kAcceptorGreeting));
      BOOST_TEST(wrong.send(peer, PacketKind::kConnectorGreeting));
      turn();
      // Its end, with a refusal before it or not.
      Result<ReceivedPacket> received = peer.receive();
      if (received) {
        BOOST_TEST((received->packet.kind == PacketKind::kRefusal));
        received = peer.receive();
      }
      BOOST_TEST((received.error() == Status(ECONNRESET)));
      peer.leave();
      BOOST_TEST(open_descriptors() == before);
    }
  }
  BOOST_TEST(join().initiators.is_reserved());
}

BOOST_AUTO_TEST_CASE(from_who_accepts) {
  const RawListener listener;
  const std::size_t before = open_descriptors();
  for (const ProtocolError& wrong : kProtocolErrors) {
    BOOST_TEST_CONTEXT(wrong.what) {
      const auto request = responder.join(listener.invitation(), kToken);
      {
        const RawEnd peer = listener.accept();
        BOOST_TEST(wrong.send(peer, PacketKind::kAcceptorGreeting));
        BOOST_TEST(reason_of(*request) == ReasonCode::kFailed);
      }
      turn();
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_with_any_code) {
  const RawListener listener;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto request = responder.join(listener.invitation(), kToken);
    BOOST_TEST(
        listener.accept().send(ControlPacket{.kind = PacketKind::kRefusal, .code = code * 0x01010101}));
    const ReasonCode received = reason_of(*request);
    BOOST_TEST((received == ReasonCode::kFailed || received == static_cast<ReasonCode>(code)));
  }
}

// After a set-up without fault.
const ControlPacket kAfterwards[] = {
    {},
    {.kind = PacketKind::kAcceptorGreeting},
    {.kind = PacketKind::kConnectorGreeting},
    {.kind = PacketKind::kShareRegion, .key = 1, .length_bytes = 4096},
    {.kind = static_cast<PacketKind>(77)},
};

BOOST_AUTO_TEST_CASE(over_a_channel_from_who_connected) {
  const auto pending = initiator.invite();
  { const Pair pair = join(); }
  const std::size_t before = open_descriptors();
  std::vector<ControlPacket> packets(std::begin(kAfterwards), std::end(kAfterwards));
  packets.push_back({.kind = PacketKind::kJoined, .number = 1, .peer_number = 1});
  packets.push_back({.kind = PacketKind::kJoin, .number = 0});
  for (const ControlPacket& packet : packets) {
    BOOST_TEST_CONTEXT(static_cast<unsigned>(packet.kind)) {
      {
        const RawEnd peer(socket_id_of(*pending));
        BOOST_TEST(peer.send_greeting(PacketKind::kConnectorGreeting));
        BOOST_TEST(peer.send(packet));
        turn();
        // Answers to nobody are no fault; it has proved nothing all the same.
        if (packet.kind == PacketKind::kJoined) pass(ChannelDirectory::kSetupLimitNs);
        BOOST_TEST(initiator.directory.channels().size() == 1U);
      }
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(over_a_channel_from_who_accepted) {
  const RawListener listener;
  const std::size_t before = open_descriptors();
  std::vector<ControlPacket> packets(std::begin(kAfterwards), std::end(kAfterwards));
  packets.push_back({.kind = PacketKind::kRefusal, .code = 255});
  packets.push_back({.kind = PacketKind::kJoin, .number = 1});
  packets.push_back({.kind = PacketKind::kJoined, .peer_number = 0});
  packets.push_back({.kind = PacketKind::kJoinRefused, .code = 3});
  for (ControlPacket& packet : packets) {
    BOOST_TEST_CONTEXT(static_cast<unsigned>(packet.kind)) {
      {
        const auto request = responder.join(listener.invitation(), kToken);
        const RawEnd peer = listener.accept();
        BOOST_TEST(peer.send_greeting(PacketKind::kAcceptorGreeting));
        turn();
        BOOST_TEST((peer.receive()->packet.kind == PacketKind::kConnectorGreeting));
        const auto join = peer.receive();
        BOOST_TEST((join->packet.kind == PacketKind::kJoin));
        if (packet.kind == PacketKind::kJoined || packet.kind == PacketKind::kJoinRefused)
          packet.number = join->packet.number;
        BOOST_TEST(peer.send(packet));
        BOOST_TEST(reason_of(*request) == ReasonCode::kFailed);
      }
      turn();
      BOOST_TEST(responder.directory.channels().empty());
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_peer_said_counts_although_it_left_something_unread) {
  const RawListener listener;
  const auto request = responder.join(listener.invitation(), kToken);
  {
    const RawEnd peer = listener.accept();
    BOOST_TEST(peer.send_greeting(PacketKind::kAcceptorGreeting));
    turn();
    // Has not read the hello, so the kernel tells of a reset.
    BOOST_TEST(peer.send(
        {.kind = PacketKind::kRefusal, .code = static_cast<std::uint32_t>(ReasonCode::kNoDescriptors)}));
  }
  BOOST_TEST(reason_of(*request) == ReasonCode::kNoDescriptors);
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_what_the_peer_named_is_not_touched) {
  for (const bool honest : {true, false}) {
    const auto pending = initiator.invite();
    const RawEnd peer(socket_id_of(*pending));
    ControlPacket hello = greeting(PacketKind::kConnectorGreeting);
    if (!honest) hello.id[0] ^= std::byte{1};
    BOOST_TEST(send_with(peer, hello, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell()));
    BOOST_TEST(peer.send(
        {.kind = PacketKind::kJoin, .number = 1, .id = Invitation::decode(pending->invitation())->token}));
    turn();
    const auto slot = pending->take_slot();
    BOOST_REQUIRE(slot.has_value());
    BOOST_TEST(slot->channel().reads_memory() == honest);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_to_nobody_is_nothing) {
  const RawListener listener;
  const auto request = responder.join(listener.invitation(), kToken);
  const RawEnd peer = listener.accept();
  BOOST_TEST(peer.send_greeting(PacketKind::kAcceptorGreeting));
  turn();
  BOOST_TEST((peer.receive()->packet.kind == PacketKind::kConnectorGreeting));
  const auto join = peer.receive();
  ControlPacket answer{.kind = PacketKind::kJoined, .number = join->packet.number + 1, .peer_number = 9};
  BOOST_TEST(peer.send(answer));
  turn();
  BOOST_TEST(responder.seen.empty());
  answer.number = join->packet.number;
  BOOST_TEST(peer.send(answer));
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  BOOST_TEST(request->take_slot()->peer_number() == 9U);
}

BOOST_AUTO_TEST_CASE(peers_without_proof_hold_no_more_than_the_bound_and_no_longer_than_the_limit) {
  const auto pending = initiator.invite();
  const std::size_t before = open_descriptors();
  std::vector<RawEnd> silent;
  for (std::size_t i = 0; i < ChannelDirectory::kHalfOpenMax + 20; ++i) {
    silent.emplace_back(socket_id_of(*pending));
    BOOST_TEST(silent.back().connected);
    // Half of them get further, without a token.
    if (i % 2 == 0) BOOST_TEST(silent.back().send_greeting(PacketKind::kConnectorGreeting));
    turn();
  }
  std::size_t welcomed = 0;
  for (const RawEnd& peer : silent) welcomed += peer.receive().has_value() ? 1 : 0;
  BOOST_TEST(welcomed == ChannelDirectory::kHalfOpenMax);
  // Time makes room for the others, and for who has a token.
  pass(ChannelDirectory::kSetupLimitNs);
  turn(50);
  const auto request = responder.join(pending->invitation(), kToken);
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  pass(ChannelDirectory::kSetupLimitNs);
  BOOST_TEST(initiator.directory.channels().size() == 1U);
  silent.clear();
  turn();
  const std::size_t of_the_channel = 2 * 3;
  BOOST_TEST(open_descriptors() == before + of_the_channel);
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_at_once) {
  const auto pending = initiator.invite();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    { const RawEnd peer(socket_id_of(*pending)); }
    turn(i % 3);
  }
  turn(30);
  BOOST_TEST(open_descriptors() == before);
  BOOST_TEST(initiator.directory.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
