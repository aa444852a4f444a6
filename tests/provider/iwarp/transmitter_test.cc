// The send queue: whatever the socket takes at a time, the stream is right and every post ends once.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <deque>
#include <map>

#include "base/guarded_copy.h"
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
    const bool in_order = kind == MessageKind::kShort || tokens.empty() || tokens.back() < token;
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
        send(std::span(source).first(size / 3), std::span(source).subspan(size / 3));
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
  // By the short way if that is open, with a socket that takes any part of it but none at all. Such a send is over at once.
  void send(std::span<const std::byte> header, std::span<const std::byte> payload) {
    if (!transmitter.may_send_short(header.size() + payload.size()) || exs::test::draw_bool())
      return transmitter.queue_send(header, payload, posted);
    --posted;
    ++shorts;
    Transmitter::ShortFrame frame;
    const std::size_t bytes = transmitter.build_short(frame, header, payload);
    const auto taken = exs::test::draw<std::size_t>(1, bytes);
    wire.insert(wire.end(), frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(taken));
    transmitter.short_left(std::span(frame).first(bytes), taken);
  }
  // Moves at most `limit` bytes from the transmitter to `wire`.
  std::size_t pull(std::size_t limit) {
    return pull(limit, static_cast<std::size_t>(exs::test::draw(1, 20)));
  }
  // Likewise from so many pieces of memory at most.
  std::size_t pull(std::size_t limit, std::size_t pieces) {
    std::vector<iovec> entries(pieces);
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
  int shorts = 0;
  int reads = 0;
  std::deque<Bytes> sources;
  Bytes wire;
  Ends ends;
  ChunkPool chunks;
  ReadBudget budget{16, 0};
  Transmitter transmitter{ends, chunks, budget};
};

constexpr std::size_t kAll = 100'000;

// The rests of short sends, which are nobody's.
int rests(Ends& ends) {
  return static_cast<int>(ends.by_kind[static_cast<int>(MessageKind::kShort)].size());
}

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
    EXS_HOLD(rig.ends.left == static_cast<int>(rig.posted) + rests(rig.ends));
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
    EXS_HOLD(rig.ends.ended == static_cast<int>(rig.posted) + rests(rig.ends));
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

BOOST_AUTO_TEST_CASE(the_short_way_makes_the_frame_of_the_whole_way) {
  for (const bool crc : {false, true}) {
    const Bytes payload(77, std::byte{0x3C});
    const auto header = std::span(payload).first(9);
    Rig whole(crc, kPayloadMax);
    Rig brief(crc, kPayloadMax);
    for (Rig* const rig : {&whole, &brief}) {  // until there is memory to spare
      rig->transmitter.queue_send(header, payload, 1);
      while (rig->pull(kAll, 9) > 0) continue;
      rig->wire.clear();
    }
    whole.transmitter.queue_send(header, payload, 2);
    while (whole.pull(kAll, 9) > 0) continue;
    BOOST_REQUIRE(brief.transmitter.may_send_short(header.size() + payload.size()));
    Transmitter::ShortFrame frame;
    const std::size_t bytes = brief.transmitter.build_short(frame, header, payload);
    BOOST_TEST(to_hex(std::span(frame).first(bytes)) == to_hex(whole.wire));
  }
}

BOOST_AUTO_TEST_CASE(nothing_overtakes_by_the_short_way) {
  Rig rig(false, kPayloadMax);
  const Bytes payload(64);
  BOOST_TEST(!rig.transmitter.may_send_short(64));  // no memory for a rest yet
  rig.transmitter.queue_send({}, payload, 1);
  while (rig.pull(kAll, 9) > 0) continue;
  BOOST_TEST(rig.transmitter.may_send_short(Transmitter::kShortMax));
  BOOST_TEST(!rig.transmitter.may_send_short(Transmitter::kShortMax + 1));

  // Act: one that waits whole, one that has left in part, the rest of a short one.
  rig.transmitter.queue_send({}, payload, 2);
  BOOST_TEST(!rig.transmitter.may_send_short(64));
  BOOST_TEST(rig.pull(10, 9) == 10U);
  BOOST_TEST(!rig.transmitter.may_send_short(64));
  while (rig.pull(kAll, 9) > 0) continue;
  Transmitter::ShortFrame frame;
  const std::size_t bytes = rig.transmitter.build_short(frame, {}, payload);
  rig.transmitter.short_left(std::span(frame).first(bytes), 1);
  BOOST_TEST(!rig.transmitter.may_send_short(64));
  BOOST_TEST(rig.pull(kAll, 9) == bytes - 1);
  BOOST_TEST(rig.transmitter.may_send_short(64));
}

#if defined(__x86_64__)
BOOST_AUTO_TEST_CASE(a_short_send_of_memory_that_is_gone_is_not_built) {
  const FaultWatch watch;
  constexpr std::size_t kPage = 4096;
  void* const gone = ::mmap(nullptr, kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  BOOST_REQUIRE(gone != MAP_FAILED);
  Rig rig(false, kPayloadMax);
  Transmitter::ShortFrame frame;
  BOOST_TEST(rig.transmitter.build_short(frame, {}, {static_cast<const std::byte*>(gone), 64}) == 0U);
  ::munmap(gone, kPage);
}
#endif

BOOST_AUTO_TEST_SUITE_END()
