// The C++ layer: whatever is awaited or called gives an Outcome, or what derives from it, and is asked with the same words.
// SPDX-License-Identifier: BSD-2-Clause
#include <array>
#include <boost/test/unit_test.hpp>
#include <chrono>
#include <string>
#include <type_traits>
#include <utility>

#include "tests/api/hpp_pair.h"

using namespace std::chrono_literals;

namespace exs::cpp {
namespace hpp_outcome_test {

template <typename T>
constexpr bool kIsOutcome = std::is_base_of_v<Outcome, std::remove_cvref_t<T>>;

// What co_await gives of that which the call returns.
template <typename Call, typename... Arguments>
using Awaited = detail::AwaitedResult<std::invoke_result_t<Call, Arguments...>>;
template <typename Call, typename... Arguments>
constexpr bool kAwaitsOutcome = kIsOutcome<Awaited<Call, Arguments...>>;

template <typename Result, typename Call, typename... Arguments>
constexpr bool kAwaits = std::is_same_v<Awaited<Call, Arguments...>, Result>;

constexpr auto kPolls = [](AsyncSocket& socket) { return socket.poll(EXS_POLLIN); };
constexpr auto kSends = [](AsyncSocket& socket) { return socket.send({}); };
constexpr auto kReceives = [](AsyncSocket& socket) { return socket.recv({}); };
constexpr auto kSendsAt = [](AsyncSocket& socket) { return socket.send_at(0, {}); };
constexpr auto kReceivesAt = [](AsyncSocket& socket) { return socket.recv_at(0, {}); };
constexpr auto kTakesWindow = [](AsyncSocket& socket) { return socket.recv_window({}, 0, 0); };
constexpr auto kTakesSnapshot = [](AsyncSocket& socket) { return socket.recv_snapshot({}, 0, 0); };
constexpr auto kSendsPieces = [](AsyncSocket& socket, exs_msghdr_t& pieces) {
  return socket.sendmsg(pieces);
};
constexpr auto kReceivesPieces = [](AsyncSocket& socket, exs_msghdr_t& pieces) {
  return socket.recvmsg(pieces);
};
constexpr auto kSendsFile = [](AsyncSocket& socket, exs_xferfile_t& file) { return socket.sendfile(file); };
constexpr auto kConnects = [](AsyncSocket& socket, const Address& address) {
  return socket.connect(address);
};
constexpr auto kShutsDown = [](AsyncSocket& socket) { return socket.shutdown(SHUT_WR); };
constexpr auto kCloses = [](AsyncSocket& socket) { return socket.close(); };
constexpr auto kAccepts = [](AsyncSocket& socket) { return socket.accept(); };
constexpr auto kWithTimeout = [](AsyncSocket& socket) { return with_timeout(1s, socket.recv({})); };
constexpr auto kSleepsFor = [](Loop& loop) { return loop.sleep_for(1s); };
constexpr auto kSleepsUntil = [](Loop& loop) { return loop.sleep_until({}); };
constexpr auto kReadable = [](Loop& loop) { return loop.readable(0); };
constexpr auto kWritable = [](Loop& loop) { return with_timeout(1s, loop.writable(0)); };
constexpr auto kNextConnection = [](Connections& connections) { return connections.next(); };
constexpr auto kNextMessage = [](Messages& messages) { return messages.next(); };
constexpr auto kNextUse = [](SharedMemory& shared) { return shared.next(); };

static_assert(kAwaits<Result, decltype(kSends), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kReceives), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kSendsAt), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kReceivesAt), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kTakesWindow), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kTakesSnapshot), AsyncSocket&>);
static_assert(kAwaits<Result, decltype(kSendsPieces), AsyncSocket&, exs_msghdr_t&>);
static_assert(kAwaits<Result, decltype(kReceivesPieces), AsyncSocket&, exs_msghdr_t&>);
static_assert(kAwaits<Result, decltype(kSendsFile), AsyncSocket&, exs_xferfile_t&>);
static_assert(kAwaits<Result, decltype(kWithTimeout), AsyncSocket&>);
static_assert(kAwaits<Polled, decltype(kPolls), AsyncSocket&>);
static_assert(kAwaits<Outcome, decltype(kConnects), AsyncSocket&, const Address&>);
static_assert(kAwaits<Outcome, decltype(kShutsDown), AsyncSocket&>);
static_assert(kAwaits<Outcome, decltype(kCloses), AsyncSocket&>);
static_assert(kAwaits<Outcome, decltype(kSleepsFor), Loop&>);
static_assert(kAwaits<Outcome, decltype(kSleepsUntil), Loop&>);
static_assert(kAwaits<Outcome, decltype(kReadable), Loop&>);
static_assert(kAwaits<Outcome, decltype(kWritable), Loop&>);
static_assert(kAwaits<Accepted, decltype(kAccepts), AsyncSocket&>);
static_assert(kAwaitsOutcome<decltype(kAccepts), AsyncSocket&>);
static_assert(kAwaitsOutcome<decltype(kPolls), AsyncSocket&>);
static_assert(kAwaitsOutcome<decltype(kSends), AsyncSocket&>);
static_assert(kAwaitsOutcome<decltype(kNextConnection), Connections&>);
static_assert(kAwaitsOutcome<decltype(kNextMessage), Messages&>);
static_assert(kAwaitsOutcome<decltype(kNextUse), SharedMemory&>);

// So do calls that nobody awaits.
static_assert(kIsOutcome<decltype(std::declval<Queue&>().post(nullptr))>);
static_assert(kIsOutcome<decltype(std::declval<Queue&>().wait({}))>);
static_assert(kIsOutcome<decltype(std::declval<Loop&>().post({}))>);
static_assert(kIsOutcome<decltype(std::declval<Loop&>().stop())>);
static_assert(kIsOutcome<decltype(std::declval<Socket&>().send({}, {}))>);
static_assert(kIsOutcome<decltype(std::declval<Socket&>().close())>);
static_assert(kIsOutcome<decltype(std::declval<ReceivePool&>().give_back({}))>);

// An error is none by accident: nothing converts to bool, or to an error, without a word.
static_assert(!std::is_convertible_v<Outcome, bool> && !std::is_convertible_v<Outcome, std::error_code>);
static_assert(!std::is_convertible_v<Arrived<PooledMessage>, bool> && !std::is_convertible_v<Accepted, bool>);

template <typename T>
void expect_failure(T&& outcome, const std::string& name) {
  BOOST_TEST(!outcome);
  BOOST_TEST(name_of(outcome) == name);
  BOOST_CHECK_EXCEPTION(static_cast<void>(std::forward<T>(outcome).value()), std::system_error,
                        [&](const auto& thrown) { return name_of(thrown.code()) == name; });
}

}  // namespace hpp_outcome_test

BOOST_FIXTURE_TEST_SUITE(hpp_outcome_test, ConnectedLoop)

BOOST_AUTO_TEST_CASE(every_awaitable_fails_with_the_same_words) {
  loop.block_on([](Loop& own, Connected& ends) -> Task<> {
    std::array<std::byte, 2> memory{};
    AsyncSocket fresh(own);
    expect_failure(co_await fresh.recv(memory), "ENOTCONN");
    expect_failure(co_await fresh.poll(EXS_POLLIN), "ENOTCONN");
    expect_failure(co_await fresh.shutdown(SHUT_WR), "ENOTCONN");
    expect_failure(co_await fresh.accept(), "EINVAL");
    expect_failure(co_await ends.left.connect(Address::loopback(1)), "EISCONN");
    expect_failure(co_await own.readable(-1), "EBADF");
    expect_failure(co_await with_timeout(0ms, ends.left.recv(memory)), "ETIMEDOUT");
    expect_failure(co_await fresh.recv_window({}, 0, 0), "EINVAL");
    SharedMemory refused = ends.right.share_for_reading(memory, EXS_MHANDLE_UNREGISTERED);
    expect_failure(co_await refused.next(), "EINVAL");
    Connections none = ends.left.accept_all();
    expect_failure(co_await none.next(), "EINVAL");
    AsyncSocket nowhere;
    expect_failure(co_await nowhere.close(), "ECANCELED");
  }(loop, pair));
}

BOOST_AUTO_TEST_CASE(every_awaitable_succeeds_with_the_same_words) {
  loop.block_on([](Loop& own, Connected& ends) -> Task<> {
    std::array<std::byte, 8> memory{};
    const AsyncSocket listening(own, listening_socket());
    AsyncSocket client(own);
    auto [connected, accepted] =
        co_await both(client.connect(listening->local_address()), listening.accept());
    connected.value();
    AsyncSocket server = std::move(accepted).value();
    BOOST_TEST(server.is_open());
    const auto [polled, sent] = co_await both(server.poll(EXS_POLLIN), client.send(bytes_of("hello")));
    BOOST_TEST(polled.value() == unsigned{EXS_POLLIN});
    BOOST_TEST(sent.value() == 5U);
    BOOST_TEST((co_await server.recv(memory)).value() == 5U);
    (co_await own.sleep_for(0ms)).value();
    (co_await client.close()).value();

    const Buffer shared(64);
    SharedMemory open = ends.right.share_for_reading(shared.bytes(), shared.region());
    const auto [use, read] =
        co_await both([](SharedMemory& of) -> Task<PeerUse> { co_return co_await of.next(); }(open),
                      ends.left.recv_at(0, memory));
    BOOST_TEST(read.value() == memory.size());
    BOOST_TEST(use.value() == memory.size());
  }(loop, pair));
}

BOOST_AUTO_TEST_CASE(calls_that_nobody_awaits_have_the_same_words) {
  const Socket unconnected = Socket::create();
  expect_failure(unconnected.flush(), "ENOTCONN");
  expect_failure(unconnected.shutdown(SHUT_WR), "ENOTCONN");
  expect_failure(Socket().close(), "EBADF");
  const Queue queue(1);
  queue.post(nullptr).value();
  expect_failure(queue.post(nullptr), "EAGAIN");
  std::array<exs_event_t, 4> room;
  BOOST_TEST(queue.wait(room).value().size() == 1U);
  expect_failure(queue.wait(room, 2), "EINVAL");
}

// What the system prevents is told by the item: the stream goes on.
BOOST_AUTO_TEST_CASE(a_connection_that_was_prevented_is_an_item_with_an_error) {
  exs_event_t event{};
  event.exs_evt_type = EXS_EVT_ACCEPT;
  event.exs_evt_errno = ENOMEM;
  event.exs_evt_flags = EXS_EVF_MORE;
  event.exs_evt_union.exs_evt_accept.exs_evt_newsocket = -1;
  Arrived<Accepted> next(detail::ReadAccepted{&loop}(Event(event)));
  BOOST_TEST(next);
  BOOST_TEST(name_of(next) == "0");
  BOOST_TEST(!next.ended());
  BOOST_TEST(!next->socket.is_open());
  expect_failure(std::move(*next), "ENOMEM");
  const auto receive = [](AsyncSocket socket) -> Task<Result> { co_return co_await socket.recv({}); };
  BOOST_TEST(!loop.block_on(receive(std::move(next->socket))));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::cpp
