// READ and WRITE, each of the ways they can go. What every link promises is tested in tests/contract/.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/provider/shm/link_pair.h"

using namespace exs;
using namespace exs::shm;
using namespace exs::shm::test;
namespace data = boost::unit_test::data;

namespace transfer_test {

constexpr std::size_t kMemoryBytes = 3'000'100;

// How a run differs: memory that the peer maps or not, system calls for the peer's memory or not.
struct Variant {
  bool shared = false;
  bool process_vm = true;
};
Variant variant(int number) {
  return {(number & 1) != 0, (number & 2) == 0};
}
const auto kVariants = data::xrange(4);

PairOptions options_of(const Variant& chosen) {
  PairOptions options;
  options.client.process_vm = chosen.process_vm;
  options.server.process_vm = chosen.process_vm;
  return options;
}

struct Run : LinkPair {
  explicit Run(int number)
      : LinkPair(options_of(variant(number))),
        source(&server_port.provider(), kMemoryBytes, variant(number).shared),
        target(&server_port.provider(), kMemoryBytes, variant(number).shared) {
    join();
    source.fill(pattern(kMemoryBytes));
  }
  ~Run() {
    client.reset();
    server.reset();
  }
  RemoteSlice window(const Memory& memory, Access access) {
    const Result<RemoteSlice> made = server->expose(memory.slice(), access);
    require(made.has_value(), "expose");
    return *made;
  }

  Memory source;
  Memory target;
};

}  // namespace transfer_test

BOOST_AUTO_TEST_SUITE(transfer_test)

// The owner need not run for memory that it announced, and for plain memory where the system lets us.
BOOST_DATA_TEST_CASE(reads_and_writes_do_not_need_the_owner, data::xrange(2), number) {
  Run run(number);
  const RemoteSlice readable = run.window(run.source, Access::kRemoteRead);
  const RemoteSlice writable = run.window(run.target, Access::kRemoteWrite);
  // It sleeps, and nobody wakes it.
  while (!run.server_port->arm()) run.server_port.turn();
  std::vector<std::byte> sink(kMemoryBytes);
  BOOST_REQUIRE(run.client->post_read(slice_of(sink), readable, 1).ok());
  BOOST_REQUIRE(run.client->post_write(slice_of(sink), writable, 2).ok());
  while (run.client_port.seen.size() < 2) run.client_port.turn();
  BOOST_TEST(run.client_port.take(CompletionKind::kRead, kClientToken)->status.ok());
  BOOST_TEST(run.client_port.take(CompletionKind::kWrite, kClientToken)->status.ok());
  BOOST_TEST(exs::test::equal_bytes(sink, run.source.span().first(sink.size())));
}

// It looked awake, but does something else: what was asked of it is taken back.
BOOST_AUTO_TEST_CASE(what_the_owner_does_not_begin_is_taken_back) {
  Run run(0);
  const RemoteSlice window = run.window(run.source, Access::kRemoteRead);
  std::vector<std::byte> sinks[2] = {std::vector<std::byte>(kMemoryBytes), std::vector<std::byte>(100'000)};
  BOOST_REQUIRE(run.client->post_read(slice_of(sinks[0]), window, 1).ok());
  BOOST_REQUIRE(run.client->post_read(slice_of(sinks[1]), window, 2).ok());
  BOOST_TEST(run.client_port.history(kClientToken).empty());
  while (run.client_port.history(kClientToken) != "r1:0 r2:0 ") run.client_port.turn();
  for (const auto& sink : sinks)
    BOOST_TEST(exs::test::equal_bytes(sink, run.source.span().first(sink.size())));
  // The owner finds the old requests and knows that they are nobody's.
  BOOST_TEST(run.server->withdraw(window.key).ok() == true);
  run.server_port.turn();
  BOOST_TEST(run.server_port.history(kServerToken) == "D0:" + std::to_string(EPROTO) + " ");
}

BOOST_AUTO_TEST_CASE(a_window_that_is_served_is_not_withdrawn) {
  Run run(2);
  const RemoteSlice window = run.window(run.source, Access::kRemoteRead);
  std::vector<std::byte> sink(kMemoryBytes);
  BOOST_REQUIRE(run.client->post_read(slice_of(sink), window, 1).ok());
  run.server_port.turn();
  BOOST_TEST(run.server->withdraw(window.key).error() == EBUSY);
  run.client_gets(CompletionKind::kRead);
  BOOST_TEST(run.server->withdraw(window.key).ok());
}

BOOST_DATA_TEST_CASE(reads_beyond_the_depth_are_refused, kVariants, number) {
  Run run(number);
  PairOptions options = options_of(variant(number));
  options.depths.reads_out = 0;
  LinkPair none(options);
  none.join();
  std::byte byte[1];
  BOOST_TEST(none.client->post_read(slice_of(byte), {0, 1, 1}, 1).error() == EOPNOTSUPP);
}

// Without a window there is nothing to be had, of whichever memory.
BOOST_DATA_TEST_CASE(what_is_not_open_is_not_served, data::xrange(6), what) {
  Run run(2);
  const Access access = what % 2 == 0 ? Access::kRemoteRead : Access::kRemoteWrite;
  RemoteSlice window = run.window(run.source, access);
  window.length_bytes += 1;
  std::vector<std::byte> bytes(20'000);  // one piece
  switch (what / 2) {
    case 0: window.key ^= 1; break;                                    // another key
    case 1: window.address += kMemoryBytes - bytes.size() + 1; break;  // one byte too far
    default: break;                                                    // the other direction
  }
  const bool read = (what / 2 == 2) != (what % 2 == 0);
  window.length_bytes = bytes.size();
  const std::vector<std::byte> before(run.source.span().begin(), run.source.span().end());
  const Status posted = read ? run.client->post_read(slice_of(bytes), window, 1)
                             : run.client->post_write(slice_of(bytes), window, 1);
  BOOST_REQUIRE(posted.ok());
  BOOST_TEST(run.server_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(run.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(std::equal(before.begin(), before.end(), run.source.span().begin()));
}

BOOST_AUTO_TEST_CASE(memory_that_is_gone_ends_the_link) {
  Run run(0);
  RemoteSlice window = run.window(run.source, Access::kRemoteRead);
  window.address = 4096;
  std::byte bytes[16];
  BOOST_REQUIRE(run.client->post_read(slice_of(bytes), window, 1).ok());
  BOOST_TEST(run.client_gets(CompletionKind::kDisconnected).status.error() == EPROTO);
  BOOST_TEST(run.client_gets(CompletionKind::kRead).status.error() == EPROTO);
  BOOST_TEST(run.server_gets(CompletionKind::kDisconnected).status.error() == ECONNRESET);
}

// Memory of a closed link is its owner's again at once: nothing moves until its end has been heard of.
BOOST_DATA_TEST_CASE(no_byte_lands_in_memory_of_a_closed_link, kVariants, number) {
  Run run(number);
  const RemoteSlice window = run.window(run.target, Access::kRemoteWrite);
  std::memset(run.target.span().data(), 0, kMemoryBytes);
  std::vector<std::byte> source = pattern(100, 3);
  RemoteSlice to = window;
  to.length_bytes = source.size();
  run.server->close();
  BOOST_REQUIRE(run.client->post_write(slice_of(source), to, 1).ok());
  BOOST_TEST(run.client_gets(CompletionKind::kDisconnected).status.ok());
  run.server_port.turn();
  const auto there = run.target.span();
  BOOST_TEST(std::all_of(there.begin(), there.end(), [](std::byte byte) { return byte == std::byte{0}; }));
}

BOOST_AUTO_TEST_CASE(half_a_write_is_no_orderly_end) {
  Run run(2);
  const RemoteSlice window = run.window(run.target, Access::kRemoteWrite);
  std::vector<std::byte> source = pattern(kMemoryBytes, 3);
  RemoteSlice to = window;
  BOOST_REQUIRE(run.client->post_write(slice_of(source), to, 1).ok());
  run.client_port.turn();
  run.client->close();
  run.client_port.collect();
  BOOST_TEST(run.client_port.history(kClientToken) == "W1:" + std::to_string(ECANCELED) + " ");
  BOOST_TEST(run.server_gets(CompletionKind::kDisconnected).status.error() == ECONNRESET);
}

// More reads than there are claim words, of more than one link.
BOOST_AUTO_TEST_CASE(links_share_what_a_channel_has) {
  PairOptions options = options_of({false, false});
  options.depths = {64, 64, 64, 64};
  LinkPair pair(options);
  pair.join();
  std::vector<std::byte> source = pattern(70'000);
  const Result<RemoteSlice> window = pair.server->expose(slice_of(source), Access::kRemoteRead);
  TcpPair tcp;
  Reason why;
  auto offer = pair.client_port->upgrade()->offer(why);
  BOOST_REQUIRE(offer.has_value());
  auto request = pair.server_port->upgrade()->begin(offer->invitation, kMeetingToken);
  BOOST_REQUIRE(
      await(pair.both(), pair.server_port, CompletionKind::kUpgradeReady, kMeetingToken).status.ok());
  auto server =
      pair.server_port->upgrade()->adopt(std::move(*request), tcp.server.get(), {{}, pair.depths}, 12);
  auto client =
      pair.client_port->upgrade()->adopt(std::move(offer->pending), tcp.client.get(), {{}, pair.depths}, 11);
  BOOST_REQUIRE(server.has_value() && client.has_value());
  const Result<RemoteSlice> other = (*server)->expose(slice_of(source), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value() && other.has_value());
  std::vector<std::vector<std::byte>> sinks(128, std::vector<std::byte>(source.size()));
  for (std::uint64_t i = 0; i < 64; ++i) {
    BOOST_REQUIRE(pair.client->post_read(slice_of(sinks[2 * i]), *window, i).ok());
    BOOST_REQUIRE((*client)->post_read(slice_of(sinks[2 * i + 1]), *other, i).ok());
  }
  BOOST_TEST(pair.client->post_read(slice_of(sinks[0]), *window, 64).error() == EAGAIN);
  for (std::uint64_t i = 0; i < 64; ++i) {
    BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == i);
    BOOST_TEST(await(pair.both(), pair.client_port, CompletionKind::kRead, 11).token == i);
  }
  for (const auto& sink : sinks) BOOST_TEST((sink == source));
}

BOOST_AUTO_TEST_CASE(a_region_that_is_gone_is_not_named_to_peers) {
  LinkPair pair;
  pair.join();
  std::vector<std::byte> sink(1000);
  for (int round = 0; round < 3; ++round) {
    Memory memory(&pair.server_port.provider(), 100'000, true);
    memory.fill(pattern(100'000, static_cast<unsigned>(round)));
    const Result<RemoteSlice> window = pair.server->expose(memory.slice(500, 1000), Access::kRemoteRead);
    BOOST_REQUIRE(window.has_value());
    BOOST_REQUIRE(pair.client->post_read(slice_of(sink), *window, 1).ok());
    BOOST_TEST(pair.client_gets(CompletionKind::kRead).status.ok());
    BOOST_TEST(std::equal(sink.begin(), sink.end(), memory.span().begin() + 500));
    BOOST_TEST(pair.server->withdraw(window->key).ok());
  }
  // Expect: the port hears of it although nobody calls it.
  drive_until(pair.both(), [] { return true; });
  pair.server_port->arm();
  pair.server_port->disarm();
  pair.server_port.turn();
}

BOOST_AUTO_TEST_SUITE_END()
