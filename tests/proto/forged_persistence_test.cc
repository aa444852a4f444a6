// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/proto/forged.h"
#include "tests/proto/persistent.h"

using namespace exs;
using namespace exs::proto;
using wire::MessageType;

namespace forged_persistence_test {

const RemoteSlice kWindow{16, 200, 1};

// An owner of a persistent send, number 1, of 100 bytes.
struct Owner {
  explicit Owner(bool notify) : forged(Role::kInitiator) {
    forged.end.connection.post_send(persistent_on(memory, notify));
    forged.run();
  }
  Bytes memory = Bytes(100);
  Forged forged;
};

}  // namespace forged_persistence_test

BOOST_AUTO_TEST_SUITE(forged_persistence_test)

BOOST_AUTO_TEST_CASE(words_about_windows_that_do_not_stand_end_the_connection) {
  for (const MessageType type : {MessageType::kNotice, MessageType::kRevoke, MessageType::kRelease}) {
    for (const wire::WindowFlag of : {wire::kOfSend, wire::kOfReceive}) {
      auto forged = Forged::ready();
      forged->hear(
          about_window(type, of, 1, type == MessageType::kNotice ? wire::Usage{1, 0, 1} : wire::Usage{}));
      BOOST_TEST(forged->lost_to_protocol_error());
    }
  }
}

BOOST_AUTO_TEST_CASE(an_owner_hears_only_of_its_own_window) {
  for (const std::uint32_t id : {0U, 1U, 2U}) {
    for (const MessageType type : {MessageType::kNotice, MessageType::kRelease}) {
      Owner owner(true);
      owner.forged.hear(about_window(type, wire::kOfSend, id, {10, 90, 1}));
      BOOST_TEST((id == 1 ? owner.forged.well() : owner.forged.lost_to_protocol_error()));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_notice_tells_what_is_possible) {
  struct Case {
    wire::Usage usage;
    bool fine;
  };
  for (const Case& c : {Case{{100, 0, 1}, true}, Case{{200, 100, 1}, false}, Case{{201, 0, 1}, false},
                        Case{{0, 100, 1}, true}, Case{{0, 101, 1}, false}, Case{{300, 5, 3}, true},
                        Case{{UINT64_MAX, 0, UINT32_MAX}, false}}) {
    for (const MessageType type : {MessageType::kNotice, MessageType::kRelease}) {
      Owner owner(true);
      owner.forged.hear(about_window(type, wire::kOfSend, 1, c.usage));
      BOOST_TEST((c.fine ? owner.forged.well() : owner.forged.lost_to_protocol_error()));
    }
  }
}

BOOST_AUTO_TEST_CASE(nobody_who_did_not_ask_is_notified) {
  Owner owner(false);
  owner.forged.hear(about_window(MessageType::kNotice, wire::kOfSend, 1, {10, 0, 1}));
  BOOST_TEST(owner.forged.lost_to_protocol_error());
  BOOST_TEST(owner.forged.end.uses.empty());
  BOOST_TEST((errors_of(owner.forged.end.sends) == Errors{EPROTO}));
  Owner other(false);
  other.forged.hear(about_window(MessageType::kRelease, wire::kOfSend, 1, {10, 0, 1}));
  BOOST_TEST(other.forged.lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(notices_need_credits) {
  Owner owner(true);
  for (int i = 0; i < 10; ++i) {
    owner.forged.hear(about_window(MessageType::kNotice, wire::kOfSend, 1, {10, 0, 1}));
    owner.forged.run();
  }
  // Expect: each comes back at once (half of two are owed each time).
  BOOST_TEST(owner.forged.well());
  BOOST_TEST(owner.forged.end.uses.size() == 10U);
  // Expect: while data of the peer hold both credits, a notice has none.
  Owner full(true);
  full.forged.hear(immediate(1));
  full.forged.hear(immediate(2));
  BOOST_TEST(full.forged.well());
  full.forged.hear(about_window(MessageType::kNotice, wire::kOfSend, 1, {10, 0, 1}));
  BOOST_TEST(full.forged.lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_window_is_released_once) {
  Owner owner(false);
  owner.forged.hear(about_window(MessageType::kRelease, wire::kOfSend, 1));
  BOOST_TEST(owner.forged.well());
  BOOST_TEST((errors_of(owner.forged.end.sends) == Errors{EPIPE}));
  owner.forged.hear(about_window(MessageType::kRelease, wire::kOfSend, 1));
  BOOST_TEST(owner.forged.lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_RELEASE_while_the_peer_still_reads_ends_the_connection) {
  Owner owner(false);
  const wire::Advert offered = owner.forged.said().at(1).advert;
  Bytes stolen(100);
  BOOST_TEST(
      owner.forged.peer.post_read({stolen.data(), 100, {}}, {offered.address, 100, offered.key}, 0).ok());
  BOOST_TEST(owner.forged.peer.begin_read());
  owner.forged.hear(about_window(MessageType::kRelease, wire::kOfSend, 1));
  BOOST_TEST(owner.forged.lost_to_protocol_error());
  BOOST_TEST((errors_of(owner.forged.end.sends) == Errors{EPROTO}));
  BOOST_TEST(owner.forged.end.link.windows() == 0U);
}

BOOST_AUTO_TEST_CASE(each_advert_has_the_answers_that_fit_it) {
  using wire::AckStatus;
  enum Kind { kPlain, kOffset, kPersistent };
  for (const Kind kind : {kPlain, kOffset, kPersistent}) {
    for (unsigned status = 0; status <= 4; ++status) {
      Forged forged(Role::kInitiator);
      Bytes memory(100);
      forged.end.connection.post_send(kind == kPlain    ? operation_on(memory)
                                      : kind == kOffset ? at_offset_on(memory, 5)
                                                        : persistent_on(memory));
      forged.hear(ack(1, 0, static_cast<AckStatus>(status)));
      const bool fine = kind == kPlain    ? status <= 1
                        : kind == kOffset ? status != 2
                                          : status == 1 || status == 2;
      BOOST_TEST((fine ? forged.well() : forged.lost_to_protocol_error()));
      BOOST_TEST(forged.end.sends.size() == 1U);
    }
  }
}

BOOST_AUTO_TEST_CASE(offers_are_numbered_and_one_stands_at_a_time) {
  for (const std::uint32_t number : {0U, 1U, 2U}) {
    auto forged = Forged::ready();
    forged->hear(offer(number, kWindow));
    BOOST_TEST((number == 1 ? forged->well() : forged->lost_to_protocol_error()));
  }
  auto twice = Forged::ready();
  twice->hear(offer(1, kWindow));
  twice->hear(offer(2, kWindow));
  BOOST_TEST(twice->lost_to_protocol_error());
  auto again = Forged::ready();
  again->hear(offer(1, kWindow));
  again->hear(about_window(MessageType::kRevoke, wire::kOfReceive, 1));
  BOOST_TEST((again->said().back().header.type == MessageType::kRelease));
  again->hear(offer(2, kWindow));
  BOOST_TEST(again->well());
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_behind_a_persistent_send) {
  for (int kind = 0; kind < 3; ++kind) {
    auto forged = Forged::ready(agreement_of(4, 33, 2));
    forged->hear(persistent_advert(1, kWindow));
    BOOST_TEST(forged->well());
    forged->hear(kind == 0 ? immediate(2) : kind == 1 ? advert(2, kWindow) : persistent_advert(2, kWindow));
    BOOST_TEST(forged->lost_to_protocol_error());
  }
}

BOOST_AUTO_TEST_CASE(CLOSE_comes_after_the_end_of_every_window) {
  auto sampled = Forged::ready();
  sampled->hear(persistent_advert(1, kWindow));
  sampled->hear(plain(MessageType::kClose));
  BOOST_TEST(sampled->lost_to_protocol_error());
  auto offered = Forged::ready();
  offered->hear(offer(1, kWindow));
  offered->hear(plain(MessageType::kClose));
  BOOST_TEST(offered->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_window_is_revoked_once_it_stands_and_a_second_time_it_is_ignored) {
  auto forged = Forged::ready();
  forged->hear(persistent_advert(1, kWindow));
  forged->hear(about_window(MessageType::kRevoke, wire::kOfSend, 1));
  const std::size_t said = forged->said().size();
  BOOST_TEST((forged->said().back().header.type == MessageType::kRelease));
  // Expect: a peer that repeats itself is not answered twice.
  forged->hear(about_window(MessageType::kRevoke, wire::kOfSend, 1));
  BOOST_TEST(forged->well());
  BOOST_TEST(forged->said().size() == said);
  forged->hear(about_window(MessageType::kRevoke, wire::kOfSend, 2));
  BOOST_TEST(forged->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_window_that_is_not_there_ends_the_connection_by_the_link_alone) {
  auto forged = Forged::ready();
  Bytes into(100);
  forged->hear(persistent_advert(1, {16, 100, 77}));
  forged->end.connection.post_receive(operation_on(into));
  forged->run();
  BOOST_TEST((errors_of(forged->end.receives) == Errors{EACCES}));
  BOOST_TEST((forged->end.failures == Errors{EACCES}));
}

BOOST_AUTO_TEST_CASE(a_stream_knows_no_windows_to_keep) {
  Agreement stream = agreement_of(2, 100, 2);
  stream.kind = SocketKind::kStream;
  wire::Message at_offset = advert(1, kWindow), list = advert(1, kWindow);
  at_offset.header.flags = wire::kAtOffset;
  list.header.flags = wire::kList;
  Bytes with_list = bytes_of(list, wire::kListEntryBytes);
  wire::encode_list_entry({16, 20, 2}, std::span(with_list).subspan(wire::kAdvertBytes), 0);
  for (const Bytes& bytes :
       {bytes_of(persistent_advert(1, kWindow)), bytes_of(at_offset), with_list, bytes_of(offer(1, kWindow)),
        bytes_of(about_window(MessageType::kNotice, wire::kOfSend, 1, {1, 0, 1})),
        bytes_of(about_window(MessageType::kRevoke, wire::kOfSend, 1)),
        bytes_of(about_window(MessageType::kRelease, wire::kOfSend, 1))}) {
    auto forged = Forged::ready(stream);
    forged->hear(bytes);
    BOOST_TEST(forged->lost_to_protocol_error());
  }
}

BOOST_AUTO_TEST_CASE(probes_are_answered_one_by_one) {
  auto forged = Forged::ready();
  for (int i = 0; i < 3; ++i) {
    forged->hear(plain(MessageType::kProbe));
    BOOST_TEST((forged->said().back().header.type == MessageType::kProbeAck));
  }
  forged->hear(plain(MessageType::kProbeAck));
  BOOST_TEST(forged->lost_to_protocol_error());
  auto asked = Forged::ready();
  asked->end.connection.probe();
  asked->hear(plain(MessageType::kProbeAck));
  BOOST_TEST(asked->well());
  // Expect: after a CLOSE of ours nothing is answered, and a second question is one too many.
  auto closing = Forged::ready();
  closing->end.connection.close();
  const std::size_t said = closing->said().size();
  closing->hear(plain(MessageType::kProbe));
  BOOST_TEST(closing->well());
  BOOST_TEST(closing->said().size() == said);
  closing->hear(plain(MessageType::kProbe));
  BOOST_TEST(closing->lost_to_protocol_error());
}

BOOST_AUTO_TEST_CASE(a_list_of_windows_is_held_in_its_slot_until_it_is_matched) {
  auto forged = Forged::ready(agreement_of(2, 100, 2));
  wire::Message message = advert(1, {16, 10, 1});
  message.header.flags = wire::kList;
  Bytes bytes = bytes_of(message, 2 * wire::kListEntryBytes);
  wire::encode_list_entry({16, 20, 2}, std::span(bytes).subspan(wire::kAdvertBytes), 0);
  wire::encode_list_entry({16, 30, 3}, std::span(bytes).subspan(wire::kAdvertBytes), 1);
  const std::size_t slots = forged->end.link.receives_posted();
  forged->hear(bytes);
  BOOST_TEST(forged->end.link.receives_posted() == slots - 1);
  Bytes into(60);
  forged->end.connection.post_receive(operation_on(into));
  BOOST_TEST(forged->end.link.receives_posted() == slots);
  BOOST_TEST(forged->end.link.reads_outstanding() == 2U);
  // Expect: an entry cut off is malformed.
  auto cut = Forged::ready(agreement_of(2, 100, 2));
  bytes.pop_back();
  cut->hear(bytes);
  BOOST_TEST(cut->lost_to_protocol_error());
}

BOOST_AUTO_TEST_SUITE_END()
