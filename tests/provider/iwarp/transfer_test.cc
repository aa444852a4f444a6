// SEND, WRITE and READ over sockets with little room, on both backends. What every link promises is tested in
// tests/contract/.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include "tests/provider/iwarp/link_pair.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;
namespace data = boost::unit_test::data;

namespace transfer_test {

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

}  // namespace transfer_test

BOOST_AUTO_TEST_SUITE(transfer_test)

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
