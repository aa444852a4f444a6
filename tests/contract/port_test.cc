// What every Port promises (src/provider/provider.h), whoever provides it. What its roles promise is in
// connector_test.cc and upgrade_test.cc.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <future>
#include <iterator>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "tests/contract/port_bed.h"

using namespace exs;
using namespace exs::contract;

namespace port_test {

std::ptrdiff_t open_descriptors() {
  const std::filesystem::directory_iterator all("/proc/self/fd");
  return std::distance(begin(all), end(all));
}

// Never sleeps, never arms; stops when the port rings no more.
Completion look_for(DrivenPort& port, CompletionKind kind) {
  const std::uint64_t limit_ns = monotonic_ns() + kHangLimitMs * kNsPerMs;
  std::optional<Completion> found;
  while (!found || rings(port)) {
    port.turn();
    if (!found) found = port.take(kind);
    require(monotonic_ns() < limit_ns, "nothing is found for a long time");
    std::this_thread::yield();
  }
  return *found;
}

// Ends of the peer's doing.
bool has_ends(const DrivenPort& port) {
  return std::any_of(port.seen.begin(), port.seen.end(),
                     [](const Completion& one) { return one.kind == CompletionKind::kDisconnected; });
}

// Answers each message until it has had `rounds`; sleeps, armed, in between.
void answer_messages(DrivenPort& port, SocketAndLink& link, Room& room, int rounds, bool also_the_last) {
  port.become_engine();
  int received = 0;
  drive_until({&port}, [&] {
    while (port.take(CompletionKind::kReceive)) {
      ++received;
      if (received < rounds) post_receive(link, room);
      if (received < rounds || also_the_last) post_message(link, "ball");
      port->flush();
    }
    port.seen.clear();
    return received == rounds;
  });
}

struct Bed : PortBed {
  // A message of four bytes for the far port, which is armed and at rest.
  void ring_far(Connection& connection, Room& room, std::uint64_t round) {
    post_receive(connection.server, room, round);
    settle();
    post_message(connection.client, "ring", round);
    near->flush();
    BOOST_REQUIRE(will_ring(far));
  }
};

}  // namespace port_test

BOOST_FIXTURE_TEST_SUITE(port_test, Bed)

BOOST_AUTO_TEST_CASE(a_port_has_the_roles_of_its_provider) {
  const ProviderId id = provider.id();
  BOOST_TEST(provider.name() == provider_under_test());
  // Expect: some way to come by links.
  BOOST_TEST((near->connector() != nullptr || near->upgrade() != nullptr));
  BOOST_TEST((near->connector() == nullptr) == (id == ProviderId::kShm));
  BOOST_TEST((near->upgrade() != nullptr) == (id == ProviderId::kShm));
  BOOST_TEST((provider.own_listening() != nullptr) == (id == ProviderId::kVerbs || id == ProviderId::kSim));
  // Expect: what keeps it from being all it could be is numbered without gaps, and ends.
  Reason limit;
  std::size_t limitations = 0;
  while (limitations < 100 && near->limitation(limitations, limit)) {
    BOOST_TEST((limit.code != ReasonCode::kNone));
    ++limitations;
  }
  BOOST_TEST(limitations < 100U);
  BOOST_TEST(!near->limitation(limitations + 1, limit));
}

BOOST_AUTO_TEST_CASE(a_port_without_links_is_silent) {
  const std::uint64_t arrivals = near->arrivals();
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(!near.turn());
    BOOST_TEST(near->poll_memory(false));
    near.collect();
    BOOST_TEST(near.seen.empty());
    BOOST_TEST((near->next_deadline_ns() == kNoDeadline));
    BOOST_TEST(near->arm());
    BOOST_TEST(!rings(near));
    near->disarm();
  }
  BOOST_TEST(near->arrivals() == arrivals);
}

// ---------------------------------------------------------------- sleep

BOOST_AUTO_TEST_CASE(a_message_rings_an_armed_port_until_it_is_taken_in) {
  Connection connection = join(1);
  Room room;
  for (std::uint64_t round = 0; round < 20; ++round) {
    ring_far(connection, room, round);
    BOOST_TEST(rings(far));
    const Completion received = await({&far}, far, CompletionKind::kReceive, 1 + kServerTokens);
    BOOST_TEST(received.token == round);
    BOOST_TEST(received.length_bytes == 4U);
    // Expect: it rings no more, or it would never come to rest.
    settle();
  }
}

BOOST_AUTO_TEST_CASE(what_came_before_arm_is_told_by_arm_or_rings) {
  Connection connection = join(1);
  Room room;
  for (std::uint64_t round = 0; round < 60; ++round) {
    post_receive(connection.server, room, round);
    // It was armed long ago; or is armed still, as while another thread sleeps on it; or was not since the last message.
    if (round % 3 != 2) settle();
    if (round % 3 != 1) far->disarm();
    post_message(connection.client, "early", round);
    for (int i = 0; i < 100; ++i) near.turn();
    if (far->arm()) BOOST_REQUIRE(will_ring(far));
    far->disarm();
    BOOST_TEST(look_for(far, CompletionKind::kReceive).token == round);
  }
}

BOOST_AUTO_TEST_CASE(who_is_rung_for_memory_finds_it_there_or_is_told_to_look) {
  Connection connection = join(1);
  Room room;
  for (std::uint64_t round = 0; round < 20; ++round) {
    ring_far(connection, room, round);
    const bool all_is_taken_in = far->poll_memory(true);
    far->disarm();
    far.collect();
    const bool found = far.take(CompletionKind::kReceive, 1 + kServerTokens).has_value();
    BOOST_TEST((found || !all_is_taken_in));
    if (!found) far_gets(CompletionKind::kReceive, 1 + kServerTokens);
  }
}

BOOST_AUTO_TEST_CASE(who_is_rung_for_an_end_finds_it_there_or_is_told_to_look) {
  Connection connection = join(1);
  settle();
  connection.client->close();
  near->flush();
  BOOST_REQUIRE(will_ring(far));
  // Expect: it is not sent away again and again.
  int rung = 0;
  while (rings(far) && far->poll_memory(true) && far.seen.empty()) {
    BOOST_REQUIRE(++rung < 1000);
    far.collect();
  }
  far->disarm();
  BOOST_TEST(far_gets(CompletionKind::kDisconnected, 1 + kServerTokens).status.ok());
}

// A wake-up that is lost is a wait without end.
BOOST_AUTO_TEST_CASE(two_threads_that_sleep_between_messages_wake_each_other) {
  constexpr int kRounds = 300;
  Connection connection = join(1);
  Room near_room;
  Room far_room;
  post_receive(connection.server, far_room);
  post_receive(connection.client, near_room);
  auto answered = std::async(std::launch::async,
                             [&] { answer_messages(far, connection.server, far_room, kRounds, true); });
  post_message(connection.client, "ball");
  near->flush();
  answer_messages(near, connection.client, near_room, kRounds, false);
  answered.get();
}

BOOST_AUTO_TEST_CASE(a_disarmed_port_finds_messages_by_looking) {
  Connection connection = join(1);
  Room room;
  post_receive(connection.server, room, 5);
  settle();
  far->disarm();
  post_message(connection.client, "unheard");
  near->flush();
  BOOST_TEST(look_for(far, CompletionKind::kReceive).token == 5U);
}

// ---------------------------------------------------------------- work

BOOST_AUTO_TEST_CASE(flush_starts_what_was_posted) {
  Connection connection = join(1);
  Room rooms[3];
  for (Room& room : rooms) post_receive(connection.server, room);
  settle();
  for (std::uint64_t i = 0; i < 3; ++i) post_message(connection.client, "go", i);
  near->flush();
  // Expect: they get there though nobody drives the sender any more.
  for (int i = 0; i < 3; ++i) {
    BOOST_TEST(await({&far}, far, CompletionKind::kReceive, 1 + kServerTokens).length_bytes == 2U);
  }
  for (std::uint64_t i = 0; i < 3; ++i) BOOST_TEST(near_gets(CompletionKind::kSend, 1).token == i);
}

BOOST_AUTO_TEST_CASE(arrivals_go_up_with_what_a_peer_sends) {
  Connection connection = join(1);
  Room rooms[2];
  for (Room& room : rooms) {
    post_receive(connection.server, room);
    const std::uint64_t before = far->arrivals();
    post_message(connection.client, "more");
    far_gets(CompletionKind::kReceive, 1 + kServerTokens);
    BOOST_TEST(far->arrivals() > before);
  }
}

BOOST_AUTO_TEST_CASE(poll_takes_no_more_than_there_is_room_for) {
  Connection connection = join(1);
  Room rooms[5];
  for (std::uint64_t i = 0; i < std::size(rooms); ++i) post_receive(connection.client, rooms[i], i);
  settle();
  BOOST_TEST(near.seen.empty());
  connection.client->close();
  near->flush();
  near->progress(monotonic_ns());
  BOOST_TEST(near->poll({}) == 0U);
  std::multiset<std::uint64_t> tokens;
  Completion one[1];
  while (near->poll(one) == 1) tokens.insert(one[0].token);
  BOOST_TEST((tokens == std::multiset<std::uint64_t>{0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_CASE(what_is_due_is_done_when_its_time_is_told) {
  // The connection leaves behind what it may.
  { const Connection connection = join(1); }
  meeting.stop_listening();
  for (DrivenPort* port : {&near, &far}) {
    // Expect: each deadline is met by the time alone, and there is a last one.
    std::uint64_t now_ns = monotonic_ns();
    int deadlines = 0;
    while ((*port)->next_deadline_ns() != kNoDeadline) {
      BOOST_REQUIRE(++deadlines < 100);
      now_ns = std::max(now_ns + kNsPerMs, (*port)->next_deadline_ns());
      (*port)->progress(now_ns);
    }
  }
}

// ---------------------------------------------------------------- many links

BOOST_AUTO_TEST_CASE(completions_tell_the_links_of_one_port_apart) {
  constexpr std::uint64_t kLinks = 3;
  constexpr std::uint64_t kMessages = 4;
  std::vector<Connection> connections;
  Room rooms[kLinks][kMessages];
  for (std::uint64_t i = 0; i < kLinks; ++i) {
    connections.push_back(join(i));
    for (std::uint64_t j = 0; j < kMessages; ++j) post_receive(connections[i].server, rooms[i][j], j);
  }
  for (std::uint64_t j = 0; j < kMessages; ++j) {
    for (std::uint64_t i = 0; i < kLinks; ++i) {
      const std::string text = std::to_string(j) + " of link " + std::to_string(i);
      post_message(connections[i].client, text, 10 * i + j);
    }
  }
  drive_until({&near, &far}, [&] {
    return near.seen.size() >= kLinks * kMessages && far.seen.size() >= kLinks * kMessages;
  });
  BOOST_TEST(near.seen.size() == kLinks * kMessages);
  BOOST_TEST(far.seen.size() == kLinks * kMessages);
  for (std::uint64_t i = 0; i < kLinks; ++i) {
    std::set<std::uint64_t> used;
    for (std::uint64_t j = 0; j < kMessages; ++j) {
      const auto left = near.take(CompletionKind::kSend, i);
      const auto received = far.take(CompletionKind::kReceive, i + kServerTokens);
      BOOST_REQUIRE((left && received));
      BOOST_TEST(left->token == 10 * i + j);
      // Expect: in order, in whichever room, each used once.
      BOOST_REQUIRE((received->token < kMessages && used.insert(received->token).second));
      BOOST_TEST(rooms[i][received->token].text(received->length_bytes) ==
                 std::to_string(j) + " of link " + std::to_string(i));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_link_that_is_closed_leaves_the_others) {
  Connection first = join(1);
  Connection closed = join(2);
  Connection last = join(3);
  Room near_room;
  Room far_room;
  post_receive(closed.client, near_room);
  post_receive(closed.server, far_room);
  closed.client->close();
  closed.client.link.reset();
  BOOST_TEST(far_gets(CompletionKind::kReceive, 2 + kServerTokens).status.error() == ECONNRESET);
  BOOST_TEST(far_gets(CompletionKind::kDisconnected, 2 + kServerTokens).status.ok());
  exchange_messages(first, 1);
  exchange_messages(last, 3);
  closed.server.link.reset();
  exchange_messages(first, 1);
  exchange_messages(last, 3);
  BOOST_TEST(near.seen.empty());
  BOOST_TEST(far.seen.empty());
  // Expect: there is room for another one.
  Connection another = join(4);
  exchange_messages(another, 4);
  exchange_messages(first, 1);
  BOOST_TEST(!has_ends(near));
  BOOST_TEST(!has_ends(far));
}

BOOST_AUTO_TEST_CASE(a_link_that_is_destroyed_takes_only_its_own_completions_along) {
  Connection kept = join(1);
  Connection destroyed = join(2);
  Room rooms[4];
  for (std::uint64_t i = 0; i < 2; ++i) {
    post_receive(kept.client, rooms[i], 10 + i);
    post_receive(destroyed.client, rooms[2 + i], 20 + i);
  }
  settle();
  destroyed.client->close();
  kept.client->close();
  destroyed.client.link.reset();
  near.turn();
  BOOST_REQUIRE(near.seen.size() == 2U);
  for (std::uint64_t i = 0; i < 2; ++i) {
    BOOST_TEST(near.seen[i].link == 1U);
    BOOST_TEST(near.seen[i].token == 10 + i);
    BOOST_TEST(near.seen[i].status.error() == ECANCELED);
  }
}

// ---------------------------------------------------------------- the end

BOOST_AUTO_TEST_CASE(ports_that_are_destroyed_leave_no_descriptor) {
  // What a provider, or its library, opens once stays with it.
  { const Connection connection = join(1); }
  const std::ptrdiff_t before = open_descriptors();
  { const DrivenPort unused(provider); }
  BOOST_TEST(open_descriptors() == before);
  {
    DrivenPort client(provider);
    DrivenPort server(provider);
    Meeting again(provider, client, server);
    const Connection connection = again.join(kFewPosts, 1, 2);
    BOOST_TEST(open_descriptors() > before);
  }
  BOOST_TEST(open_descriptors() == before);
}

BOOST_AUTO_TEST_SUITE_END()
