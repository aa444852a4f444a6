// Messages by 64 match bits between endpoints that know each other by name: exm_open and the calls exm_t*. Holds for every provider.
// SPDX-License-Identifier: BSD-2-Clause
#include <exs/msg.h>
#include <poll.h>

#include <array>
#include <boost/test/unit_test.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/exs_fixture.h"
#include "tests/support/job.h"

namespace exs::test {
namespace tags_peers_test {

constexpr std::int64_t kWaitNs = std::int64_t{kHangLimitSeconds} * 1'000'000'000;
constexpr std::uint64_t kBits = 0x8000'0000'0000'0001;

using Bytes = std::vector<std::uint8_t>;
using Name = std::array<std::uint8_t, EXM_NAME_BYTES>;

Bytes pattern(std::size_t bytes, unsigned seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::uint8_t>(seed + i * 5 + (i >> 8U));
  return made;
}

exm_ep_t open_at_loopback(const char* address, std::uint8_t key = 0) {
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.addresses = &address;
  config.key[0] = key;
  exm_ep_t made = nullptr;
  BOOST_REQUIRE_EQUAL(exm_open(&config, &made), 0);
  return made;
}

Name name_of(exm_ep_t ep) {
  Name name{};
  std::size_t length = name.size();
  BOOST_REQUIRE_EQUAL(exm_name(ep, name.data(), &length), 0);
  BOOST_REQUIRE_EQUAL(length, std::size_t{EXM_NAME_BYTES});
  return name;
}

int peer_of(exm_ep_t ep, exm_ep_t other) {
  const Name name = name_of(other);
  int peer = -1;
  BOOST_REQUIRE_EQUAL(exm_peer(ep, name.data(), name.size(), &peer), 0);
  return peer;
}

struct TwoPeers {
  std::deque<Bytes> kept;
  HeldPort port_a, port_b;
  exm_ep_t a = open_at_loopback(text_of(port_a).c_str());
  exm_ep_t b = open_at_loopback(text_of(port_b).c_str());
  int b_at_a = peer_of(a, b);

  static std::string text_of(const HeldPort& port) { return address_text(port.address()); }
  ~TwoPeers() {
    for (exm_ep_t ep : {a, b}) {
      if (ep != nullptr) exm_finalize(ep);
    }
  }

  // The memory is kept until the end, unless the library copies it.
  exm_request_t send(exm_ep_t ep, const Bytes& bytes, int to, std::uint64_t match, int flags = 0,
                     std::uint64_t data = 0, void* user = nullptr) {
    const Bytes& from = (flags & EXM_BUFFERED) != 0 ? bytes : kept.emplace_back(bytes);
    const exs_iovec_t piece{const_cast<std::uint8_t*>(from.data()), from.size(), EXS_MHANDLE_UNREGISTERED, 0};
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_tsend(ep, &piece, 1, to, match, data, flags, user, &request), 0);
    return request;
  }
  static exm_request_t receive(exm_ep_t ep, Bytes& into, int from, std::uint64_t match, std::uint64_t ignore,
                               void* user = nullptr) {
    const exs_iovec_t piece{into.data(), into.size(), EXS_MHANDLE_UNREGISTERED, 0};
    exm_request_t request = 0;
    BOOST_REQUIRE_EQUAL(exm_trecv(ep, &piece, 1, from, match, ignore, user, &request), 0);
    return request;
  }
  static exm_completion_t next(exm_ep_t ep) {
    exm_completion_t end{};
    BOOST_REQUIRE_EQUAL(exm_tpoll(ep, &end, 1, kWaitNs), 1);
    return end;
  }
};

}  // namespace tags_peers_test

BOOST_FIXTURE_TEST_SUITE(tags_peers_test, TwoPeers)

BOOST_AUTO_TEST_CASE(a_message_arrives_whole_and_is_told_of) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{2 << 20}}) {
    BOOST_TEST_CONTEXT(bytes << " bytes") {
      const Bytes sent = pattern(bytes, 3);
      Bytes got(bytes);
      receive(b, got, EXM_ANY_SOURCE, kBits, 0, &got);
      const exm_request_t request = send(a, sent, b_at_a, kBits, EXM_DATA, 0xfeed'0000'0000'beef, &b_at_a);
      const exm_completion_t received = next(b);
      BOOST_TEST(received.user == &got);
      BOOST_TEST(received.match == kBits);
      BOOST_TEST(received.data == 0xfeed'0000'0000'beefU);
      BOOST_TEST(received.length == bytes);
      BOOST_TEST(received.flags == unsigned{EXM_RECEIVED | EXM_DATA});
      BOOST_TEST(received.error == 0);
      BOOST_TEST((got == sent));
      if (request == 0) continue;
      const exm_completion_t left = next(a);
      BOOST_TEST(left.user == &b_at_a);
      BOOST_TEST(left.peer == b_at_a);
      BOOST_TEST(left.length == bytes);
      BOOST_TEST((left.flags & EXM_RECEIVED) == 0U);
    }
  }
}

// b learns of a by a's message alone, and later by its name.
BOOST_AUTO_TEST_CASE(a_peer_that_comes_has_the_number_that_its_name_gets) {
  Bytes got(8);
  send(a, pattern(8, 1), b_at_a, 5);
  receive(b, got, EXM_ANY_SOURCE, 5, 0);
  const exm_completion_t received = next(b);
  Name name{};
  std::size_t length = name.size();
  // shows: exm_peer_name ENOENT
  BOOST_TEST(exm_peer_name(b, received.peer, name.data(), &length) == -1);
  BOOST_TEST(errno == ENOENT);
  BOOST_TEST(peer_of(b, a) == received.peer);
  BOOST_TEST(peer_of(b, a) == received.peer);
  BOOST_TEST(exm_peer_name(b, received.peer, name.data(), &length) == 0);
  BOOST_TEST((name == name_of(a)));
  const Bytes answer = pattern(100, 2);
  Bytes got_answer(100);
  receive(a, got_answer, b_at_a, 6, 0);
  send(b, answer, received.peer, 6);
  exm_completion_t end{};
  while ((end.flags & EXM_RECEIVED) == 0) end = next(a);  // that of its own send may come before
  BOOST_TEST(end.peer == b_at_a);
  BOOST_TEST((got_answer == answer));
}

BOOST_AUTO_TEST_CASE(both_may_send_first_at_once) {
  const int a_at_b = peer_of(b, a);
  Bytes got_a(16), got_b(16);
  receive(a, got_a, b_at_a, 1, 0);
  receive(b, got_b, a_at_b, 1, 0);
  const Bytes from_a = pattern(16, 1), from_b = pattern(16, 2);
  int outcome = -1;
  std::thread other([&] {
    const exs_iovec_t piece{const_cast<std::uint8_t*>(from_b.data()), from_b.size(), EXS_MHANDLE_UNREGISTERED,
                            0};
    exm_request_t request = 0;
    outcome = exm_tsend(b, &piece, 1, a_at_b, 1, 0, 0, nullptr, &request);
  });
  send(a, from_a, b_at_a, 1);
  other.join();
  BOOST_TEST(outcome == 0);
  const auto until_received = [](exm_ep_t ep) {
    exm_completion_t end{};
    while ((end.flags & EXM_RECEIVED) == 0) end = next(ep);
    return end.error;
  };
  BOOST_TEST(until_received(a) == 0);
  BOOST_TEST(until_received(b) == 0);
  BOOST_TEST((got_a == from_b));
  BOOST_TEST((got_b == from_a));
}

BOOST_AUTO_TEST_CASE(a_mask_says_which_bits_differ) {
  Bytes got(1);
  for (const std::uint64_t match : {0x1100U, 0x2201U, 0x1102U})
    send(a, pattern(1, static_cast<unsigned>(match & 0xff)), b_at_a, match);
  receive(b, got, EXM_ANY_SOURCE, 0x2200, 0xff);
  BOOST_TEST(next(b).match == 0x2201U);
  receive(b, got, EXM_ANY_SOURCE, 0x1102, 0);
  BOOST_TEST(next(b).match == 0x1102U);
  receive(b, got, EXM_ANY_SOURCE, 0xdead, UINT64_MAX);
  BOOST_TEST(next(b).match == 0x1100U);
}

BOOST_AUTO_TEST_CASE(a_longer_message_is_cut) {
  Bytes got(10);
  receive(b, got, EXM_ANY_SOURCE, 1, 0);
  const Bytes sent = pattern(30, 1);
  send(a, sent, b_at_a, 1);
  const exm_completion_t received = next(b);
  BOOST_TEST(received.error == EMSGSIZE);
  BOOST_TEST(received.length == 30U);
  BOOST_TEST(std::equal(got.begin(), got.end(), sent.begin()));
}

BOOST_AUTO_TEST_CASE(buffered_memory_is_free_at_once) {
  constexpr int kMessages = 300;
  for (const std::size_t bytes : {std::size_t{16}, std::size_t{100'000}}) {
    Bytes memory(bytes);
    for (int i = 0; i < kMessages; ++i) {
      memory = pattern(bytes, static_cast<unsigned>(i));
      send(a, memory, b_at_a, static_cast<std::uint64_t>(i), EXM_BUFFERED);
      std::fill(memory.begin(), memory.end(), 0xff);
    }
    for (int i = 0; i < kMessages; ++i) {
      Bytes got(bytes);
      receive(b, got, EXM_ANY_SOURCE, static_cast<std::uint64_t>(i), 0);
      BOOST_REQUIRE_EQUAL(next(b).error, 0);
      BOOST_REQUIRE(got == pattern(bytes, static_cast<unsigned>(i)));
    }
  }
}

BOOST_AUTO_TEST_CASE(synchronous_sends_end_when_they_are_matched) {
  BOOST_REQUIRE_NE(send(a, pattern(8, 1), b_at_a, 1, EXM_SYNC), 0U);
  exm_message_t message = 0;
  exm_completion_t found{};
  while (exm_tprobe(b, EXM_ANY_SOURCE, 1, 0, nullptr, &found) == 0) std::this_thread::yield();
  exm_completion_t end{};
  BOOST_TEST(exm_tpoll(a, &end, 1, 0) == 0);
  BOOST_REQUIRE_EQUAL(exm_tprobe(b, EXM_ANY_SOURCE, 1, 0, &message, nullptr), 1);
  Bytes got(8);
  const exs_iovec_t piece{got.data(), got.size(), EXS_MHANDLE_UNREGISTERED, 0};
  exm_request_t request = 0;
  BOOST_REQUIRE_EQUAL(exm_tmrecv(b, &piece, 1, &message, &got, &request), 0);
  BOOST_TEST(message == 0U);
  BOOST_TEST(next(b).user == &got);
  BOOST_TEST((next(a).flags & EXM_RECEIVED) == 0U);
  BOOST_TEST((got == pattern(8, 1)));
}

BOOST_AUTO_TEST_CASE(a_cancelled_receive_is_told_of) {
  Bytes got(8);
  const exm_request_t request = receive(b, got, EXM_ANY_SOURCE, 1, 0, &got);
  BOOST_REQUIRE_EQUAL(exm_cancel(b, request), 0);
  const exm_completion_t end = next(b);
  BOOST_TEST(end.user == &got);
  BOOST_TEST(end.error == ECANCELED);
}

// Of a process that has died a receive from any source knows nothing; one from it does.
BOOST_AUTO_TEST_CASE(a_peer_that_closes_ends_what_names_it) {
  const int a_at_b = peer_of(b, a);
  Bytes got(8), got_any(8);
  send(a, pattern(8, 1), b_at_a, 1);
  receive(b, got, a_at_b, 1, 0);
  BOOST_TEST(next(b).error == 0);
  receive(b, got, a_at_b, 2, 0, &got);
  receive(b, got_any, EXM_ANY_SOURCE, 2, 0, &got_any);
  BOOST_TEST(exm_finalize(std::exchange(a, nullptr)) == 0);
  const exm_completion_t end = next(b);
  BOOST_TEST(end.user == &got);
  BOOST_TEST(end.error == EPIPE);
  exm_completion_t none{};
  BOOST_TEST(exm_tpoll(b, &none, 1, 0) == 0);
}

BOOST_AUTO_TEST_CASE(a_message_to_oneself_arrives) {
  BOOST_TEST(peer_of(a, a) == 0);
  Bytes got(8);
  receive(a, got, 0, 1, 0);
  send(a, pattern(8, 9), 0, 1, EXM_DATA, 77);
  exm_completion_t end{};
  while ((end.flags & EXM_RECEIVED) == 0) end = next(a);
  BOOST_TEST(end.data == 77U);
  BOOST_TEST((got == pattern(8, 9)));
}

BOOST_AUTO_TEST_CASE(the_descriptor_is_readable_when_something_has_ended) {
  pollfd wanted{exm_tfd(b), POLLIN, 0};
  BOOST_REQUIRE_GE(wanted.fd, 0);
  BOOST_TEST(exm_tfd(b) == wanted.fd);
  for (int round = 0; round < 3; ++round) {
    Bytes got(8);
    receive(b, got, EXM_ANY_SOURCE, 1, 0);
    BOOST_REQUIRE_EQUAL(exm_tarm(b), 1);
    BOOST_REQUIRE_EQUAL(::poll(&wanted, 1, 0), 0);
    send(a, pattern(8, 1), b_at_a, 1);
    // What arrives before the end, such as the other's wish to connect, shows as well.
    do {
      BOOST_REQUIRE_EQUAL(::poll(&wanted, 1, 1000 * kHangLimitSeconds), 1);
    } while (exm_tarm(b) == 1);
    BOOST_TEST(next(b).error == 0);
  }
}

BOOST_AUTO_TEST_CASE(another_key_is_turned_away) {
  HeldPort port;
  exm_ep_t stranger = open_at_loopback(text_of(port).c_str(), 1);
  const int b_at_stranger = peer_of(stranger, b);
  send(stranger, pattern(8, 1), b_at_stranger, 1, EXM_SYNC);
  BOOST_TEST(next(stranger).error == ECONNRESET);
  exm_finalize(stranger);
}

// Its name is that of an address at which others find it.
BOOST_AUTO_TEST_CASE(an_endpoint_may_listen_at_every_address) {
  const char* const address = "0.0.0.0:0";
  exm_config_t config{};
  config.struct_bytes = sizeof config;
  config.addresses = &address;
  exm_ep_t everywhere = nullptr;
  if (exm_open(&config, &everywhere) != 0) {
    BOOST_REQUIRE_EQUAL(errno, EOPNOTSUPP);
    BOOST_REQUIRE_EQUAL(std::string(std::getenv("EXS_PROVIDER")), "verbs");
    BOOST_TEST_MESSAGE("skipped: this device listens at an address of its own only (siw)");
    return;
  }
  constexpr std::size_t kHost = 8;  // of a name of IPv4
  const Name name = name_of(everywhere);
  BOOST_TEST((name[kHost] | name[kHost + 1] | name[kHost + 2] | name[kHost + 3]) != 0);
  Bytes got(8);
  receive(everywhere, got, EXM_ANY_SOURCE, 1, 0);
  send(a, pattern(8, 5), peer_of(a, everywhere), 1);
  BOOST_TEST(next(everywhere).error == 0);
  BOOST_TEST((got == pattern(8, 5)));
  exm_finalize(everywhere);
}

BOOST_AUTO_TEST_CASE(ranks_are_peers_and_their_messages_have_bits) {
  Job job(2);
  const std::uint32_t number = 42;
  BOOST_REQUIRE_EQUAL(exm_send(job[0], &number, sizeof number, 1, 9, 7, 0), 0);
  Bytes got(4);
  receive(job[1], got, 0, (std::uint64_t{7} << 32U) | 9U, 0);
  BOOST_TEST(next(job[1]).match == ((std::uint64_t{7} << 32U) | 9U));
  send(job[1], got, 0, (std::uint64_t{7} << 32U) | 8U);
  std::uint32_t back = 0;
  BOOST_TEST(exm_recv(job[0], &back, sizeof back, 1, 8, 7, nullptr) == 0);
  BOOST_TEST(back == 42U);
}

BOOST_AUTO_TEST_CASE(requests_of_this_level_are_for_cancel_alone) {
  Bytes got(8);
  exm_request_t request = receive(b, got, EXM_ANY_SOURCE, 1, 0);
  const exm_request_t before = request;
  // shows: exm_wait EINVAL
  BOOST_TEST(exm_wait(b, &request, nullptr, 0) == -1);
  BOOST_TEST(errno == EINVAL);
  BOOST_TEST(exm_free(b, &request) == -1);
  BOOST_TEST(request == before);
  BOOST_TEST(exm_cancel(b, request) == 0);
}

BOOST_AUTO_TEST_CASE(wrong_arguments_are_refused) {
  const auto refused = [](int outcome) { return outcome == -1 ? errno : 0; };
  Bytes memory(8);
  const exs_iovec_t piece{memory.data(), memory.size(), EXS_MHANDLE_UNREGISTERED, 0};
  exm_request_t request = 0;
  exm_message_t message = 12345;
  exm_completion_t end{};
  int peer = 0;
  std::size_t length = EXM_NAME_BYTES;
  Name name = name_of(b);
  exm_config_t config{};
  exm_ep_t made = nullptr;
  // shows: exm_open EINVAL
  BOOST_TEST(refused(exm_open(&config, &made)) == EINVAL);
  config.struct_bytes = sizeof config;
  config.rank = 1;
  BOOST_TEST(refused(exm_open(&config, &made)) == EINVAL);
  config.rank = 0;
  const std::string taken = text_of(port_a);
  const char* const address = taken.c_str();
  config.addresses = &address;
  // shows: exm_open EADDRINUSE
  BOOST_TEST(refused(exm_open(&config, &made)) == EADDRINUSE);
  // shows: exm_peer EINVAL
  BOOST_TEST(refused(exm_peer(a, name.data(), 3, &peer)) == EINVAL);
  name[0] ^= 1;
  BOOST_TEST(refused(exm_peer(a, name.data(), name.size(), &peer)) == EINVAL);
  // shows: exm_peer_name EINVAL
  BOOST_TEST(refused(exm_peer_name(a, 99, name.data(), &length)) == EINVAL);
  // shows: exm_tsend EINVAL
  BOOST_TEST(refused(exm_tsend(a, &piece, 1, 99, 0, 0, 0, nullptr, &request)) == EINVAL);
  BOOST_TEST(refused(exm_tsend(a, &piece, 1, b_at_a, 0, 0, 0x80, nullptr, &request)) == EINVAL);
  BOOST_TEST(refused(exm_tsend(a, &piece, 1025, b_at_a, 0, 0, 0, nullptr, &request)) == EINVAL);
  // shows: exm_trecv EINVAL
  BOOST_TEST(refused(exm_trecv(a, &piece, 1, 99, 0, 0, nullptr, &request)) == EINVAL);
  // shows: exm_tprobe EINVAL
  BOOST_TEST(refused(exm_tprobe(a, 99, 0, 0, nullptr, &end)) == EINVAL);
  // shows: exm_tmrecv EINVAL
  BOOST_TEST(refused(exm_tmrecv(a, &piece, 1, &message, nullptr, &request)) == EINVAL);
  // shows: exm_tpoll EINVAL
  BOOST_TEST(refused(exm_tpoll(a, &end, 0, 0)) == EINVAL);
  BOOST_TEST(refused(exm_tpoll(a, nullptr, 1, 0)) == EFAULT);
  Job job(1);
  // shows: exm_name EOPNOTSUPP
  BOOST_TEST(refused(exm_name(job[0], name.data(), &length)) == EOPNOTSUPP);
  // shows: exm_peer EOPNOTSUPP
  BOOST_TEST(refused(exm_peer(job[0], name.data(), name.size(), &peer)) == EOPNOTSUPP);
  // shows: exm_peer_name EOPNOTSUPP
  BOOST_TEST(refused(exm_peer_name(job[0], 0, name.data(), &length)) == EOPNOTSUPP);
  const int self = 0;
  exm_group_t group{};
  // shows: exm_group_create EOPNOTSUPP
  BOOST_TEST(refused(exm_group_create(a, &self, 1, 0, 1, &group)) == EOPNOTSUPP);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::test
