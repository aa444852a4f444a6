// The C++ layer: accepts that stay, and messages in buffers of a pool, that coroutines await one after the other.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/unit_test.hpp>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/api/hpp_pair.h"

namespace exs::cpp {
namespace hpp_arrivals_test {

constexpr std::uint32_t kBuffers = 2;
constexpr std::size_t kBufferBytes = 16;

struct Fixture : ConnectedLoop {
  const Buffer memory{kBuffers * kBufferBytes};
  const ReceivePool pool{memory.bytes(), kBuffers, memory.region()};

  void send(std::string_view text) {
    const auto sending = [](AsyncSocket& socket, std::string_view what) -> Task<> {
      BOOST_TEST(co_await socket.send(bytes_of(what)));
    };
    loop.block_on(sending(pair.right, text));
  }
};

template <typename Stream>
auto next_of(Loop& loop, Stream& stream) {
  const auto next = [](Stream& all) -> Task<decltype(all.next().await_resume())> {
    co_return co_await all.next();
  };
  return loop.block_on(next(stream));
}

std::string text_in(const Arrived<PooledMessage>& message) {
  return message ? std::string(text_of(message->bytes())) : "none";
}

Task<> collect(Messages& messages, std::vector<std::string>& texts) {
  for (;;) {
    const auto message = co_await messages.next();
    if (!message) break;
    texts.emplace_back(text_of(message->bytes()));
  }
}

Task<> connect_to(AsyncSocket& socket, const Address& address, Outcome& outcome) {
  outcome = co_await socket.connect(address);
}

}  // namespace hpp_arrivals_test

BOOST_FIXTURE_TEST_SUITE(hpp_arrivals_test, Fixture)

// ---------------------------------------------------------------- messages

// Five messages pass two buffers: each value that goes gives its buffer back.
BOOST_AUTO_TEST_CASE(messages_come_in_order_and_give_their_buffers_back) {
  Messages messages = pair.left.recv_pooled(pool);
  std::vector<std::string> texts;
  loop.spawn(collect(messages, texts));
  for (const char* const text : {"1", "22", "333", "4444", "55555"}) send(text);
  loop.block_on([](AsyncSocket& socket) -> Task<> {
    static_cast<void>(co_await socket.shutdown(SHUT_WR));
  }(pair.right));
  loop.run();
  BOOST_TEST((texts == std::vector<std::string>{"1", "22", "333", "4444", "55555"}));
  BOOST_TEST(!messages.error());
  const auto end = next_of(loop, messages);
  BOOST_TEST(text_in(end) == "none");
  BOOST_TEST(end.ended());
  BOOST_TEST(name_of(end) == "0");
  BOOST_CHECK_EXCEPTION(static_cast<void>(end.value()), std::system_error,
                        [](const auto& thrown) { return thrown.code() == std::errc::no_message_available; });
}

BOOST_AUTO_TEST_CASE(a_message_that_is_kept_keeps_its_buffer) {
  Messages messages = pair.left.recv_pooled(pool);
  send("a");
  send("b");
  send("c");
  std::optional<PooledMessage> a = next_of(loop, messages).value();
  auto b = next_of(loop, messages);
  BOOST_TEST((text_of(a->bytes()) == "a"));
  BOOST_TEST(text_in(b) == "b");
  BOOST_TEST((a->region() == memory.region()));
  while (loop.poll()) continue;
  BOOST_TEST((a->bytes().data() != b->bytes().data()));
  const std::byte* const given_back = a->bytes().data();
  a.reset();
  const auto c = next_of(loop, messages);
  BOOST_TEST(text_in(c) == "c");
  BOOST_TEST((c->bytes().data() == given_back));
  BOOST_TEST(text_in(b) == "b");
}

BOOST_AUTO_TEST_CASE(a_message_too_long_is_truncated_and_says_so) {
  Messages messages = pair.left.recv_pooled(pool);
  send("0123456789abcdefghi");
  const auto message = next_of(loop, messages);
  BOOST_REQUIRE(message);
  BOOST_TEST(message->truncated());
  BOOST_TEST(text_in(message) == "0123456789abcdef");
}

BOOST_AUTO_TEST_CASE(a_closed_stream_gives_what_is_here_then_the_reason) {
  Messages messages = pair.left.recv_pooled(pool);
  send("last");
  const auto last = next_of(loop, messages);
  BOOST_TEST(text_in(last) == "last");
  messages.close();
  const auto end = next_of(loop, messages);
  BOOST_TEST(!end);
  BOOST_TEST(!end.ended());
  BOOST_TEST(name_of(end) == "ECANCELED");
  BOOST_TEST(name_of(messages.error()) == "ECANCELED");
  BOOST_CHECK_THROW(static_cast<void>(end.value()), std::system_error);
}

BOOST_AUTO_TEST_CASE(a_call_that_is_refused_is_told_by_the_first_next) {
  Messages first = pair.left.recv_pooled(pool);
  Messages second = pair.left.recv_pooled(pool);
  BOOST_TEST(text_in(next_of(loop, second)) == "none");
  BOOST_TEST(name_of(second.error()) == "EBUSY");
}

// The buffers that it had come back, too: the next stream uses them all.
BOOST_AUTO_TEST_CASE(a_stream_that_is_dropped_gives_back_what_nobody_took) {
  {
    Messages dropped = pair.left.recv_pooled(pool);
    send("1");
    send("2");
    const auto one = next_of(loop, dropped);
    BOOST_TEST(text_in(one) == "1");
  }
  std::optional<Messages> messages;
  do {  // until the receive has ended
    loop.poll();
    messages.emplace(pair.left.recv_pooled(pool));
    messages->close();
    static_cast<void>(next_of(loop, *messages));
  } while (messages->error() == std::errc::device_or_resource_busy);
  messages.emplace(pair.left.recv_pooled(pool));
  std::vector<PooledMessage> kept;
  for (std::uint32_t i = 0; i < kBuffers; ++i) {
    send("again");
    kept.push_back(next_of(loop, *messages).value());
  }
}

// ---------------------------------------------------------------- connections

BOOST_AUTO_TEST_CASE(one_accept_gives_every_connection) {
  AsyncSocket listening(loop, listening_socket());
  Connections connections = listening.accept_all();
  std::vector<AsyncSocket> clients;
  std::vector<AsyncSocket> accepted;
  for (int i = 0; i < 3; ++i) {
    Outcome connect;
    AsyncSocket client(loop);
    loop.spawn(connect_to(client, listening->local_address(), connect));
    auto next = next_of(loop, connections);
    BOOST_REQUIRE(next);
    BOOST_TEST(*next);
    loop.run();
    BOOST_TEST(connect);
    BOOST_TEST((next->socket->peer_address().port() == client->local_address().port()));
    clients.push_back(std::move(client));
    accepted.push_back(std::move(next->value()));
  }
  listening = AsyncSocket();  // closes it
  BOOST_TEST(name_of(next_of(loop, connections)) == "ECANCELED");
}

BOOST_AUTO_TEST_CASE(connections_that_nobody_took_are_closed_with_the_stream) {
  const Socket listening = listening_socket();
  AsyncSocket client(loop);
  Outcome connect;
  {
    Connections connections = accept_all(loop, listening);
    loop.spawn(connect_to(client, listening.local_address(), connect));
    loop.run();
    BOOST_TEST(connect);
  }
  const auto at_end = [](AsyncSocket& socket) -> Task<bool> {
    std::byte byte{};
    const Result result = co_await socket.recv({&byte, 1});
    co_return result.ended() || !result;
  };
  BOOST_TEST(loop.block_on(at_end(client)));
}

// A coroutine that waits is resumed by the end of its loop, and the streams may outlive it.
BOOST_AUTO_TEST_CASE(streams_may_be_dropped_after_their_loop) {
  std::unique_ptr<Messages> messages;
  std::unique_ptr<Connections> connections;
  const Socket listening = listening_socket();
  std::vector<std::string> texts;
  bool has_ended = false;
  {
    ConnectedLoop dying;
    messages = std::make_unique<Messages>(dying.pair.left.recv_pooled(pool));
    connections = std::make_unique<Connections>(accept_all(dying.loop, listening));
    dying.loop.spawn([](Messages& from, std::vector<std::string>& into, bool& ended) -> Task<> {
      co_await collect(from, into);
      ended = true;
    }(*messages, texts, has_ended));
  }
  BOOST_TEST(texts.empty());
  BOOST_TEST(has_ended);  // by an error, or because the peer's end was closed before
  BOOST_TEST(name_of(connections->error()) == "ECANCELED");
  BOOST_TEST(!next_of(loop, *connections));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
