// The send queue: whatever the socket takes at a time, the stream is right and every post ends once.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <map>

#include "src/provider/iwarp/transmitter.h"
#include "tests/provider/iwarp/frames.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::iwarp;
using namespace exs::iwarp::test;

namespace transmitter_test {

struct Ends : TransmitterClient {
  void message_left(MessageKind kind, std::uint64_t token) override { note(kind, token, 'l'); }
  void message_dropped(MessageKind kind, std::uint64_t token) override { note(kind, token, 'd'); }
  void note(MessageKind kind, std::uint64_t token, char how) {
    auto& tokens = by_kind[static_cast<int>(kind)];
    // Posts of one kind end in post order.
    const bool in_order = tokens.empty() || tokens.back() < token;
    EXS_HOLD(in_order);
    tokens.push_back(token);
    if (how == 'l') ++left;
    ++ended;
  }
  std::map<int, std::vector<std::uint64_t>> by_kind;
  int left = 0;
  int ended = 0;
};

// Around the size of a frame, or any.
std::size_t draw_size() {
  switch (exs::test::draw_index(3)) {
    case 0: return exs::test::draw<std::size_t>(0, 5);
    case 1: return exs::test::draw<std::size_t>(500, 530);
    default: return exs::test::draw<std::size_t>(0, 900);
  }
}

std::uint32_t one_of(const std::vector<std::uint32_t>& values) {
  return values[exs::test::draw_index(values.size())];
}

struct Rig {
  explicit Rig(bool crc_on, std::uint32_t payload_max) : crc(crc_on) {
    transmitter.configure(crc, payload_max, payload_max);
    transmitter.open();
  }

  // Posts something random; the receiver is prepared for it. Its bytes stay where they are.
  void post(const ReceiverRig& peer) {
    const auto size = draw_size();
    sources.emplace_back(size);
    for (std::byte& byte : sources.back()) byte = static_cast<std::byte>(++fill);
    const Bytes& source = sources.back();
    ++posted;
    switch (exs::test::draw(0, 3)) {
      case 0:
        if (++sends > 4) {
          --posted;
          return;
        }
        transmitter.queue_send(std::span(source).first(size / 3), std::span(source).subspan(size / 3),
                               posted);
        return;
      case 1: transmitter.queue_write(source, peer.write_stag, 1000 - size, posted); return;
      default:
        if (++reads > 2) {
          --posted;
          return;
        }
        transmitter.queue_read({3, 0, 10, peer.read_stag, 0}, posted);
    }
  }
  // Moves at most `limit` bytes from the transmitter to `wire`.
  std::size_t pull(std::size_t limit) {
    std::vector<iovec> entries(static_cast<std::size_t>(exs::test::draw(1, 20)));
    const std::size_t count = transmitter.gather(entries);
    std::size_t moved = 0;
    for (std::size_t i = 0; i < count && moved < limit; ++i) {
      const std::size_t bytes = std::min(entries[i].iov_len, limit - moved);
      const auto* start = static_cast<const std::byte*>(entries[i].iov_base);
      wire.insert(wire.end(), start, start + bytes);
      moved += bytes;
    }
    transmitter.sent(moved);
    return moved;
  }

  bool crc;
  unsigned fill = 0;
  std::uint64_t posted = 0;
  int sends = 0;
  int reads = 0;
  std::deque<Bytes> sources;
  Bytes wire;
  Ends ends;
  ChunkPool chunks;
  ReadBudget budget{16, 0};
  Transmitter transmitter{ends, chunks, budget};
};

}  // namespace transmitter_test

BOOST_AUTO_TEST_SUITE(transmitter_test)

BOOST_AUTO_TEST_CASE(any_partial_sends_make_the_same_stream) {
  const bool held = exs::test::holds("partial sends", [] {
    const bool crc = exs::test::draw_bool();
    const auto payload_max = one_of({kPayloadMax, 1436, 100, 4});
    ReceiverRig peer(crc, 1000);
    Rig rig(crc, payload_max);
    const int steps = exs::test::draw(1, 60);
    for (int i = 0; i < steps; ++i) {
      if (exs::test::draw_bool()) rig.post(peer);
      if (exs::test::draw_bool()) rig.pull(static_cast<std::size_t>(exs::test::draw(1, 700)));
    }
    while (rig.pull(100'000) > 0) {
    }
    EXS_HOLD(!rig.transmitter.has_work());
    EXS_HOLD(rig.ends.left == static_cast<int>(rig.posted));
    // Expect: a receiver takes it all, whatever its CRC wish.
    const bool consumed = peer.receiver.consume(rig.wire);
    exs::test::note_in_property(peer.receiver.fault().what);
    EXS_HOLD(consumed);
    EXS_HOLD(peer.receiver.at_fpdu_boundary());
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_CASE(abandoned_stream_ends_at_an_fpdu_and_every_post_once) {
  const bool held = exs::test::holds("abandon", [] {
    const bool crc = exs::test::draw_bool();
    const auto payload_max = one_of({kPayloadMax, 100});
    ReceiverRig peer(crc, 1000);
    Rig rig(crc, payload_max);
    const int steps = exs::test::draw(1, 40);
    for (int i = 0; i < steps; ++i) {
      if (exs::test::draw_bool()) rig.post(peer);
      if (exs::test::draw_bool()) rig.pull(static_cast<std::size_t>(exs::test::draw(1, 700)));
    }
    rig.transmitter.abandon();
    EXS_HOLD(rig.ends.ended == static_cast<int>(rig.posted));
    const TerminateFrame words = make_terminate(kNoReceive, {}, crc);
    rig.transmitter.queue_terminate(std::span(words.bytes).first(words.length));
    while (rig.pull(100'000) > 0) {
    }
    // Expect: the peer reads our last words behind a whole FPDU.
    peer.receiver.consume(rig.wire);
    exs::test::note_in_property(peer.receiver.fault().what);
    EXS_HOLD(peer.receiver.state() == ReceiverState::kTerminated);
    EXS_HOLD(to_hex(peer.receiver.terminate_word()) == "12020000");
  });
  BOOST_TEST(held);
}

BOOST_AUTO_TEST_SUITE_END()
