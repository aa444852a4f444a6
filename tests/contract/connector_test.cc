// What every Connector promises (src/provider/connector.h), and what its listeners and requests do, whoever provides
// them. A port without that role has nothing to keep: port_test says which it is.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <iterator>
#include <vector>

#include "base/clock.h"
#include "tests/contract/port_bed.h"

using namespace exs;
using namespace exs::contract;

namespace connector_test {

boost::test_tools::assertion_result has_connector(boost::unit_test::test_unit_id) {
  return provider_under_test() != "shm";
}

// Without the zeros that a provider may pad it with.
std::string text_of(std::span<const std::byte> data) {
  const std::string text(reinterpret_cast<const char*>(data.data()), data.size());
  return text.substr(0, text.find('\0'));
}

bool is_open(int descriptor) {
  return ::fcntl(descriptor, F_GETFD) != -1;
}

struct ConnectorBed : PortBed {
  // Expect: this attempt ends for good, with one completion.
  Status ending_of(const SocketAndLink& attempt, std::uint64_t token) {
    const Completion ending = near_gets(CompletionKind::kDisconnected, token);
    for (int i = 0; i < 3; ++i) {
      near.turn();
      far.turn();
    }
    BOOST_TEST(std::none_of(near.seen.begin(), near.seen.end(),
                            [&](const Completion& one) { return one.link == token; }));
    BOOST_TEST(attempt->post_send(bytes_of("late"), {}, 0).error() == ENOTCONN);
    return ending.status;
  }
};

}  // namespace connector_test

BOOST_FIXTURE_TEST_SUITE(connector_test, ConnectorBed, *boost::unit_test::precondition(has_connector))

// ---------------------------------------------------------------- attempts

BOOST_AUTO_TEST_CASE(a_peer_worth_a_try_is_told_from_one_that_is_not) {
  Reason why_not;
  BOOST_TEST(near->connector()->may_reach(meeting.address(), why_not));
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (!near->connector()->may_reach(reinterpret_cast<const sockaddr*>(&loopback), why_not))
    BOOST_TEST((why_not.code != ReasonCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_connect_to_nobody_ends_once) {
  // The port is bound and does not listen.
  SocketAndLink attempt = meeting.connect(kFewPosts, 1);
  BOOST_TEST(attempt->private_data().empty());
  BOOST_TEST(ending_of(attempt, 1).error() == ECONNREFUSED);
  // Expect: nothing is left of it.
  attempt.link.reset();
  settle();
  BOOST_TEST((near->next_deadline_ns() == kNoDeadline));
  BOOST_TEST(near.seen.empty());
  Connection another = join(2);
  exchange_messages(another, 2);
}

BOOST_AUTO_TEST_CASE(an_attempt_that_is_given_up_tells_nothing) {
  meeting.listen();
  SocketAndLink attempt = meeting.connect(kFewPosts, 1);
  auto request = meeting.await_request();
  BOOST_TEST(!request->peer_is_gone());
  attempt.link.reset();
  attempt.socket.reset();
  // Expect: it shows when the request is accepted, or after.
  const UniqueFd descriptor(request->release_descriptor());
  auto accepted = far->connector()->accept(std::move(request), descriptor.get(),
                                           {bytes_of("too late"), kFewPosts}, 1 + kServerTokens);
  if (accepted) {
    far_gets(CompletionKind::kDisconnected, 1 + kServerTokens);
  } else {
    BOOST_TEST(accepted.error().error() == ECONNRESET);
  }
  near.turn();
  BOOST_TEST(near.seen.empty());
}

// ---------------------------------------------------------------- requests

BOOST_AUTO_TEST_CASE(a_request_tells_the_peers_words_and_so_does_the_answer) {
  meeting.listen();
  SocketAndLink client = meeting.connect(kFewPosts, 1, "a question");
  auto request = meeting.await_request();
  BOOST_TEST(text_of(request->private_data()) == "a question");
  BOOST_TEST(!request->peer_is_gone());
  // Expect: either both ends can give way to another provider, or none.
  BOOST_TEST((request->upgradable() == nullptr) == (client->upgradable() == nullptr));
  const bool gives_way = provider.id() != ProviderId::kVerbs && provider.id() != ProviderId::kSim;
  BOOST_TEST((client->upgradable() != nullptr) == gives_way);
  SocketAndLink server = meeting.accept(far, std::move(request), kFewPosts, 2);
  BOOST_TEST(text_of(server->private_data()) == "a question");
  BOOST_TEST(near_gets(CompletionKind::kEstablished, 1).status.ok());
  BOOST_TEST(far_gets(CompletionKind::kEstablished, 2).status.ok());
  BOOST_TEST(text_of(client->private_data()) == "welcome");
}

BOOST_AUTO_TEST_CASE(requests_come_out_in_the_order_of_their_arrival) {
  meeting.listen();
  BOOST_TEST((meeting.listener().next_request() == nullptr));
  std::vector<SocketAndLink> clients;
  constexpr std::string_view kWords[] = {"first", "second", "third"};
  for (const std::string_view words : kWords) {
    clients.push_back(meeting.connect(kFewPosts, clients.size(), words));
    BOOST_TEST(far_gets(CompletionKind::kRequest, Meeting::kListenerToken).status.ok());
  }
  for (const std::string_view words : kWords) {
    const auto request = meeting.listener().next_request();
    BOOST_REQUIRE(request);
    BOOST_TEST(text_of(request->private_data()) == words);
  }
  BOOST_TEST((meeting.listener().next_request() == nullptr));
}

BOOST_AUTO_TEST_CASE(a_request_closes_its_descriptor_unless_it_is_released) {
  meeting.listen();
  SocketAndLink first = meeting.connect(kFewPosts, 1);
  auto request = meeting.await_request();
  int descriptor = request->descriptor();
  BOOST_TEST(is_open(descriptor));
  request.reset();
  BOOST_TEST(!is_open(descriptor));
  SocketAndLink second = meeting.connect(kFewPosts, 2);
  request = meeting.await_request();
  descriptor = request->descriptor();
  const UniqueFd released(request->release_descriptor());
  BOOST_TEST(released.get() == descriptor);
  request->reject({});
  request.reset();
  BOOST_TEST(is_open(descriptor));
}

BOOST_AUTO_TEST_CASE(a_rejected_peer_is_told_so_and_why) {
  meeting.listen();
  SocketAndLink attempt = meeting.connect(kFewPosts, 1);
  meeting.await_request()->reject(bytes_of("no thanks"));
  BOOST_TEST(ending_of(attempt, 1).error() == ECONNREFUSED);
  BOOST_TEST(text_of(attempt->private_data()) == "no thanks");
  // Expect: it was the peer, not this provider.
  BOOST_TEST((attempt->why_not().code == ReasonCode::kNone));
}

BOOST_AUTO_TEST_CASE(a_request_that_is_destroyed_unanswered_is_rejected) {
  meeting.listen();
  SocketAndLink attempt = meeting.connect(kFewPosts, 1);
  meeting.await_request().reset();
  BOOST_TEST(ending_of(attempt, 1).error() == ECONNREFUSED);
  BOOST_TEST(text_of(attempt->private_data()).empty());
  Connection another = join(2);
  exchange_messages(another, 2);
}

BOOST_AUTO_TEST_CASE(any_port_of_the_provider_may_accept_a_request) {
  meeting.listen();
  DrivenPort third(provider);
  SocketAndLink client = meeting.connect(kFewPosts, 1);
  SocketAndLink server = meeting.accept(third, meeting.await_request(), kFewPosts, 2);
  const auto third_gets = [&](CompletionKind kind) { return await({&near, &far, &third}, third, kind, 2); };
  BOOST_TEST(third_gets(CompletionKind::kEstablished).status.ok());
  BOOST_TEST(await({&near, &far, &third}, near, CompletionKind::kEstablished, 1).status.ok());
  Room room;
  post_receive(server, room, 7);
  post_message(client, "to the third");
  BOOST_TEST(third_gets(CompletionKind::kReceive).token == 7U);
  BOOST_TEST(room.text(12) == "to the third");
  // Expect: the port that listened has nothing to do with it.
  BOOST_TEST(far.seen.empty());
}

BOOST_AUTO_TEST_CASE(the_reply_leaves_no_earlier_than_the_next_flush) {
  meeting.listen();
  SocketAndLink client = meeting.connect(kFewPosts, 1);
  SocketAndLink server = meeting.accept(far, meeting.await_request(), kFewPosts, 2);
  for (int i = 0; i < 100; ++i) {
    near.turn();
    far->progress(monotonic_ns());
  }
  far.collect();
  BOOST_TEST(near.seen.empty());
  BOOST_TEST(far.seen.empty());
  // Expect: a peer that speaks at once finds what was posted meanwhile.
  Room room;
  post_receive(server, room, 9);
  far->flush();
  BOOST_TEST(near_gets(CompletionKind::kEstablished, 1).status.ok());
  post_message(client, "at once");
  BOOST_TEST(far_gets(CompletionKind::kEstablished, 2).status.ok());
  BOOST_TEST(far_gets(CompletionKind::kReceive, 2).token == 9U);
  BOOST_TEST(room.text(7) == "at once");
}

// ---------------------------------------------------------------- listeners

BOOST_AUTO_TEST_CASE(a_listener_that_is_destroyed_takes_its_requests_along_and_nothing_else) {
  Connection standing = join(1);
  SocketAndLink polled = meeting.connect(kFewPosts, 2);
  far_gets(CompletionKind::kRequest, Meeting::kListenerToken);
  SocketAndLink unpolled = meeting.connect(kFewPosts, 3);
  settle();
  far.seen.clear();
  meeting.stop_listening();
  BOOST_TEST(ending_of(polled, 2).error() == ECONNREFUSED);
  BOOST_TEST(!near_gets(CompletionKind::kDisconnected, 3).status.ok());
  BOOST_TEST(far.seen.empty());
  BOOST_TEST(is_open(meeting.listening().get()));
  exchange_messages(standing, 1);
}

BOOST_AUTO_TEST_CASE(a_request_outlives_its_listener) {
  meeting.listen();
  SocketAndLink client = meeting.connect(kFewPosts, 1);
  auto request = meeting.await_request();
  meeting.stop_listening();
  SocketAndLink server = meeting.accept(far, std::move(request), kFewPosts, 2);
  BOOST_TEST(near_gets(CompletionKind::kEstablished, 1).status.ok());
  BOOST_TEST(far_gets(CompletionKind::kEstablished, 2).status.ok());
}

BOOST_AUTO_TEST_CASE(a_peer_that_is_slow_with_its_request_is_dropped_in_time) {
  if (provider.own_listening() != nullptr) {
    BOOST_TEST_MESSAGE("skipped: requests come whole where the provider does the listening");
    return;
  }
  meeting.listen();
  UniqueFd silent(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const std::uint64_t earliest_ns = monotonic_ns();
  BOOST_REQUIRE(::connect(silent.get(), meeting.address(), sizeof(sockaddr_in)) == 0);
  BOOST_TEST((far->next_deadline_ns() == kNoDeadline));
  drive_until({&far}, [&] { return far->next_deadline_ns() != kNoDeadline; });
  const std::uint64_t deadline_ns = far->next_deadline_ns();
  BOOST_TEST(deadline_ns >= earliest_ns + Meeting::kHandshakeLimitNs);
  BOOST_TEST(deadline_ns <= monotonic_ns() + Meeting::kHandshakeLimitNs);
  far->progress(deadline_ns - 1);
  BOOST_TEST(far->next_deadline_ns() == deadline_ns);
  far->progress(deadline_ns);
  BOOST_TEST((far->next_deadline_ns() == kNoDeadline));
  pollfd wait{silent.get(), POLLIN, 0};
  BOOST_REQUIRE(::poll(&wait, 1, kHangLimitMs) == 1);
  std::byte byte;
  BOOST_TEST(::recv(silent.get(), &byte, 1, 0) == 0);
  far.collect();
  BOOST_TEST(far.seen.empty());
}

BOOST_AUTO_TEST_SUITE_END()
