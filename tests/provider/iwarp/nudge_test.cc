// An initiator nudges a foreign responder that stays silent, when it is due and no other time; a responder
// bears being nudged.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/provider/iwarp/byte_peer.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace nudge_test {

constexpr std::uint64_t kMs = 1'000'000;
// A write of no bytes to STag 1, without a CRC and with it.
constexpr char kNudge[] = "000ec140 00000001 0000000000000000 00000000";
constexpr char kNudgeWithCrc[] = "000ec140 00000001 0000000000000000 ebd34c5f";
constexpr std::size_t kNudgeBytes = 20;
// When the links are looked at, after the reply.
constexpr std::uint64_t kLooksMs[] = {30, 90, 210, 450, 930};

// A port that has connected to a responder of bytes; time begins with the reply.
struct Initiator : AskedBytePeer {
  explicit Initiator(const Bytes& reply = mpa_reply(), const Settings& settings = {})
      : AskedBytePeer(settings, settings.announce_exs ? 30 : 26) {
    join(reply);
  }
  void at_ms(std::uint64_t ms) {
    driver.now_ns = kStartNs + ms * kMs;
    driver.turn();
  }
  void say(std::string_view text) {
    BOOST_REQUIRE(link->post_send(bytes_of(text), {}, 0).ok());
    driver.turn();
  }
  std::string hears(std::size_t bytes) { return to_hex(read_from(driver, peer, bytes)); }
  // What has been sent is at the peer already: it is one host.
  [[nodiscard]] bool hears_nothing() const {
    std::byte next;
    return ::recv(peer.get(), &next, 1, MSG_DONTWAIT | MSG_PEEK) == -1 && errno == EAGAIN;
  }
  [[nodiscard]] std::uint64_t deadline_ms() const { return (driver->next_deadline_ns() - kStartNs) / kMs; }
  [[nodiscard]] bool waits_for_nothing() const { return driver->next_deadline_ns() == kNoDeadline; }
};

std::string hex(std::string_view with_blanks) {
  return to_hex(from_hex(with_blanks));
}

constexpr std::size_t kShortMessageBytes = 28;  // "x": header, one byte, pad, CRC

}  // namespace nudge_test

BOOST_AUTO_TEST_SUITE(nudge_test)

BOOST_AUTO_TEST_CASE(a_silent_foreign_responder_is_nudged_with_growing_pauses_and_then_never_again) {
  Initiator initiator;
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  for (const std::uint64_t look_ms : kLooksMs) {
    BOOST_TEST(initiator.deadline_ms() == look_ms);
    initiator.at_ms(look_ms - 1);
    BOOST_TEST(initiator.hears_nothing());
    initiator.at_ms(look_ms);
    BOOST_TEST(initiator.hears(kNudgeBytes) == hex(kNudge));
    BOOST_TEST(initiator.hears_nothing());
  }
  BOOST_TEST(initiator.waits_for_nothing());
  initiator.at_ms(100'000);
  BOOST_TEST(initiator.hears_nothing());
  // Expect: the posts have their completions and no others.
  BOOST_TEST(initiator.driver.take(CompletionKind::kSend, kClientToken).has_value());
  BOOST_TEST(initiator.driver.seen.empty());
}

BOOST_AUTO_TEST_CASE(with_crc_a_nudge_carries_one) {
  Initiator initiator(mpa_reply(0x50));
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  initiator.at_ms(30);
  const Bytes nudge = read_from(initiator.driver, initiator.peer, kNudgeBytes);
  BOOST_TEST(to_hex(nudge) == hex(kNudgeWithCrc));
  BOOST_TEST(to_hex(nudge) == to_hex(write_fpdu(1, 0, {})));
}

BOOST_AUTO_TEST_CASE(the_first_word_of_the_peer_ends_the_waiting) {
  for (const std::size_t bytes : {std::size_t{1}, kShortMessageBytes}) {
    Initiator initiator;
    std::byte room[8];
    BOOST_REQUIRE(initiator.link->post_recv(slice_of(room), 0).ok());
    initiator.say("x");
    initiator.hears(kShortMessageBytes);
    initiator.at_ms(30);
    initiator.hears(kNudgeBytes);
    // Part of an FPDU is a word as well.
    write_all(initiator.peer, std::span<const std::byte>(send_fpdu(1, from_hex("79"))).first(bytes));
    initiator.driver.turn();
    initiator.at_ms(90);
    BOOST_TEST(initiator.waits_for_nothing());
    initiator.at_ms(930);
    BOOST_TEST(initiator.hears_nothing());
  }
}

BOOST_AUTO_TEST_CASE(a_word_that_is_there_when_the_time_comes_is_heard_before) {
  Initiator initiator;
  std::byte room[8];
  BOOST_REQUIRE(initiator.link->post_recv(slice_of(room), 0).ok());
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  write_all(initiator.peer, send_fpdu(1, from_hex("79")));
  initiator.at_ms(30);
  BOOST_TEST(initiator.hears_nothing());
  BOOST_TEST(initiator.waits_for_nothing());
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_before_our_own_first_message) {
  Initiator initiator;
  for (const std::uint64_t look_ms : {30, 90, 210}) {
    initiator.at_ms(look_ms);
    BOOST_TEST(initiator.hears_nothing());
  }
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  BOOST_TEST(initiator.hears_nothing());
  initiator.at_ms(450);
  BOOST_TEST(initiator.hears(kNudgeBytes) == hex(kNudge));
}

BOOST_AUTO_TEST_CASE(an_idle_link_has_no_deadline_after_a_second) {
  Initiator initiator;
  for (const std::uint64_t look_ms : kLooksMs) initiator.at_ms(look_ms);
  BOOST_TEST(initiator.waits_for_nothing());
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  initiator.at_ms(100'000);
  BOOST_TEST(initiator.hears_nothing());
  BOOST_TEST(initiator.waits_for_nothing());
}

BOOST_AUTO_TEST_CASE(a_read_that_is_held_back_does_not_hold_back_the_nudge) {
  // The reply allows one read at a time.
  Initiator initiator(mpa_reply(0x10, 2, from_hex("00010001")));
  std::byte sinks[2][4];
  for (std::span<std::byte> sink : sinks) {
    BOOST_REQUIRE(initiator.link->post_read(slice_of(sink), {0x1000, 4, 0xabcd0100}, 0).ok());
  }
  initiator.driver.turn();
  initiator.hears(52);
  initiator.at_ms(30);
  BOOST_TEST(initiator.hears(kNudgeBytes) == hex(kNudge));
}

BOOST_AUTO_TEST_CASE(peers_that_are_exs_are_not_nudged) {
  Initiator initiator(mpa_reply(0x10, 2, from_hex("00080008 45585357")));
  BOOST_TEST(initiator.waits_for_nothing());
  initiator.say("x");
  initiator.hears(kShortMessageBytes);
  for (const std::uint64_t look_ms : kLooksMs) initiator.at_ms(look_ms);
  BOOST_TEST(initiator.hears_nothing());
}

BOOST_AUTO_TEST_CASE(responders_never_nudge) {
  ServedBytePeer served;
  served.join(mpa_request(), 27);
  BOOST_TEST(served.driver->next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(the_setting_turns_it_off) {
  Settings settings;
  settings.nudge = false;
  Initiator initiator(mpa_reply(), settings);
  BOOST_TEST(initiator.waits_for_nothing());
}

BOOST_AUTO_TEST_CASE(closed_links_are_forgotten) {
  PortDriver driver({});
  const ListeningSocket listening;
  const Socket sockets[] = {tcp_socket(), tcp_socket(), tcp_socket()};
  std::unique_ptr<Link> links[3];
  Socket peers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    links[i] = *driver->connector()->connect(sockets[i].get(), listening.as_sockaddr(),
                                             sizeof listening.address, {{}, {16, 16, 16, 16}}, i);
    peers[i] = accept_from(listening);
    read_from(driver, peers[i], 28);
    write_all(peers[i], mpa_reply());
    await(driver, CompletionKind::kEstablished, i);
    driver.now_ns += kMs;
  }
  // Expect: the earliest of those that are left, until none is.
  BOOST_TEST(driver->next_deadline_ns() == kStartNs + 30 * kMs);
  links[0]->close();
  BOOST_TEST(driver->next_deadline_ns() == kStartNs + 31 * kMs);
  peers[2].close();
  await(driver, CompletionKind::kDisconnected, 2);
  BOOST_TEST(driver->next_deadline_ns() == kStartNs + 31 * kMs);
  links[1].reset();
  BOOST_TEST(driver->next_deadline_ns() == kNoDeadline);
}

BOOST_AUTO_TEST_CASE(a_responder_bears_nudges_at_any_time) {
  for (const unsigned flags : {0x10U, 0x50U}) {
    ServedBytePeer served;
    served.join(mpa_request(flags), 27);
    std::vector<std::byte> memory = pattern(1000);
    std::byte room[8];
    const auto nudge = [&] { write_all(served.peer, write_fpdu(1, 0, {})); };
    const Result<RemoteSlice> window = served.link->expose(slice_of(memory), Access::kRemoteReadWrite);
    BOOST_REQUIRE(window.has_value());
    // Before everything, between messages, before and behind a read request, and after a write.
    nudge();
    for (std::uint32_t number = 1; number <= 3; ++number) {
      BOOST_REQUIRE(served.link->post_recv(slice_of(room), number).ok());
      write_all(served.peer, send_fpdu(number, from_hex("79")));
      nudge();
      BOOST_TEST(await(served.driver, CompletionKind::kReceive, kServerToken).token == number);
    }
    write_all(served.peer, read_request_fpdu(1, 0xABCD, 1000, window->key, 0));
    nudge();
    BOOST_TEST(read_from(served.driver, served.peer, 16 + 1000 + 4).size() == 1020U);
    write_all(served.peer, write_fpdu(window->key, 999, from_hex("ee")));
    nudge();
    const DrivenPorts drivers = {&served.driver};
    drive_until(drivers, [&] { return memory[999] == std::byte{0xee}; });
    BOOST_TEST(!served.driver.take(CompletionKind::kDisconnected, kServerToken).has_value());
    BOOST_TEST(served.link->post_send(bytes_of("on"), {}, 9).ok());
    BOOST_TEST(read_from(served.driver, served.peer, 28).size() == 28U);
  }
}

BOOST_AUTO_TEST_SUITE_END()
