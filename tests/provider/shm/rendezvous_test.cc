// Two ports of one host find each other, or say why not.
#include "src/provider/shm/rendezvous.h"

#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/halves.h"
#include "tests/provider/shm/raw_end.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;

namespace {

constexpr std::uint64_t kToken = 7;

struct Fixture {
  Half initiator, responder;
  Half* halves[2] = {&initiator, &responder};

  // Both have their place.
  struct Pair {
    Place initiators, responders;
  };
  Pair meet(Half& from, Half& to) {
    const auto invited = from.invite();
    const auto visit = to.meet(invited->words(), kToken);
    BOOST_TEST(await(halves, to, kToken).status.ok());
    auto ours = invited->take_place();
    auto theirs = visit->take_place();
    BOOST_REQUIRE(ours.has_value());
    BOOST_REQUIRE(theirs.has_value());
    BOOST_TEST(ours->peer_number() == theirs->our_number());
    BOOST_TEST(theirs->peer_number() == ours->our_number());
    return {std::move(*ours), std::move(*theirs)};
  }
  Pair meet() { return meet(initiator, responder); }

  // The responder's.
  ReasonCode refused(std::span<const std::byte> words) {
    const auto visit = responder.meet(words, kToken);
    return reason_of(*visit);
  }
  ReasonCode reason_of(ShmMeeting& visit) {
    const Completion met = await(halves, responder, kToken);
    BOOST_TEST((met.kind == CompletionKind::kUpgradeReady));
    BOOST_TEST(!met.status.ok());
    BOOST_TEST(!visit.take_place().has_value());
    BOOST_TEST(visit.why_not().fact != "");
    return visit.why_not().code;
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

Name rendezvous_of(const ShmMeeting& invited) {
  return Invitation::decode(invited.words())->rendezvous;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rendezvous_test)

BOOST_FIXTURE_TEST_SUITE(meeting, Fixture)

BOOST_AUTO_TEST_CASE(two_ports_meet) {
  const Pair pair = meet();
  BOOST_TEST(pair.initiators.first_to_speak());
  BOOST_TEST(!pair.responders.first_to_speak());
  BOOST_TEST(pair.initiators.channel().reads_memory());
  BOOST_TEST(pair.responders.channel().reads_memory());
  BOOST_TEST(pair.initiators.channel().peer_pid() == ::getpid());
  BOOST_TEST(pair.initiators.channel().peer_process_lives());
}

BOOST_AUTO_TEST_CASE(what_one_end_writes_the_other_reads) {
  const Pair pair = meet();
  const std::byte word[] = {std::byte{42}};
  BOOST_TEST(pair.initiators.channel().out().write({.link = pair.initiators.peer_number(), .kind = 3}, word));
  RecordHeader header;
  BOOST_TEST(pair.responders.channel().in().peek(header));
  BOOST_TEST(header.link == pair.responders.our_number());
  BOOST_TEST(!pair.initiators.channel().in().peek(header));
}

BOOST_AUTO_TEST_CASE(nothing_is_met_before_the_peer_has_come) {
  const auto invited = initiator.invite();
  BOOST_TEST((invited->take_place().error() == Status(EAGAIN)));
  const auto visit = responder.meet(invited->words(), kToken);
  BOOST_TEST((visit->take_place().error() == Status(EAGAIN)));
}

BOOST_AUTO_TEST_CASE(a_second_connection_uses_the_channel_that_is_there) {
  const Pair first = meet();
  const std::size_t before = open_descriptors();
  const Pair second = meet();
  BOOST_TEST(open_descriptors() == before);
  BOOST_TEST(first.initiators.shared_channel() == second.initiators.shared_channel());
  BOOST_TEST(first.responders.shared_channel() == second.responders.shared_channel());
  BOOST_TEST(first.initiators.our_number() != second.initiators.our_number());
  BOOST_TEST(initiator.rendezvous.channels().size() == 1U);
}

BOOST_AUTO_TEST_CASE(connections_that_come_during_the_set_up_wait_for_it) {
  std::vector<std::unique_ptr<ShmMeeting>> invited, visits;
  for (std::uint64_t i = 0; i < 50; ++i) {
    invited.push_back(initiator.invite());
    visits.push_back(responder.meet(invited.back()->words(), i));
  }
  for (std::uint64_t i = 0; i < 50; ++i) BOOST_TEST(await(halves, responder, i).status.ok());
  for (std::uint64_t i = 0; i < 50; ++i) {
    const auto ours = invited[i]->take_place();
    const auto theirs = visits[i]->take_place();
    BOOST_REQUIRE((ours.has_value() && theirs.has_value()));
    BOOST_TEST(ours->peer_number() == theirs->our_number());
  }
  BOOST_TEST(responder.rendezvous.channels().size() == 1U);
}

BOOST_AUTO_TEST_CASE(both_ends_may_be_one_port) {
  const Pair pair = meet(initiator, initiator);
  BOOST_TEST(initiator.rendezvous.channels().size() == 2U);
  BOOST_TEST(pair.initiators.shared_channel() != pair.responders.shared_channel());
}

BOOST_AUTO_TEST_CASE(both_invite_at_once) {
  const auto ours = initiator.invite();
  const auto theirs = responder.invite();
  const auto our_visit = initiator.meet(theirs->words(), 1);
  const auto their_visit = responder.meet(ours->words(), 2);
  BOOST_TEST(await(halves, initiator, 1).status.ok());
  BOOST_TEST(await(halves, responder, 2).status.ok());
  for (ShmMeeting* meeting : {ours.get(), theirs.get(), our_visit.get(), their_visit.get()}) {
    BOOST_TEST(meeting->take_place().has_value());
  }
}

BOOST_AUTO_TEST_CASE(nothing_is_left) {
  const std::size_t before = open_descriptors();
  {
    Half one, other;
    Half* both[] = {&one, &other};
    const auto invited = one.invite();
    const auto visit = other.meet(invited->words(), kToken);
    BOOST_TEST(await(both, other, kToken).status.ok());
  }
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(giving_up, Fixture)

BOOST_AUTO_TEST_CASE(a_visit_that_is_given_up_says_nothing_more) {
  const auto invited = initiator.invite();
  responder.meet(invited->words(), kToken).reset();
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(meet().initiators.is_taken());
}

BOOST_AUTO_TEST_CASE(a_visit_is_given_up_after_it_has_joined) {
  const Pair first = meet();
  const auto invited = initiator.invite();
  responder.meet(invited->words(), kToken).reset();
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(first.responders.channel().numbers() == 1U);
  // The initiator's end holds its place until its connection says that they have not met.
  BOOST_TEST(first.initiators.channel().numbers() == 2U);
}

BOOST_AUTO_TEST_CASE(the_numbers_of_places_come_back) {
  std::shared_ptr<Channel> channel;
  {
    const Pair pair = meet();
    channel = pair.initiators.shared_channel();
    BOOST_TEST(channel->numbers() == 1U);
  }
  BOOST_TEST(channel->numbers() == 0U);
}

BOOST_AUTO_TEST_CASE(channels_without_links_go_and_the_one_who_connected_goes_first) {
  const std::size_t before_sockets = [&] {
    initiator.invite();
    return open_descriptors();
  }();
  { const Pair pair = meet(); }
  turn();
  BOOST_TEST(responder.rendezvous.next_deadline_ns() == responder.now_ns + Rendezvous::kIdleConnectedNs);
  pass(Rendezvous::kIdleConnectedNs - 1);
  BOOST_TEST(responder.rendezvous.channels().size() == 1U);
  pass(1);
  BOOST_TEST(responder.rendezvous.channels().empty());
  BOOST_TEST(initiator.rendezvous.channels().empty());
  BOOST_TEST(open_descriptors() == before_sockets);
  BOOST_TEST(responder.rendezvous.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_channel_that_has_ended_goes_with_its_last_link) {
  auto pair = std::make_unique<Pair>(meet());
  turn();
  pair->responders.channel().end(Status(EPROTO));
  turn();
  BOOST_TEST(initiator.rendezvous.channels().size() == 1U);
  BOOST_TEST(initiator.rendezvous.next_deadline_ns() == kNoDeadline);
  pair.reset();
  // At once, not when it would have been idle for long enough.
  BOOST_TEST(initiator.rendezvous.next_deadline_ns() <= initiator.now_ns);
  turn();
  BOOST_TEST(initiator.rendezvous.channels().empty());
}

BOOST_AUTO_TEST_CASE(an_idle_channel_that_ends_goes_at_once) {
  { const Pair pair = meet(); }
  turn();
  responder.rendezvous.channels()[0]->end(Status(EPROTO));
  BOOST_TEST(responder.rendezvous.next_deadline_ns() <= responder.now_ns);
  turn();
  BOOST_TEST(initiator.rendezvous.channels().empty());
}

BOOST_AUTO_TEST_CASE(a_channel_with_links_stays) {
  const Pair pair = meet();
  pass(100 * Rendezvous::kIdleAcceptedNs);
  pass(100 * Rendezvous::kIdleAcceptedNs);
  BOOST_TEST(!pair.initiators.channel().is_over());
  BOOST_TEST(initiator.rendezvous.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(who_joins_a_channel_that_is_being_closed_connects_anew) {
  { const Pair pair = meet(); }
  turn();
  initiator.now_ns += Rendezvous::kIdleAcceptedNs;
  const auto invited = initiator.invite();
  const auto visit = responder.meet(invited->words(), kToken);  // has written into the socket
  // The acceptor closes without having read it.
  initiator.rendezvous.progress(initiator.now_ns);
  BOOST_TEST(initiator.rendezvous.channels().empty());
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  BOOST_TEST(invited->take_place().has_value());
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
  Invitation invitation{*Identity::of_this_process(why), *draw_name(), *draw_name()};
  invitation.identity.host[3] ^= std::byte{1};
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kOtherHost);
}

BOOST_AUTO_TEST_CASE(another_network_namespace) {
  Reason why;
  Invitation invitation{*Identity::of_this_process(why), *draw_name(), *draw_name()};
  ++invitation.identity.net_namespace;
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kOtherNetns);
}

BOOST_AUTO_TEST_CASE(nobody_there) {
  Reason why;
  const Invitation invitation{*Identity::of_this_process(why), *draw_name(), *draw_name()};
  BOOST_TEST(refused(invitation.encode()) == ReasonCode::kNoUnixSocket);
}

BOOST_AUTO_TEST_CASE(an_invitation_that_is_forgotten) {
  auto invited = initiator.invite();
  const std::vector<std::byte> words(invited->words().begin(), invited->words().end());
  invited.reset();
  BOOST_TEST(refused(words) == ReasonCode::kNoProof);
}

BOOST_AUTO_TEST_CASE(an_invitation_is_for_one) {
  const auto invited = initiator.invite();
  const auto visit = responder.meet(invited->words(), 1);
  BOOST_TEST(await(halves, responder, 1).status.ok());
  BOOST_TEST(refused(invited->words()) == ReasonCode::kNoProof);
  BOOST_TEST(visit->take_place().has_value());
}

BOOST_AUTO_TEST_CASE(the_responder_does_not_allow_the_initiators_user) {
  Half strict(allowing({.same = false, .any = false, .uids = {::geteuid() + 1}}));
  Half* both[] = {&initiator, &strict};
  const auto invited = initiator.invite();
  const auto visit = strict.meet(invited->words(), kToken);
  BOOST_TEST(!await(both, strict, kToken).status.ok());
  BOOST_TEST(visit->why_not().code == ReasonCode::kOtherUser);
}

BOOST_AUTO_TEST_CASE(the_initiator_does_not_allow_the_responders_user) {
  Half strict(allowing({.same = false, .any = false, .uids = {::geteuid() + 1}}));
  Half* both[] = {&strict, &responder};
  const auto invited = strict.invite();
  const auto visit = responder.meet(invited->words(), kToken);
  BOOST_TEST(!await(both, responder, kToken).status.ok());
  BOOST_TEST(visit->why_not().code == ReasonCode::kOtherUser);
  BOOST_TEST((invited->take_place().error() == Status(EAGAIN)));
}

BOOST_AUTO_TEST_CASE(without_process_vm_they_meet_all_the_same) {
  Half plain(without_process_vm());
  Half* both[] = {&initiator, &plain};
  const auto invited = initiator.invite();
  const auto visit = plain.meet(invited->words(), kToken);
  BOOST_TEST(await(both, plain, kToken).status.ok());
  const auto place = visit->take_place();
  BOOST_REQUIRE(place.has_value());
  BOOST_TEST(!place->channel().reads_memory());
  BOOST_TEST(place->channel().why_not().code == ReasonCode::kNoPtrace);
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing) {
  const RawDoor door;
  const auto visit = responder.meet(door.words(), kToken);
  turn();
  BOOST_TEST(responder.seen.empty());
  BOOST_TEST(responder.rendezvous.next_deadline_ns() == responder.now_ns + Rendezvous::kSetupLimitNs);
  pass(Rendezvous::kSetupLimitNs - 1);
  BOOST_TEST(responder.seen.empty());
  pass(1);
  BOOST_TEST(reason_of(*visit) == ReasonCode::kTimedOut);
  BOOST_TEST(responder.rendezvous.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_peer_that_says_nothing_after_the_greeting) {
  const RawDoor door;
  const auto visit = responder.meet(door.words(), kToken);
  const RawEnd peer = door.accept();
  BOOST_TEST(peer.greet(NoteKind::kWelcome));
  turn();
  pass(Rendezvous::kSetupLimitNs);
  BOOST_TEST(reason_of(*visit) == ReasonCode::kTimedOut);
}

BOOST_AUTO_TEST_CASE(a_door_with_too_many_before_it) {
  const RawDoor door(0);
  const RawEnd before(door.name);
  BOOST_TEST(before.connected);
  const auto visit = responder.meet(door.words(), kToken);
  turn();
  BOOST_TEST(responder.seen.empty());
  // Knocks again now and then.
  BOOST_TEST(responder.rendezvous.next_deadline_ns() < responder.now_ns + Rendezvous::kSetupLimitNs / 100);
  const RawEnd accepted = door.accept();
  turn();
  const RawEnd peer = door.accept();
  pass(Rendezvous::kSetupLimitNs);
  BOOST_TEST(reason_of(*visit) == ReasonCode::kTimedOut);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(nonsense, Fixture)

// What a peer may say instead of its greeting, by either end.
struct Nonsense {
  const char* what;
  bool (*say)(const RawEnd& peer, NoteKind kind);
};

bool say_with(const RawEnd& peer, const Note& note, const UniqueFd& first, const UniqueFd& second) {
  const int descriptors[] = {first.get(), second.get()};
  return peer.say(note, descriptors);
}

// More than a note may have, so that the kernel cuts them off.
bool say_with_five(const RawEnd& peer, NoteKind kind) {
  const UniqueFd one = make_doorbell();
  const int five[] = {one.get(), one.get(), one.get(), one.get(), one.get()};
  Note note = greeting(kind);
  iovec piece{&note, sizeof note};
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

const Nonsense kNonsense[] = {
    {"one byte", [](const RawEnd& peer, NoteKind) { return peer.say_bytes(std::vector<std::byte>(1)); }},
    {"nothing", [](const RawEnd& peer, NoteKind) { return peer.say_bytes({}); }},
    {"a byte too few",
     [](const RawEnd& peer, NoteKind) { return peer.say_bytes(std::vector<std::byte>(63)); }},
    {"a byte too many",
     [](const RawEnd& peer, NoteKind) { return peer.say_bytes(std::vector<std::byte>(65)); }},
    {"64 KiB", [](const RawEnd& peer, NoteKind) { return peer.say_bytes(std::vector<std::byte>(65536)); }},
    {"all zero", [](const RawEnd& peer, NoteKind) { return peer.say(Note{}); }},
    {"no descriptors", [](const RawEnd& peer, NoteKind kind) { return peer.say(greeting(kind)); }},
    {"the other's greeting",
     [](const RawEnd& peer, NoteKind kind) {
       return peer.greet(kind == NoteKind::kHello ? NoteKind::kWelcome : NoteKind::kHello);
     }},
    {"a join",
     [](const RawEnd& peer, NoteKind) { return peer.say(Note{.kind = NoteKind::kJoin, .number = 1}); }},
    {"another version",
     [](const RawEnd& peer, NoteKind kind) {
       Note note = greeting(kind);
       ++note.version;
       return say_with(peer, note, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell());
     }},
    {"another size",
     [](const RawEnd& peer, NoteKind kind) {
       Note note = greeting(kind);
       note.length_bytes = UINT64_MAX;
       return say_with(peer, note, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell());
     }},
    {"a segment that may shrink",
     [](const RawEnd& peer, NoteKind kind) {
       return say_with(peer, greeting(kind), make_memfd(kSegmentBytes, F_SEAL_GROW), make_doorbell());
     }},
    {"a segment that is too small",
     [](const RawEnd& peer, NoteKind kind) {
       return say_with(peer, greeting(kind), make_memfd(kSegmentBytes - 4096, kGoodSeals), make_doorbell());
     }},
    {"the descriptors the wrong way round",
     [](const RawEnd& peer, NoteKind kind) {
       return say_with(peer, greeting(kind), make_doorbell(), make_memfd(kSegmentBytes, kGoodSeals));
     }},
    {"a doorbell that is a pipe",
     [](const RawEnd& peer, NoteKind kind) {
       int ends[2];
       require(::pipe2(ends, O_CLOEXEC) == 0, "pipe2");
       const UniqueFd reader(ends[0]), writer(ends[1]);
       return say_with(peer, greeting(kind), make_memfd(kSegmentBytes, kGoodSeals), writer);
     }},
    {"five descriptors", say_with_five},
};

BOOST_AUTO_TEST_CASE(from_who_connects) {
  const auto invited = initiator.invite();
  { const Pair pair = meet(); }
  const std::size_t before = open_descriptors();
  for (const Nonsense& nonsense : kNonsense) {
    BOOST_TEST_CONTEXT(nonsense.what) {
      RawEnd peer(rendezvous_of(*invited));
      BOOST_TEST(peer.connected);
      turn();
      BOOST_TEST((peer.hear()->note.kind == NoteKind::kWelcome));
      BOOST_TEST(nonsense.say(peer, NoteKind::kHello));
      turn();
      // Its end, with a refusal before it or not.
      Result<ReceivedNote> heard = peer.hear();
      if (heard) {
        BOOST_TEST((heard->note.kind == NoteKind::kRefusal));
        heard = peer.hear();
      }
      BOOST_TEST((heard.error() == Status(ECONNRESET)));
      peer.leave();
      BOOST_TEST(open_descriptors() == before);
    }
  }
  BOOST_TEST(meet().initiators.is_taken());
}

BOOST_AUTO_TEST_CASE(from_who_accepts) {
  const RawDoor door;
  const std::size_t before = open_descriptors();
  for (const Nonsense& nonsense : kNonsense) {
    BOOST_TEST_CONTEXT(nonsense.what) {
      const auto visit = responder.meet(door.words(), kToken);
      {
        const RawEnd peer = door.accept();
        BOOST_TEST(nonsense.say(peer, NoteKind::kWelcome));
        BOOST_TEST(reason_of(*visit) == ReasonCode::kFailed);
      }
      turn();
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_refusal_with_any_code) {
  const RawDoor door;
  for (std::uint32_t code = 0; code < 256; ++code) {
    const auto visit = responder.meet(door.words(), kToken);
    BOOST_TEST(door.accept().say(Note{.kind = NoteKind::kRefusal, .code = code * 0x01010101}));
    const ReasonCode heard = reason_of(*visit);
    BOOST_TEST((heard == ReasonCode::kFailed || heard == static_cast<ReasonCode>(code)));
  }
}

// After a set-up without fault.
const Note kAfterwards[] = {
    {},
    {.kind = NoteKind::kWelcome},
    {.kind = NoteKind::kHello},
    {.kind = NoteKind::kRegion, .key = 1, .length_bytes = 4096},
    {.kind = static_cast<NoteKind>(77)},
};

BOOST_AUTO_TEST_CASE(over_a_channel_from_who_connected) {
  const auto invited = initiator.invite();
  { const Pair pair = meet(); }
  const std::size_t before = open_descriptors();
  std::vector<Note> notes(std::begin(kAfterwards), std::end(kAfterwards));
  notes.push_back({.kind = NoteKind::kJoined, .number = 1, .peer_number = 1});
  notes.push_back({.kind = NoteKind::kJoin, .number = 0});
  for (const Note& note : notes) {
    BOOST_TEST_CONTEXT(static_cast<unsigned>(note.kind)) {
      {
        const RawEnd peer(rendezvous_of(*invited));
        BOOST_TEST(peer.greet(NoteKind::kHello));
        BOOST_TEST(peer.say(note));
        turn();
        // Answers to nobody are no fault; it has proved nothing all the same.
        if (note.kind == NoteKind::kJoined) pass(Rendezvous::kSetupLimitNs);
        BOOST_TEST(initiator.rendezvous.channels().size() == 1U);
      }
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(over_a_channel_from_who_accepted) {
  const RawDoor door;
  const std::size_t before = open_descriptors();
  std::vector<Note> notes(std::begin(kAfterwards), std::end(kAfterwards));
  notes.push_back({.kind = NoteKind::kRefusal, .code = 255});
  notes.push_back({.kind = NoteKind::kJoin, .number = 1});
  notes.push_back({.kind = NoteKind::kJoined, .peer_number = 0});
  notes.push_back({.kind = NoteKind::kNotJoined, .code = 3});
  for (Note& note : notes) {
    BOOST_TEST_CONTEXT(static_cast<unsigned>(note.kind)) {
      {
        const auto visit = responder.meet(door.words(), kToken);
        const RawEnd peer = door.accept();
        BOOST_TEST(peer.greet(NoteKind::kWelcome));
        turn();
        BOOST_TEST((peer.hear()->note.kind == NoteKind::kHello));
        const auto join = peer.hear();
        BOOST_TEST((join->note.kind == NoteKind::kJoin));
        if (note.kind == NoteKind::kJoined || note.kind == NoteKind::kNotJoined)
          note.number = join->note.number;
        BOOST_TEST(peer.say(note));
        BOOST_TEST(reason_of(*visit) == ReasonCode::kFailed);
      }
      turn();
      BOOST_TEST(responder.rendezvous.channels().empty());
      BOOST_TEST(open_descriptors() == before);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_a_peer_said_counts_although_it_left_something_unread) {
  const RawDoor door;
  const auto visit = responder.meet(door.words(), kToken);
  {
    const RawEnd peer = door.accept();
    BOOST_TEST(peer.greet(NoteKind::kWelcome));
    turn();
    // Has not read the hello, so the kernel tells of a reset.
    BOOST_TEST(peer.say(
        {.kind = NoteKind::kRefusal, .code = static_cast<std::uint32_t>(ReasonCode::kNoDescriptors)}));
  }
  BOOST_TEST(reason_of(*visit) == ReasonCode::kNoDescriptors);
}

BOOST_AUTO_TEST_CASE(memory_that_is_not_what_the_peer_named_is_not_touched) {
  for (const bool honest : {true, false}) {
    const auto invited = initiator.invite();
    const RawEnd peer(rendezvous_of(*invited));
    Note hello = greeting(NoteKind::kHello);
    if (!honest) hello.name[0] ^= std::byte{1};
    BOOST_TEST(say_with(peer, hello, make_memfd(kSegmentBytes, kGoodSeals), make_doorbell()));
    BOOST_TEST(peer.say(
        {.kind = NoteKind::kJoin, .number = 1, .name = Invitation::decode(invited->words())->token}));
    turn();
    const auto place = invited->take_place();
    BOOST_REQUIRE(place.has_value());
    BOOST_TEST(place->channel().reads_memory() == honest);
  }
}

BOOST_AUTO_TEST_CASE(an_answer_to_nobody_is_nothing) {
  const RawDoor door;
  const auto visit = responder.meet(door.words(), kToken);
  const RawEnd peer = door.accept();
  BOOST_TEST(peer.greet(NoteKind::kWelcome));
  turn();
  BOOST_TEST((peer.hear()->note.kind == NoteKind::kHello));
  const auto join = peer.hear();
  Note answer{.kind = NoteKind::kJoined, .number = join->note.number + 1, .peer_number = 9};
  BOOST_TEST(peer.say(answer));
  turn();
  BOOST_TEST(responder.seen.empty());
  answer.number = join->note.number;
  BOOST_TEST(peer.say(answer));
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  BOOST_TEST(visit->take_place()->peer_number() == 9U);
}

BOOST_AUTO_TEST_CASE(peers_without_proof_hold_no_more_than_the_bound_and_no_longer_than_the_limit) {
  const auto invited = initiator.invite();
  const std::size_t before = open_descriptors();
  std::vector<RawEnd> silent;
  for (std::size_t i = 0; i < Rendezvous::kHalfOpenMax + 20; ++i) {
    silent.emplace_back(rendezvous_of(*invited));
    BOOST_TEST(silent.back().connected);
    // Half of them get further, without a token.
    if (i % 2 == 0) BOOST_TEST(silent.back().greet(NoteKind::kHello));
    turn();
  }
  std::size_t welcomed = 0;
  for (const RawEnd& peer : silent) welcomed += peer.hear().has_value() ? 1 : 0;
  BOOST_TEST(welcomed == Rendezvous::kHalfOpenMax);
  // Time makes room for the others, and for who has a token.
  pass(Rendezvous::kSetupLimitNs);
  turn(50);
  const auto visit = responder.meet(invited->words(), kToken);
  BOOST_TEST(await(halves, responder, kToken).status.ok());
  pass(Rendezvous::kSetupLimitNs);
  BOOST_TEST(initiator.rendezvous.channels().size() == 1U);
  silent.clear();
  turn();
  const std::size_t of_the_channel = 2 * 3;
  BOOST_TEST(open_descriptors() == before + of_the_channel);
}

BOOST_AUTO_TEST_CASE(a_peer_that_leaves_at_once) {
  const auto invited = initiator.invite();
  const std::size_t before = open_descriptors();
  for (int i = 0; i < 100; ++i) {
    { const RawEnd peer(rendezvous_of(*invited)); }
    turn(i % 3);
  }
  turn(30);
  BOOST_TEST(open_descriptors() == before);
  BOOST_TEST(initiator.rendezvous.next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
