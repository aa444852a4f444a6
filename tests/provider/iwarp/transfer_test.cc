// SEND, WRITE and READ of all sizes between two ports over loopback TCP, on both backends.
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/provider/iwarp/link_pair.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t kSizes[] = {0,    1,    2,     3,     4,     5,     511,    512,    513,      1436,
                                  4096, 8191, 65471, 65472, 65473, 65536, 130944, 200001, 3'000'000};
constexpr std::size_t kMessageSizes[] = {0, 1, 2, 3, 4, 5, 511, 512, 513, 1436, 4096, 64999, 65000};

// How a run differs: backend, CRC, and whether the peers cut at segment size as strangers do.
PairOptions variant(int number) {
  PairOptions options;
  options.client.backend = (number & 1) != 0 ? BackendChoice::kUring : BackendChoice::kEpoll;
  options.as_engine = (number & 1) != 0;
  options.client.want_crc = (number & 2) != 0;
  options.client.payload_max = (number & 4) != 0 ? 1436 : kPayloadMax;
  options.server = options.client;
  return options;
}

const auto kVariants = data::xrange(8);

}  // namespace

BOOST_AUTO_TEST_SUITE(transfer_test)

BOOST_DATA_TEST_CASE(messages_of_all_sizes_arrive_in_order, kVariants, number) {
  LinkPair pair(variant(number));
  pair.join();
  std::vector<std::vector<std::byte>> rooms(std::size(kMessageSizes), std::vector<std::byte>(65000));
  for (std::size_t i = 0; i < rooms.size(); ++i) {
    BOOST_REQUIRE(pair.server->post_recv(slice_of(rooms[i]), i).ok());
  }
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t bytes : kMessageSizes) {
    sent.push_back(pattern(bytes, static_cast<unsigned>(bytes)));
    const std::size_t header = std::min<std::size_t>(bytes, bytes % 7 * 20);
    std::span<std::byte> whole = sent.back();
    BOOST_REQUIRE(
        pair.client->post_send(whole.first(header), slice_of(whole.subspan(header)), sent.size()).ok());
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Completion received = pair.server_gets(CompletionKind::kReceive);
    BOOST_TEST(received.status.ok());
    BOOST_REQUIRE(received.length_bytes == sent[i].size());
    // Expect: in whichever room, each of them used once and filled no further than the message goes.
    BOOST_REQUIRE(received.token < rooms.size());
    std::vector<std::byte> room = std::exchange(rooms[received.token], {});
    BOOST_REQUIRE(room.size() == 65000U);
    BOOST_TEST(std::all_of(room.begin() + received.length_bytes, room.end(),
                           [](std::byte byte) { return byte == std::byte{0}; }));
    room.resize(received.length_bytes);
    BOOST_TEST((room == sent[i]));
    const Completion left = pair.client_gets(CompletionKind::kSend);
    BOOST_TEST(left.status.ok());
    BOOST_TEST(left.token == i + 1);
  }
}

BOOST_DATA_TEST_CASE(reads_of_all_sizes_bring_the_bytes, kVariants, number) {
  LinkPair pair(variant(number));
  pair.join();
  std::vector<std::byte> source = pattern(3'000'000);
  const Result<RemoteSlice> window = pair.server->expose(slice_of(source), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  std::vector<std::vector<std::byte>> sinks;
  std::size_t done = 0;
  for (const std::size_t bytes : kSizes) {
    sinks.emplace_back(bytes);
    RemoteSlice from = *window;
    from.address += source.size() - bytes;
    from.length_bytes = bytes;
    Status status = pair.client->post_read(slice_of(sinks.back()), from, sinks.size());
    while (status == Status(EAGAIN)) {
      BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == ++done);
      status = pair.client->post_read(slice_of(sinks.back()), from, sinks.size());
    }
    BOOST_REQUIRE(status.ok());
  }
  while (done < sinks.size()) {
    const Completion read = pair.client_gets(CompletionKind::kRead);
    BOOST_TEST(read.status.ok());
    BOOST_TEST(read.token == ++done);
  }
  for (const std::vector<std::byte>& sink : sinks) {
    BOOST_TEST((sink == std::vector<std::byte>(source.end() - static_cast<long>(sink.size()), source.end())));
  }
}

BOOST_DATA_TEST_CASE(a_message_posted_after_a_write_finds_its_bytes, kVariants, number) {
  LinkPair pair(variant(number));
  pair.join();
  pair.first_message();
  std::vector<std::byte> target(3'000'100);
  const Result<RemoteSlice> window = pair.client->expose(slice_of(target), Access::kRemoteWrite);
  BOOST_REQUIRE(window.has_value());
  for (const std::size_t bytes : kSizes) {
    std::vector<std::byte> source = pattern(bytes, static_cast<unsigned>(bytes + 3));
    RemoteSlice to = *window;
    to.address += 50;
    to.length_bytes = bytes;
    std::byte room[4];
    BOOST_REQUIRE(pair.client->post_recv({room, sizeof room, {}}, bytes).ok());
    BOOST_REQUIRE(pair.server->post_write(slice_of(source), to, bytes).ok());
    BOOST_REQUIRE(pair.server->post_send(bytes_of("done"), {}, bytes).ok());
    BOOST_TEST(pair.client_gets(CompletionKind::kReceive).status.ok());
    BOOST_TEST((std::equal(source.begin(), source.end(), target.begin() + 50)));
    BOOST_TEST((target[49] == std::byte{0} && target[50 + 3'000'000] == std::byte{0}));
    BOOST_TEST(pair.server_gets(CompletionKind::kWrite).token == bytes);
    BOOST_TEST(pair.server_gets(CompletionKind::kSend).token == bytes);
  }
}

BOOST_DATA_TEST_CASE(both_directions_at_once, kVariants, number) {
  LinkPair pair(variant(number));
  pair.join();
  pair.first_message();
  constexpr std::size_t kRounds = 8;
  std::vector<std::byte> client_memory = pattern(1'000'000, 5);
  std::vector<std::byte> server_memory = pattern(1'000'000, 9);
  std::vector<std::byte> client_sink(client_memory.size());
  std::vector<std::byte> server_sink(server_memory.size());
  const Result<RemoteSlice> at_client = pair.client->expose(slice_of(client_memory), Access::kRemoteRead);
  const Result<RemoteSlice> at_server = pair.server->expose(slice_of(server_memory), Access::kRemoteRead);
  std::vector<std::byte> rooms(kRounds * 64);
  for (std::size_t i = 0; i < kRounds; ++i) {
    BOOST_REQUIRE(pair.client->post_read(slice_of(client_sink), *at_server, i).ok());
    BOOST_REQUIRE(pair.server->post_read(slice_of(server_sink), *at_client, i).ok());
    BOOST_REQUIRE(pair.client->post_recv({rooms.data() + 64 * i, 64, {}}, i).ok());
    BOOST_REQUIRE(pair.server->post_send(bytes_of("between the answers"), {}, i).ok());
  }
  for (std::size_t i = 0; i < kRounds; ++i) {
    BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == i);
    BOOST_TEST(pair.server_gets(CompletionKind::kRead).token == i);
    BOOST_TEST(pair.client_gets(CompletionKind::kReceive).length_bytes == 19U);
  }
  BOOST_TEST((client_sink == server_memory));
  BOOST_TEST((server_sink == client_memory));
}

// Small socket buffers cut sends and receives at odd places.
BOOST_DATA_TEST_CASE(narrow_sockets_lose_nothing, kVariants, number) {
  LinkPair pair(variant(number));
  const int narrow = 5000;
  for (const int socket : {pair.client_socket.get(), pair.listening.socket.get()}) {
    BOOST_REQUIRE(::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &narrow, sizeof narrow) == 0);
    BOOST_REQUIRE(::setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &narrow, sizeof narrow) == 0);
  }
  pair.join();
  pair.first_message();
  std::vector<std::byte> source = pattern(300'001);
  std::vector<std::byte> sink(source.size());
  std::vector<std::byte> target(source.size());
  std::vector<std::byte> room(30'000);
  const Result<RemoteSlice> readable = pair.server->expose(slice_of(source), Access::kRemoteRead);
  const Result<RemoteSlice> writable = pair.server->expose(slice_of(target), Access::kRemoteWrite);
  BOOST_REQUIRE(pair.server->post_recv(slice_of(room), 1).ok());
  BOOST_REQUIRE(pair.client->post_read(slice_of(sink), *readable, 2).ok());
  BOOST_REQUIRE(pair.client->post_write(slice_of(source), *writable, 3).ok());
  BOOST_REQUIRE(pair.client->post_send(bytes_of("head"), {source.data(), room.size() - 4, {}}, 4).ok());
  BOOST_TEST(pair.client_gets(CompletionKind::kRead).status.ok());
  BOOST_TEST(pair.server_gets(CompletionKind::kReceive).length_bytes == room.size());
  BOOST_TEST((sink == source));
  BOOST_TEST((target == source));
  BOOST_TEST((std::equal(room.begin() + 4, room.end(), source.begin())));
}

BOOST_AUTO_TEST_SUITE_END()
