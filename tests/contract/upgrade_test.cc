// What every ConnectionUpgrade promises (src/provider/upgrade.h), and every link and request that can give way to one.
// Which provider has which role is in port_test.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <utility>

#include "base/clock.h"
#include "tests/contract/port_bed.h"

using namespace exs;
using namespace exs::contract;

namespace upgrade_test {

constexpr std::uint64_t kToken = Meeting::kUpgradeToken;

boost::test_tools::assertion_result has_upgrade(boost::unit_test::test_unit_id) {
  return provider_under_test() == "shm";
}
boost::test_tools::assertion_result gives_way(boost::unit_test::test_unit_id) {
  return provider_under_test() == "iwarp";
}

struct UpgradeBed : PortBed {
  UniqueFd client_socket;
  UniqueFd server_socket;
  UpgradeBed() { meeting.connect_plainly(client_socket, server_socket); }

  UpgradeOffer offer() {
    Reason why_not;
    auto made = near->upgrade()->offer(why_not);
    require(made.has_value(), std::string("offer: ") + why_not.fact);
    return std::move(*made);
  }
  std::unique_ptr<PendingUpgrade> begin(std::span<const std::byte> invitation) {
    auto made = far->upgrade()->begin(invitation, kToken);
    require(made.has_value(), "begin");
    return std::move(*made);
  }
  Result<std::unique_ptr<Link>> adopt_near(std::unique_ptr<PendingUpgrade> upgrade) {
    return near->upgrade()->adopt(std::move(upgrade), client_socket.get(), {bytes_of("from far"), kFewPosts},
                                  1);
  }
  Result<std::unique_ptr<Link>> adopt_far(std::unique_ptr<PendingUpgrade> upgrade) {
    return far->upgrade()->adopt(std::move(upgrade), server_socket.get(), {bytes_of("from near"), kFewPosts},
                                 2);
  }
  // Expect: the responder hears once that there is no upgrade, and why.
  void expect_failure(PendingUpgrade& upgrade) {
    BOOST_TEST(!far_gets(CompletionKind::kUpgradeReady, kToken).status.ok());
    BOOST_TEST((upgrade.why_not().code != ReasonCode::kNone));
    near.turn();
    far.turn();
    BOOST_TEST(near.seen.empty());
    BOOST_TEST(far.seen.empty());
  }
};

std::string text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

}  // namespace upgrade_test

BOOST_AUTO_TEST_SUITE(upgrade_test)

// ---------------------------------------------------------------- the provider that takes over

BOOST_FIXTURE_TEST_SUITE(taking_over, UpgradeBed, *boost::unit_test::precondition(has_upgrade))

BOOST_AUTO_TEST_CASE(the_ends_find_each_other_and_links_follow) {
  UpgradeOffer offered = offer();
  BOOST_TEST(!offered.invitation.empty());
  auto begun = begin(offered.invitation);
  const Completion ready = far_gets(CompletionKind::kUpgradeReady, kToken);
  BOOST_TEST(ready.status.ok());
  BOOST_TEST(ready.token == 0U);
  BOOST_TEST(far.seen.empty());
  auto server = adopt_far(std::move(begun));
  BOOST_REQUIRE(server.has_value());
  auto client = adopt_near(std::move(offered.pending));
  BOOST_REQUIRE(client.has_value());
  // Expect: established at once, and no completion says so.
  BOOST_TEST(text_of((*client)->private_data()) == "from far");
  BOOST_TEST(text_of((*server)->private_data()) == "from near");
  Room room;
  BOOST_REQUIRE((*client)->post_recv(room.slice(), 3).ok());
  BOOST_REQUIRE((*server)->post_send(bytes_of("the responder first"), {}, 4).ok());
  BOOST_TEST(near_gets(CompletionKind::kReceive, 1).token == 3U);
  BOOST_TEST(far_gets(CompletionKind::kSend, 2).token == 4U);
  BOOST_TEST(near.seen.empty());
  BOOST_TEST(far.seen.empty());
}

BOOST_AUTO_TEST_CASE(an_initiator_that_nobody_has_found_gets_no_link) {
  UpgradeOffer offered = offer();
  settle();
  BOOST_TEST(adopt_near(std::move(offered.pending)).error().error() == ECONNRESET);
  settle();
  BOOST_TEST(near.seen.empty());
}

BOOST_AUTO_TEST_CASE(a_responder_that_is_not_ready_gets_no_link) {
  const UpgradeOffer offered = offer();
  BOOST_TEST(adopt_far(begin(offered.invitation)).error().error() == ECONNRESET);
}

BOOST_AUTO_TEST_CASE(an_invitation_that_makes_no_sense_fails) {
  auto begun = begin(bytes_of("come over"));
  expect_failure(*begun);
  BOOST_TEST(!adopt_far(std::move(begun)).has_value());
}

BOOST_AUTO_TEST_CASE(an_invitation_that_was_given_up_fails) {
  UpgradeOffer offered = offer();
  offered.pending.reset();
  auto begun = begin(offered.invitation);
  expect_failure(*begun);
}

BOOST_AUTO_TEST_CASE(an_initiator_that_does_not_answer_is_waited_for_a_second_at_most) {
  const UpgradeOffer offered = offer();
  const auto begun = begin(offered.invitation);
  const std::uint64_t now_ns = monotonic_ns();
  far->progress(now_ns);
  const std::uint64_t limit_ns = now_ns + kNsPerSecond;
  BOOST_TEST(far->next_deadline_ns() <= limit_ns);
  far.collect();
  BOOST_TEST(far.seen.empty());
  far->progress(limit_ns);
  far.collect();
  const auto ready = far.take(CompletionKind::kUpgradeReady, kToken);
  BOOST_REQUIRE(ready);
  BOOST_TEST(!ready->status.ok());
  BOOST_TEST((begun->why_not().code != ReasonCode::kNone));
}

BOOST_AUTO_TEST_CASE(what_was_given_up_tells_nothing) {
  UpgradeOffer offered = offer();
  auto begun = begin(offered.invitation);
  begun.reset();
  settle();
  BOOST_TEST(far.seen.empty());
  // Expect: also if it was ready.
  UpgradeOffer second = offer();
  begun = begin(second.invitation);
  far_gets(CompletionKind::kUpgradeReady, kToken);
  begun.reset();
  settle();
  BOOST_TEST(far.seen.empty());
  BOOST_TEST(near.seen.empty());
  // Expect: the initiator finds out when it adopts, or by the link's end.
  const auto client = adopt_near(std::move(second.pending));
  if (client) {
    server_socket.reset();
    BOOST_TEST(near_gets(CompletionKind::kDisconnected, 1).link == 1U);
  } else {
    BOOST_TEST(client.error().error() == ECONNRESET);
  }
}

BOOST_AUTO_TEST_CASE(the_end_of_the_descriptor_is_the_links_end) {
  Connection connection = join(1);
  Connection other = join(2);
  BOOST_REQUIRE(::shutdown(connection.client.socket.get(), SHUT_RDWR) == 0);
  BOOST_TEST(near_gets(CompletionKind::kDisconnected, 1).status.error() == ECONNRESET);
  BOOST_TEST(!far_gets(CompletionKind::kDisconnected, 1 + kServerTokens).status.ok());
  exchange_messages(other, 2);
}

BOOST_AUTO_TEST_SUITE_END()

// ---------------------------------------------------------------- the provider that gives way

BOOST_FIXTURE_TEST_SUITE(giving_way, PortBed, *boost::unit_test::precondition(gives_way))

BOOST_AUTO_TEST_CASE(a_released_link_leaves_its_descriptor_as_it_is) {
  Connection connection = meeting.join(kFewPosts, 1, 2);
  Room room;
  post_receive(connection.client, room, 3);
  BOOST_REQUIRE(connection.client->upgradable() != nullptr);
  BOOST_TEST(connection.client->upgradable()->release().ok());
  BOOST_TEST(connection.server->upgradable()->release().ok());
  // Expect: the receive is forgotten.
  settle();
  BOOST_TEST(near.seen.empty());
  BOOST_TEST(far.seen.empty());
  // Expect: the stream is there for others.
  connection.client.link.reset();
  connection.server.link.reset();
  for (const auto& [from, to] : {std::pair{&connection.client.socket, &connection.server.socket},
                                 std::pair{&connection.server.socket, &connection.client.socket}}) {
    BOOST_REQUIRE(::send(from->get(), "plain", 5, MSG_NOSIGNAL) == 5);
    pollfd wait{to->get(), POLLIN, 0};
    BOOST_REQUIRE(::poll(&wait, 1, kHangLimitMs) == 1);
    char text[8] = {};
    BOOST_TEST(::recv(to->get(), text, sizeof text, 0) == 5);
    BOOST_TEST(text == std::string_view("plain"));
  }
}

BOOST_AUTO_TEST_CASE(a_granted_request_tells_the_peer_yes) {
  meeting.listen();
  SocketAndLink client = meeting.connect(kFewPosts, 1);
  auto request = meeting.await_request();
  BOOST_REQUIRE(request->upgradable() != nullptr);
  BOOST_TEST(request->upgradable()->grant(bytes_of("another carries it")).ok());
  const UniqueFd descriptor(request->release_descriptor());
  request.reset();
  BOOST_TEST(near_gets(CompletionKind::kEstablished, 1).status.ok());
  BOOST_TEST(text_of(client->private_data()) == "another carries it");
  BOOST_TEST(client->upgradable()->release().ok());
  // Expect: nothing but the answer was sent, and nothing ended.
  near.turn();
  BOOST_TEST(near.seen.empty());
  std::byte byte;
  BOOST_TEST(::recv(client.socket.get(), &byte, 1, MSG_DONTWAIT) == -1);
  BOOST_TEST(errno == EAGAIN);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
