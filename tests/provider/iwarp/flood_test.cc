// Frames that cost their sender nothing, in a flood: one look of the port takes a bounded number of them, however
// many wait, and what another connection says is heard in that look.
// SPDX-License-Identifier: BSD-2-Clause
#include <netinet/tcp.h>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

#include "tests/provider/iwarp/byte_peer.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace flood_test {

constexpr std::uint64_t kOtherToken = 3;
constexpr std::uint32_t kFramesPerMark = 64;
// What a look may take: the budget, and the rest of the receive that went beyond it.
constexpr std::uint32_t kFramesPerLookMax = 8192;

// A connection whose peer floods it, and one of the same port that does not.
struct Flood : ServedBytePeer {
  Flood() {
    const int room = 4 << 20;
    ::setsockopt(listening.socket.get(), SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    const Bytes reply = join(mpa_request(), mpa_reply(0x10, 2, from_hex("00080008")).size());
    BOOST_REQUIRE(!reply.empty());
    const Result<RemoteSlice> window = link->expose(slice_of(mark), Access::kRemoteWrite);
    BOOST_REQUIRE(window.has_value());
    key = window->key;
    BOOST_REQUIRE(link->post_recv(slice_of(first), 1).ok());
    join_other();
  }
  void join_other() {
    other_peer = connect_to(listening);
    const int at_once = 1;
    ::setsockopt(other_peer.get(), IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
    write_all(other_peer, mpa_request());
    await(driver, CompletionKind::kRequest, kListenerToken);
    std::unique_ptr<ConnectionRequest> request = listener->next_request();
    other_socket = Socket(request->release_descriptor());
    auto accepted = driver->connector()->accept(std::move(request), other_socket.get(),
                                                {{}, {16, 16, 16, 16}}, kOtherToken);
    BOOST_REQUIRE(accepted.has_value());
    other = std::move(*accepted);
    await(driver, CompletionKind::kEstablished, kOtherToken);
  }

  // Frames `empty`, every 64th replaced by one that counts them in the window, until the kernel takes no more.
  void fill_with(const Bytes& empty) {
    for (std::uint32_t marks = 1;; ++marks) {
      Bytes group;
      for (std::uint32_t i = 1; i < kFramesPerMark; ++i)
        group.insert(group.end(), empty.begin(), empty.end());
      Bytes count;
      append_number(count, marks, 4);
      const Bytes counting = write_fpdu(key, 0, count);
      group.insert(group.end(), counting.begin(), counting.end());
      const ssize_t sent = ::send(peer.get(), group.data(), group.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (sent != static_cast<ssize_t>(group.size())) return;
      sent_frames = marks * kFramesPerMark;
    }
  }
  std::uint32_t frames_taken() const {
    std::uint32_t marks = 0;
    for (const std::byte byte : mark) marks = marks << 8 | std::to_integer<std::uint32_t>(byte);
    return marks * kFramesPerMark;
  }

  void every_look_is_bounded() {
    BOOST_TEST_MESSAGE("frames in the kernel: " << sent_frames);
    BOOST_REQUIRE(sent_frames > 2 * kFramesPerLookMax);
    std::byte room[8];
    std::uint32_t most = 0;
    std::uint32_t before = 0;
    std::uint32_t unheard_most = 0;
    for (std::uint32_t number = 1; frames_taken() < sent_frames; ++number) {
      BOOST_REQUIRE(other->post_recv(slice_of(room), number).ok());
      write_all(other_peer, send_fpdu(number, from_hex("01")));
      std::uint32_t unheard = 0;
      do {
        driver.turn();
        most = std::max(most, frames_taken() - before);
        unheard += frames_taken() - std::exchange(before, frames_taken());
      } while (!driver.take(CompletionKind::kReceive, kOtherToken));
      unheard_most = std::max(unheard_most, unheard);
    }
    BOOST_TEST_MESSAGE("most frames in one look: " << most
                                                   << ", until the other was heard: " << unheard_most);
    BOOST_TEST(unheard_most <= 2 * kFramesPerLookMax);
    BOOST_TEST(most > 0U);
    BOOST_TEST(most <= kFramesPerLookMax);
  }

  std::byte mark[4] = {};
  std::byte first[8];
  std::uint32_t key = 0;
  std::uint32_t sent_frames = 0;
  Socket other_peer;
  Socket other_socket;
  std::unique_ptr<Link> other;
};

}  // namespace flood_test

BOOST_FIXTURE_TEST_SUITE(flood_test, Flood)

BOOST_AUTO_TEST_CASE(empty_writes) {
  fill_with(write_fpdu(0, 0, {}));
  every_look_is_bounded();
}

BOOST_AUTO_TEST_CASE(empty_segments_of_a_message_without_an_end) {
  Untagged segment;
  segment.ddp = 0x01;
  fill_with(untagged_fpdu(segment, {}));
  every_look_is_bounded();
}

// They are answered as the peer takes the answers, and it may ask no more at once than was agreed.
BOOST_AUTO_TEST_CASE(reads_of_nothing) {
  for (std::uint32_t number = 1; number <= 16; ++number)
    write_all(peer, read_request_fpdu(number, 1, 0, 0, 0));
  const Bytes answers = read_from(driver, peer, std::size_t{16} * 20);
  BOOST_TEST(answers.size() == std::size_t{16} * 20);
  Bytes all_at_once;
  for (std::uint32_t number = 17; number <= 1000; ++number) {
    const Bytes request = read_request_fpdu(number, 1, 0, 0, 0);
    all_at_once.insert(all_at_once.end(), request.begin(), request.end());
  }
  write_all(peer, all_at_once);
  BOOST_TEST(await(driver, CompletionKind::kDisconnected, kServerToken).status.error() == EPROTO);
  std::byte room[8];
  BOOST_REQUIRE(other->post_recv(slice_of(room), 1).ok());
  write_all(other_peer, send_fpdu(1, from_hex("01")));
  await(driver, CompletionKind::kReceive, kOtherToken);
}

BOOST_AUTO_TEST_SUITE_END()
