// What every Link promises (src/provider/provider.h), whoever provides it.
// SPDX-License-Identifier: BSD-2-Clause
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <list>
#include <map>

#include "tests/contract/link_pair.h"

using namespace exs;
using namespace exs::contract;
namespace data = boost::unit_test::data;

namespace link_test {

constexpr std::size_t kMessageSizes[] = {0,   1,   2,   3,   4,   5,    111,  112,   113,
                                         232, 233, 511, 512, 513, 1436, 4096, 64999, 65000};
constexpr std::size_t kSizes[] = {0,     1,     2,      3,      4,       5,       511,      512,   513,
                                  1436,  4096,  4097,   8191,   16385,   65471,   65472,    65473, 65535,
                                  65536, 65537, 130944, 200001, 1048576, 1048577, 3'000'000};
constexpr std::size_t kMemoryBytes = 3'000'100;

const auto kVariants = data::xrange(variants());

// The protocol moves no empty pieces, so not every link can.
bool can_move(const Pair& pair, std::size_t bytes) {
  return bytes > 0 || (!pair.is_fake() && pair.provider->id() != ProviderId::kVerbs);
}

// How many completions there are of each kind, and with which error they all came.
struct Tally {
  int count = 0;
  std::map<int, int> errors;
};
std::map<CompletionKind, Tally> tally(const End& end) {
  std::map<CompletionKind, Tally> found;
  for (const Completion& one : end.seen) {
    ++found[one.kind].count;
    ++found[one.kind].errors[one.status.error()];
  }
  return found;
}

std::string text_of(std::span<const std::byte> bytes, std::size_t length) {
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), length)};
}

class Taker final : public MessageTaker {
 public:
  bool take(const ArrivingMessage& message) override {
    shown.emplace_back(message.length_bytes());
    message.copy(0, shown.back());
    return takes;
  }
  bool takes = true;
  std::vector<std::vector<std::byte>> shown;
};

}  // namespace link_test

BOOST_AUTO_TEST_SUITE(link_test)

BOOST_DATA_TEST_CASE(messages_of_all_sizes_arrive_in_order, kVariants, variant) {
  Pair pair(variant);
  const std::size_t room_bytes = pair.message_bytes_max();
  std::list<Memory> rooms;
  std::vector<Memory*> unused;
  for (std::size_t i = 0; i < std::size(kMessageSizes); ++i) {
    unused.push_back(&rooms.emplace_back(pair, room_bytes));
    BOOST_REQUIRE(pair.server().post_recv(unused.back()->slice(), i).ok());
  }
  std::list<Memory> payloads;
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t bytes : kMessageSizes) {
    if (bytes > room_bytes) continue;
    sent.push_back(pattern(bytes, static_cast<unsigned>(bytes)));
    const std::size_t header = std::min<std::size_t>(bytes, bytes % 7 * 20);
    Memory& payload = payloads.emplace_back(pair, std::span(sent.back()).subspan(header));
    BOOST_REQUIRE(
        pair.client().post_send(std::span(sent.back()).first(header), payload.slice(), sent.size()).ok());
  }
  for (std::size_t i = 0; i < sent.size(); ++i) {
    const Completion received = pair.server_gets(CompletionKind::kReceive);
    BOOST_TEST(received.status.ok());
    BOOST_REQUIRE(received.length_bytes == sent[i].size());
    // Expect: in whichever room, each of them used once and filled no further than the message goes.
    BOOST_REQUIRE(received.token < unused.size());
    Memory* const room = std::exchange(unused[received.token], nullptr);
    BOOST_REQUIRE(room != nullptr);
    BOOST_TEST(room->holds(sent[i]));
    BOOST_TEST(std::all_of(room->span().begin() + received.length_bytes, room->span().end(),
                           [](std::byte byte) { return byte == std::byte{0}; }));
    const Completion left = pair.client_gets(CompletionKind::kSend);
    BOOST_TEST(left.status.ok());
    BOOST_TEST(left.token == i + 1);
  }
}

// What cannot leave at once is posted, behind what did.
BOOST_DATA_TEST_CASE(messages_that_leave_at_once_and_others_arrive_in_order, kVariants, variant) {
  constexpr std::size_t kMessages = 40;
  Pair pair(variant);
  std::list<Memory> rooms;
  for (std::size_t i = 0; i < kMessages; ++i)
    BOOST_REQUIRE(pair.server().post_recv(rooms.emplace_back(pair, 100).slice(), i).ok());
  std::list<Memory> payloads;
  std::size_t posted = 0;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Memory& payload = payloads.emplace_back(pair, pattern(60, static_cast<unsigned>(i)));
    const bool left = i % 3 > 0 && pair.client().send_now(bytes_of("head"), payload.slice()).ok();
    if (left) {
      std::fill(payloads.back().span().begin(), payloads.back().span().end(), std::byte{0});
    } else {
      BOOST_REQUIRE(pair.client().post_send(bytes_of("head"), payload.slice(), posted++).ok());
    }
  }
  std::map<std::uint64_t, const Memory*> by_token;
  std::uint64_t token = 0;
  for (const Memory& room : rooms) by_token[token++] = &room;
  for (std::size_t i = 0; i < kMessages; ++i) {
    const Completion received = pair.server_gets(CompletionKind::kReceive);
    BOOST_REQUIRE(received.length_bytes == 64U);
    const auto got = by_token.at(received.token)->span();
    BOOST_TEST(text_of(got, 4) == "head");
    const auto sent = pattern(60, static_cast<unsigned>(i));
    BOOST_TEST(std::equal(sent.begin(), sent.end(), got.begin() + 4));
  }
  for (std::size_t i = 0; i < posted; ++i) BOOST_TEST(pair.client_gets(CompletionKind::kSend).token == i);
  BOOST_TEST(pair.client_end->seen.empty());
}

// A provider need not show any.
BOOST_DATA_TEST_CASE(a_message_that_is_taken_at_its_arrival_uses_up_no_receive, kVariants, variant) {
  Pair pair(variant);
  const Memory room(pair, 64);
  BOOST_REQUIRE(pair.server().post_recv(room.slice(), 7).ok());
  Taker taker;
  pair.server().show_messages_to(taker);
  BOOST_REQUIRE(pair.client().post_send(bytes_of("taken"), {}, 1).ok());
  const auto received = [&] { return !pair.server_end->seen.empty(); };
  const auto& shown = taker.shown;
  pair.drive_until([&] { return !shown.empty() || received(); });
  if (shown.empty()) return;
  BOOST_TEST(text_of(shown[0], SIZE_MAX) == "taken");
  BOOST_TEST(!received());

  taker.takes = false;
  BOOST_REQUIRE(pair.client().post_send(bytes_of("left"), {}, 2).ok());
  const Completion left = pair.server_gets(CompletionKind::kReceive);
  BOOST_TEST(left.token == 7U);
  BOOST_TEST(left.length_bytes == 4U);
  BOOST_TEST(text_of(room.span(), 4) == "left");
  BOOST_TEST(shown.size() == 2U);
}

// The end of a link may follow from a message.
BOOST_DATA_TEST_CASE(a_taker_may_close_the_link, kVariants, variant) {
  class Closer final : public MessageTaker {
   public:
    explicit Closer(Link& link) : link_(link) {}
    bool take(const ArrivingMessage&) override {
      link_.close();
      was_shown = true;
      return true;
    }
    bool was_shown = false;

   private:
    Link& link_;
  };
  Pair pair(variant);
  const Memory room(pair, 64);
  BOOST_REQUIRE(pair.server().post_recv(room.slice(), 7).ok());
  Closer closer(pair.server());
  pair.server().show_messages_to(closer);
  for (std::uint64_t i = 0; i < 3; ++i)
    BOOST_REQUIRE(pair.client().post_send(bytes_of("the end"), {}, i).ok());
  const Completion cut = pair.server_gets(CompletionKind::kReceive);
  BOOST_TEST(cut.status.error() == (closer.was_shown ? ECANCELED : 0));
}

BOOST_DATA_TEST_CASE(the_peers_private_data_are_told, kVariants, variant) {
  Pair pair(variant);
  if (pair.is_fake()) return;  // it is joined without
  const bool padded = pair.provider->id() == ProviderId::kVerbs;
  BOOST_TEST(text_of(pair.server().private_data(), padded ? 5 : SIZE_MAX) == "hello");
  BOOST_TEST(text_of(pair.client().private_data(), padded ? 7 : SIZE_MAX) == "welcome");
}

BOOST_DATA_TEST_CASE(reads_of_all_sizes_bring_the_bytes, kVariants, variant) {
  Pair pair(variant);
  const Memory source(pair, pattern(kMemoryBytes));
  const auto window = pair.server().expose(source.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  std::list<Memory> sinks;
  std::size_t done = 0;
  for (const std::size_t bytes : kSizes) {
    if (!can_move(pair, bytes)) continue;
    sinks.emplace_back(pair, bytes);
    RemoteSlice from = *window;
    from.address += kMemoryBytes - bytes;
    from.length_bytes = bytes;
    // The depth is kept, by whoever posts.
    if (sinks.size() - done > kDepths.reads_out)
      BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == ++done);
    BOOST_REQUIRE(pair.client().post_read(sinks.back().slice(), from, sinks.size()).ok());
  }
  while (done < sinks.size()) {
    const Completion read = pair.client_gets(CompletionKind::kRead);
    BOOST_TEST(read.status.ok());
    BOOST_TEST(read.token == ++done);
  }
  for (const Memory& sink : sinks) BOOST_TEST(sink.holds(source.span().last(sink.span().size())));
  pair.drive_until([&] { return pair.server().withdraw(window->key).ok(); });
}

// A provider need not read at once; what it reads so is all there, and no completion says so.
BOOST_DATA_TEST_CASE(a_read_at_once_has_its_bytes_or_is_posted, kVariants, variant) {
  Pair pair(variant);
  pair.first_message();
  const Memory source(pair, pattern(kMemoryBytes));
  const auto window = pair.server().expose(source.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(window.has_value());
  std::list<Memory> sinks;
  std::uint64_t posted = 0;
  for (const std::size_t bytes : kSizes) {
    if (!can_move(pair, bytes)) continue;
    Memory& sink = sinks.emplace_back(pair, bytes);
    RemoteSlice from = *window;
    from.address += kMemoryBytes - bytes;
    from.length_bytes = bytes;
    const Status now = pair.client().read_now(sink.slice(), from);
    BOOST_TEST((now.ok() || now == Status(EAGAIN)));
    if (now.ok()) {
      BOOST_TEST(pair.client().reads_now());
      BOOST_TEST(pair.client_end->seen.empty());
    } else {
      BOOST_REQUIRE(pair.client().post_read(sink.slice(), from, ++posted).ok());
      BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == posted);
    }
    BOOST_TEST(sink.holds(source.span().last(bytes)));
  }
  BOOST_TEST(pair.client_end->seen.empty());
  // Expect: never more than the window.
  const Memory long_sink(pair, 64);
  RemoteSlice short_part = *window;
  short_part.length_bytes = 32;
  BOOST_TEST((pair.client().read_now(long_sink.slice(), short_part) == Status(EAGAIN)));
  pair.drive_until([&] { return pair.server().withdraw(window->key).ok(); });
}

BOOST_DATA_TEST_CASE(a_message_posted_after_a_write_finds_its_bytes, kVariants, variant) {
  for (const bool by_client : {true, false}) {
    Pair pair(variant);
    pair.first_message();
    End& from = by_client ? *pair.client_end : *pair.server_end;
    End& at = by_client ? *pair.server_end : *pair.client_end;
    const Memory target(pair, kMemoryBytes);
    const auto window = at.link().expose(target.slice(), Access::kRemoteWrite);
    BOOST_REQUIRE(window.has_value());
    for (const std::size_t bytes : kSizes) {
      if (!can_move(pair, bytes)) continue;
      const Memory source(pair, pattern(bytes, static_cast<unsigned>(bytes + 3)));
      std::memset(target.span().data(), 0, kMemoryBytes);
      const Memory room(pair, 8);
      RemoteSlice to = *window;
      to.address += 50;
      to.length_bytes = bytes;
      BOOST_REQUIRE(at.link().post_recv(room.slice(), bytes).ok());
      BOOST_REQUIRE(from.link().post_write(source.slice(), to, bytes).ok());
      BOOST_REQUIRE(from.link().post_send(bytes_of("done"), {}, bytes).ok());
      const Completion told = pair.await(at, CompletionKind::kReceive);
      BOOST_TEST(told.status.ok());
      BOOST_TEST(told.token == bytes);
      BOOST_TEST(target.holds(source.span(), 50));
      BOOST_TEST((target.span()[49] == std::byte{0} && target.span()[50 + bytes] == std::byte{0}));
      BOOST_TEST(pair.await(from, CompletionKind::kWrite).token == bytes);
      BOOST_TEST(pair.await(from, CompletionKind::kSend).token == bytes);
    }
  }
}

BOOST_DATA_TEST_CASE(writes_complete_in_order_and_all_arrive, kVariants, variant) {
  Pair pair(variant);
  const Memory source(pair, pattern(kMemoryBytes, 7));
  const Memory target(pair, kMemoryBytes);
  const auto window = pair.server().expose(target.slice(), Access::kRemoteWrite);
  BOOST_REQUIRE(window.has_value());
  const Memory room(pair, 8);
  BOOST_REQUIRE(pair.server().post_recv(room.slice(), 1).ok());
  std::size_t at = 0;
  std::size_t posted = 0;
  for (std::size_t bytes = 1; at < kMemoryBytes; bytes = bytes * 3 % 700'001 + 1) {
    bytes = std::min(bytes, kMemoryBytes - at);
    RemoteSlice to = *window;
    to.address += at;
    to.length_bytes = bytes;
    BOOST_REQUIRE(pair.client().post_write(source.slice(at, bytes), to, ++posted).ok());
    at += bytes;
  }
  BOOST_REQUIRE(pair.client().post_send(bytes_of("done"), {}, 1).ok());
  pair.server_gets(CompletionKind::kReceive);
  for (std::size_t i = 1; i <= posted; ++i) BOOST_TEST(pair.client_gets(CompletionKind::kWrite).token == i);
  BOOST_TEST(target.holds(source.span()));
}

BOOST_DATA_TEST_CASE(both_directions_at_once, kVariants, variant) {
  Pair pair(variant);
  pair.first_message();
  constexpr std::size_t kRounds = 8;
  const Memory client_memory(pair, pattern(1'000'000, 5));
  const Memory server_memory(pair, pattern(kMemoryBytes, 9));
  const Memory client_sink(pair, kMemoryBytes);
  const Memory server_sink(pair, 1'000'000);
  const auto at_client = pair.client().expose(client_memory.slice(), Access::kRemoteRead);
  const auto at_server = pair.server().expose(server_memory.slice(), Access::kRemoteRead);
  BOOST_REQUIRE((at_client.has_value() && at_server.has_value()));
  const Memory rooms(pair, kRounds * 64);
  for (std::size_t i = 0; i < kRounds; ++i) {
    BOOST_REQUIRE(pair.client().post_read(client_sink.slice(), *at_server, i).ok());
    BOOST_REQUIRE(pair.server().post_read(server_sink.slice(), *at_client, i).ok());
    BOOST_REQUIRE(pair.client().post_recv(rooms.slice(64 * i, 64), i).ok());
    BOOST_REQUIRE(pair.server().post_send(bytes_of("between the answers"), {}, i).ok());
  }
  for (std::size_t i = 0; i < kRounds; ++i) {
    BOOST_TEST(pair.client_gets(CompletionKind::kRead).token == i);
    BOOST_TEST(pair.server_gets(CompletionKind::kRead).token == i);
    BOOST_TEST(pair.client_gets(CompletionKind::kReceive).length_bytes == 19U);
  }
  BOOST_TEST(client_sink.holds(server_memory.span()));
  BOOST_TEST(server_sink.holds(client_memory.span()));
}

// ---------------------------------------------------------------- ends

BOOST_DATA_TEST_CASE(each_post_completes_once_also_after_close, kVariants, variant) {
  Pair pair(variant);
  pair.first_message();
  const Memory room(pair, 16);
  const Memory theirs(pair, 4);
  const auto window = pair.server().expose(theirs.slice(), Access::kRemoteReadWrite);
  BOOST_REQUIRE(window.has_value());
  BOOST_REQUIRE(pair.client().post_recv(room.slice(0, 4), 1).ok());
  BOOST_REQUIRE(pair.client().post_recv(room.slice(4, 4), 2).ok());
  BOOST_REQUIRE(pair.client().post_read(room.slice(8, 4), *window, 3).ok());
  BOOST_REQUIRE(pair.client().post_write(room.slice(12, 4), *window, 5).ok());
  pair.client().close();
  pair.drive_until([&] {
    auto found = tally(*pair.client_end);
    return found[CompletionKind::kReceive].count == 2 && found[CompletionKind::kRead].count == 1 &&
           found[CompletionKind::kWrite].count == 1;
  });
  auto found = tally(*pair.client_end);
  BOOST_TEST(found[CompletionKind::kReceive].errors[ECANCELED] == 2);
  BOOST_TEST(found[CompletionKind::kRead].errors[ECANCELED] + found[CompletionKind::kRead].errors[0] == 1);
  BOOST_TEST(found[CompletionKind::kWrite].errors[ECANCELED] + found[CompletionKind::kWrite].errors[0] == 1);
  // Expect: the peer sees an end; no kDisconnected on our side.
  pair.server_gets(CompletionKind::kDisconnected);
  BOOST_TEST(!pair.client_end->take(CompletionKind::kDisconnected));
  BOOST_TEST(pair.client().post_send({}, {}, 0).error() == ENOTCONN);
  BOOST_TEST(pair.client().post_recv(room.slice(), 0).error() == ENOTCONN);
  BOOST_TEST(pair.client().post_read(room.slice(8, 4), *window, 0).error() == ENOTCONN);
  BOOST_TEST(pair.client().post_write(room.slice(8, 4), *window, 0).error() == ENOTCONN);
  BOOST_TEST(!pair.client().expose(room.slice(), Access::kRemoteRead).has_value());
}

BOOST_DATA_TEST_CASE(an_orderly_end_of_the_peer_ends_our_receives, kVariants, variant) {
  Pair pair(variant);
  const Memory room(pair, 8);
  BOOST_REQUIRE(pair.client().post_recv(room.slice(0, 4), 1).ok());
  BOOST_REQUIRE(pair.client().post_recv(room.slice(4, 4), 2).ok());
  pair.server().close();
  pair.drive_until([&] {
    return !pair.client_end->seen.empty() &&
           pair.client_end->seen.back().kind == CompletionKind::kDisconnected;
  });
  // Expect: the end last, and orderly.
  const auto& seen = pair.client_end->seen;
  BOOST_REQUIRE(seen.size() == 3U);
  for (std::uint64_t i = 0; i < 2; ++i) {
    BOOST_TEST((seen[i].kind == CompletionKind::kReceive));
    BOOST_TEST(seen[i].token == i + 1);
    BOOST_TEST(seen[i].status.error() == ECONNRESET);
  }
  BOOST_TEST(seen[2].status.ok());
  BOOST_TEST(pair.client().post_send({}, {}, 1).error() == ENOTCONN);
  pair.client().close();
  pair.client_end->turn();
  BOOST_TEST(seen.size() == 3U);
}

BOOST_DATA_TEST_CASE(what_was_sent_before_the_end_arrives_before_it, kVariants, variant) {
  Pair pair(variant);
  constexpr std::uint64_t kMessages = 10;
  const Memory rooms(pair, kMessages * 1000);
  const Memory body(pair, pattern(900));
  for (std::uint64_t i = 0; i < kMessages; ++i)
    BOOST_REQUIRE(pair.server().post_recv(rooms.slice(i * 1000, 1000), i).ok());
  for (std::uint64_t i = 0; i < kMessages; ++i)
    BOOST_REQUIRE(pair.client().post_send(bytes_of("last"), body.slice(), i).ok());
  for (std::uint64_t i = 0; i < kMessages; ++i)
    BOOST_TEST(pair.client_gets(CompletionKind::kSend).token == i);
  pair.client().close();
  for (std::uint64_t i = 0; i < kMessages; ++i) {
    const Completion arrived = pair.server_gets(CompletionKind::kReceive);
    BOOST_TEST(arrived.status.ok());
    BOOST_TEST(arrived.length_bytes == 904U);
  }
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.ok());
}

BOOST_DATA_TEST_CASE(a_destroyed_link_delivers_nothing_more, kVariants, variant) {
  Pair pair(variant);
  const Memory room(pair, 8);
  BOOST_REQUIRE(pair.client().post_recv(room.slice(0, 4), 1).ok());
  BOOST_REQUIRE(pair.client().post_recv(room.slice(4, 4), 2).ok());
  pair.client().close();
  pair.client_end->destroy_link();
  pair.client_end->turn();
  BOOST_TEST(pair.client_end->seen.empty());
  BOOST_TEST(pair.server_gets(CompletionKind::kDisconnected).status.ok());
}

// ---------------------------------------------------------------- windows

BOOST_DATA_TEST_CASE(a_window_opens_and_shuts, kVariants, variant) {
  Pair pair(variant);
  const Memory memory(pair, pattern(100));
  const Memory sink(pair, 100);
  const auto first = pair.server().expose(memory.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(first.has_value());
  BOOST_TEST(first->length_bytes == 100U);
  BOOST_TEST(pair.server().withdraw(first->key).ok());
  const auto second = pair.server().expose(memory.slice(), Access::kRemoteRead);
  BOOST_REQUIRE(second.has_value());
  BOOST_TEST(second->key != first->key);
  BOOST_REQUIRE(pair.client().post_read(sink.slice(), *second, 1).ok());
  BOOST_TEST(pair.client_gets(CompletionKind::kRead).status.ok());
  BOOST_TEST(sink.holds(memory.span()));
}

// The protocol may learn of the end later than the link.
BOOST_DATA_TEST_CASE(a_window_of_a_link_that_is_over_is_shut_already, kVariants, variant) {
  Pair pair(variant);
  if (pair.is_fake()) return;  // it counts calls after its end as violations
  pair.first_message();
  const Memory memory(pair, pattern(100));
  const auto ours = pair.client().expose(memory.slice(), Access::kRemoteRead);
  const auto theirs = pair.server().expose(memory.slice(), Access::kRemoteRead);
  BOOST_REQUIRE((ours.has_value() && theirs.has_value()));
  pair.client().close();
  BOOST_TEST(pair.client().withdraw(ours->key).ok());
  pair.server_gets(CompletionKind::kDisconnected);
  BOOST_TEST(pair.server().withdraw(theirs->key).ok());
}

BOOST_DATA_TEST_CASE(what_no_window_opens_is_not_read, kVariants, variant) {
  for (const bool withdrawn : {true, false}) {
    Pair pair(variant);
    // The fake says that a test broke the rules. Over shm a peer of the same user reaches memory without asking;
    // what it asks for is checked by shm's own tests.
    if (pair.is_fake() || pair.provider->id() == ProviderId::kShm) return;
    pair.first_message();
    const Memory theirs(pair, pattern(8192, 3));
    const Memory ours(pair, pattern(8192, 9));
    auto window = pair.server().expose(theirs.slice(0, 4096), Access::kRemoteRead);
    BOOST_REQUIRE(window.has_value());
    if (withdrawn) BOOST_TEST(pair.server().withdraw(window->key).ok());
    window->length_bytes = 8192;
    BOOST_REQUIRE(pair.client().post_read(ours.slice(), *window, 5).ok());
    BOOST_TEST(!pair.client_gets(CompletionKind::kRead).status.ok());
    pair.client_gets(CompletionKind::kDisconnected);
    BOOST_TEST(ours.holds(pattern(8192, 9)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
