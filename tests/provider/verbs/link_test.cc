// A link over a real device: set-up, messages, reads, writes, windows, ends.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>

#include "tests/provider/verbs/device_pair.h"

using namespace exs;
using namespace exs::verbs::test;

namespace link_test {

std::string text_of(std::span<const std::byte> bytes) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return text.substr(0, text.find('\0'));
}

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

struct Joined : DevicePair {
  explicit Joined(const LinkDepths& depths = {16, 16, 8, 8, 1024}) : DevicePair(depths) { join(); }
};

}  // namespace link_test

BOOST_AUTO_TEST_SUITE(link_test)

BOOST_FIXTURE_TEST_SUITE(joined, Joined)

BOOST_AUTO_TEST_CASE(each_end_hears_the_others_data) {
  BOOST_TEST(text_of(server->private_data()) == "hello of the client");
  BOOST_TEST(text_of(client->private_data()) == "hello of the server");
  sockaddr_storage ours{}, peers{};
  BOOST_TEST(client->addresses(ours, peers));
  BOOST_TEST(reinterpret_cast<sockaddr_in&>(peers).sin_port ==
             reinterpret_cast<const sockaddr_in*>(meeting.address())->sin_port);
  BOOST_TEST(reinterpret_cast<sockaddr_in&>(peers).sin_addr.s_addr == device_address().sin_addr.s_addr);
}

BOOST_AUTO_TEST_CASE(messages_there_and_back) {
  for (const std::size_t length : {std::size_t{1}, std::size_t{63}, std::size_t{200}, std::size_t{1000}}) {
    std::vector<std::byte> body = pattern(length);
    BOOST_TEST(client->post_send(bytes_of("head"), {body.data(), body.size(), {}}, 7).ok());
    const Completion sent = await(near, CompletionKind::kSend, kClientToken);
    BOOST_TEST(sent.status.ok());
    BOOST_TEST(sent.token == 7U);
    const Completion arrived = await(far, CompletionKind::kReceive, kServerToken);
    BOOST_TEST(arrived.length_bytes == length + 4);
    const auto* const at = server_slots.data() + arrived.token * 1024;
    BOOST_TEST(std::equal(body.begin(), body.end(), at + 4));
    post_receive(*server, server_slots, arrived.token);
    BOOST_TEST(server->post_send(bytes_of("answer"), {}, 8).ok());
    const Completion answer = await(near, CompletionKind::kReceive, kClientToken);
    BOOST_TEST(answer.length_bytes == 6U);
    post_receive(*client, client_slots, answer.token);
  }
}

BOOST_AUTO_TEST_CASE(a_read_and_a_write_through_windows) {
  Registered theirs(1 << 20, 3);
  Registered ours(1 << 20, 9);
  const auto readable = server->expose(theirs.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(readable.has_value());
  BOOST_TEST(client->post_read(ours.slice(), *readable, 21).ok());
  const Completion read = await(near, CompletionKind::kRead, kClientToken);
  BOOST_TEST(read.status.ok());
  BOOST_TEST(read.token == 21U);
  BOOST_TEST(ours.holds(theirs.span()));
  BOOST_TEST(server->withdraw(readable->key).ok());
  BOOST_TEST(server->withdraw(readable->key).error() == EINVAL);

  Registered source(5000, 17);
  const auto writable = server->expose(theirs.slice(100, 5000), Access::kRemoteWrite);
  BOOST_REQUIRE(writable.has_value());
  BOOST_TEST(client->post_write(source.slice(), *writable, 22).ok());
  BOOST_TEST(await(near, CompletionKind::kWrite, kClientToken).status.ok());
  BOOST_TEST(client->post_send(bytes_of("written"), {}, 23).ok());
  await(far, CompletionKind::kReceive, kServerToken);
  BOOST_TEST(theirs.holds(source.span(), 100));
}

BOOST_AUTO_TEST_CASE(more_posts_than_the_send_queue_holds) {
  Registered theirs(64 * 1024, 3);
  Registered ours(64 * 1024, 9);
  const auto readable = server->expose(theirs.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(readable.has_value());
  constexpr std::uint64_t kReads = 300;
  for (std::uint64_t i = 0; i < kReads; ++i)
    BOOST_TEST(
        client->post_read(ours.slice(i * 200, 200), {readable->address + i * 200, 200, readable->key}, i)
            .ok());
  for (std::uint64_t i = 0; i < kReads; ++i) {
    const Completion read = await(near, CompletionKind::kRead, kClientToken);
    BOOST_TEST(read.status.ok());
    BOOST_TEST(read.token == i);
  }
  BOOST_TEST(theirs.holds(ours.span().first(60'000)));
}

BOOST_AUTO_TEST_CASE(beyond_the_window_the_link_ends) {
  Registered theirs(8192, 3);
  Registered ours(8192, 9);
  const auto readable = server->expose(theirs.slice(0, 4096), Access::kRemoteRead);
  BOOST_REQUIRE(readable.has_value());
  BOOST_TEST(client->post_read(ours.slice(), {readable->address, 8192, readable->key}, 5).ok());
  BOOST_TEST(!await(near, CompletionKind::kRead, kClientToken).status.ok());
  await(near, CompletionKind::kDisconnected, kClientToken);  // siw calls it an orderly end
  BOOST_TEST(ours.holds(pattern(8192, 9)));
}

BOOST_AUTO_TEST_CASE(a_withdrawn_window_is_shut) {
  Registered theirs(4096, 3);
  Registered ours(4096, 9);
  const auto readable = server->expose(theirs.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(readable.has_value());
  BOOST_TEST(server->withdraw(readable->key).ok());
  BOOST_TEST(client->post_read(ours.slice(), *readable, 5).ok());
  BOOST_TEST(!await(near, CompletionKind::kRead, kClientToken).status.ok());
  BOOST_TEST(ours.holds(pattern(4096, 9)));
}

BOOST_AUTO_TEST_CASE(a_closed_link_ends_its_posts_and_its_peer) {
  client->close();
  BOOST_TEST(await(near, CompletionKind::kReceive, kClientToken).status.error() == ECANCELED);
  BOOST_TEST(await(far, CompletionKind::kReceive, kServerToken).status.error() == ECONNRESET);
  BOOST_TEST(await(far, CompletionKind::kDisconnected, kServerToken).status.ok());
  BOOST_TEST(client->post_send(bytes_of("late"), {}, 1).error() == ENOTCONN);
  BOOST_TEST(server->post_send(bytes_of("late"), {}, 1).error() == ENOTCONN);
}

BOOST_AUTO_TEST_CASE(what_was_sent_before_a_close_arrives) {
  std::vector<std::byte> body = pattern(900);
  for (std::uint64_t i = 0; i < 10; ++i)
    BOOST_TEST(client->post_send(bytes_of("last"), {body.data(), body.size(), {}}, i).ok());
  client->close();
  for (int i = 0; i < 10; ++i) {
    const Completion arrived = await(far, CompletionKind::kReceive, kServerToken);
    BOOST_TEST(arrived.status.ok());
    BOOST_TEST(arrived.length_bytes == 904U);
  }
  BOOST_TEST(await(far, CompletionKind::kDisconnected, kServerToken).status.ok());
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_FIXTURE_TEST_SUITE(set_up, DevicePair)

BOOST_AUTO_TEST_CASE(nobody_listens) {
  connect("x");
  BOOST_TEST(await(near, CompletionKind::kDisconnected, kClientToken).status.error() == ECONNREFUSED);
  BOOST_TEST((client->why_not().code == ReasonCode::kPeerLacks));
}

BOOST_AUTO_TEST_CASE(rejected_with_data) {
  meeting.listen();
  connect("x");
  meeting.await_request()->reject(bytes_of("no thanks"));
  BOOST_TEST(await(near, CompletionKind::kDisconnected, kClientToken).status.error() == ECONNREFUSED);
  BOOST_TEST((client->why_not().code == ReasonCode::kNone));
  BOOST_TEST(text_of(client->private_data()) == "no thanks");
}

BOOST_AUTO_TEST_CASE(a_request_whose_peer_has_gone) {
  meeting.listen();
  connect("x");
  auto request = meeting.await_request();
  client.reset();
  // A peer that gave up may say nothing: then it shows when the request is accepted, at once or after.
  placeholder = UniqueFd(request->release_descriptor());
  auto made = far->connector()->accept(std::move(request), placeholder.get(),
                                       {bytes_of("y"), {16, 16, 8, 8, 1024}}, kServerToken);
  if (!made) {
    BOOST_TEST(made.error().error() == ECONNRESET);
  } else {
    server = std::move(*made);
    BOOST_TEST(await(far, CompletionKind::kDisconnected, kServerToken).link == kServerToken);
  }
}

BOOST_AUTO_TEST_CASE(many_connections_one_after_the_other) {
  meeting.listen();
  for (int i = 0; i < 20; ++i) {
    connect("x");
    accept(meeting.await_request(), "y");
    BOOST_TEST(await(near, CompletionKind::kEstablished, kClientToken).status.ok());
    BOOST_TEST(await(far, CompletionKind::kEstablished, kServerToken).status.ok());
    client.reset();
    BOOST_TEST(await(far, CompletionKind::kDisconnected, kServerToken).status.ok());
    server.reset();
    near.seen.clear();
    far.seen.clear();
  }
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE_END()
