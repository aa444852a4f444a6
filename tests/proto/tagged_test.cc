// Connections for messages with tags: random schedules of everything that can happen, and peers that lie.
// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <boost/test/unit_test.hpp>

#include "src/wire/codec.h"
#include "tests/proto/tagged.h"
#include "tests/support/property.h"

using namespace exs;
using namespace exs::proto;
using namespace exs::test;
using wire::MessageType;

namespace tagged_test {

Bytes pattern(std::size_t bytes, std::size_t seed) {
  Bytes made(bytes);
  for (std::size_t i = 0; i < bytes; ++i) made[i] = static_cast<std::byte>(seed * 31 + i * 7);
  return made;
}

struct TaggedPair {
  explicit TaggedPair(std::uint32_t credits)
      : a(violations, Role::kInitiator, tagged_agreement(credits)),
        b(violations, Role::kResponder, tagged_agreement(credits)) {
    FakeLink::join(a.link, b.link);
    EXS_HOLD(a.connection.start().ok());
    EXS_HOLD(b.connection.start().ok());
  }
  TaggedTestEnd& end(std::size_t index) { return index == 0 ? a : b; }

  bool step(TaggedTestEnd& one, std::size_t kind) {
    switch (kind) {
      case 0: return one.link.deliver_message();
      case 1: return one.link.finish_send();
      case 2: return one.link.begin_read();
      case 3: return one.link.finish_read();
      case 4: return one.handle_one();
      default: return one.link.deliver_end();
    }
  }
  void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t end_index = 0; end_index < 2; ++end_index) {
        for (std::size_t kind = 0; kind < 5; ++kind) {
          while (step(end(end_index), kind)) moved = true;
        }
      }
    }
  }

  std::vector<std::string> violations;
  TaggedTestEnd a;
  TaggedTestEnd b;
};

// The n-th message of some bits goes to the n-th receive of them, whole or cut.
std::string wrong_deliveries(const TaggedTestEnd& from, const TaggedTestEnd& to) {
  for (std::uint64_t bits = 0; bits < 3; ++bits) {
    auto receive = to.receives.begin();
    for (const auto& send : from.sends) {
      if (send.label.bits != bits) continue;
      while (receive != to.receives.end() && receive->bits != bits) ++receive;
      if (receive == to.receives.end()) return "a message without a receive";
      if (!receive->has_ended) return "a receive that did not end";
      if (receive->outcome.whole_bytes != send.bytes.size()) return "the length of another message";
      const std::size_t taken = std::min(receive->into.size(), send.bytes.size());
      if (!std::equal(send.bytes.begin(), send.bytes.begin() + static_cast<std::ptrdiff_t>(taken),
                      receive->into.begin()))
        return "other bytes";
      if (!send.has_ended || send.error != 0) return "a send that did not end well";
      ++receive;
    }
  }
  return from.wrong_data + to.wrong_data == 0 ? "" : "other data";
}

// No receive waits for bits of which there are as many messages as receives.
bool all_find_theirs(const TaggedTestEnd& from, const TaggedTestEnd& to) {
  for (std::uint64_t bits = 0; bits < 3; ++bits) {
    const auto sends = std::count_if(from.sends.begin(), from.sends.end(),
                                     [&](const auto& send) { return send.label.bits == bits; });
    std::ptrdiff_t receives = 0;
    std::ptrdiff_t matched = 0;
    for (const auto& receive : to.receives) {
      if (receive.bits != bits) continue;
      ++receives;
      matched += receive.is_matched ? 1 : 0;
    }
    if (matched < std::min(sends, receives)) return false;
  }
  return true;
}

void expect_all_arrive(std::uint32_t credits_max) {
  TaggedPair pair(draw<std::uint32_t>(1, credits_max + 1));
  if (draw_bool()) pair.a.link.let_send_now();
  if (draw_bool()) pair.b.link.let_send_now();
  pair.a.tries_short = draw_bool();
  pair.b.tries_short = draw_bool();
  const std::vector<Column> columns = {{"step", {{18, 0, 5}, {3, 5, 6, "send"}, {2, 6, 7, "receive"}}},
                                       {"end", {{1, 0, 2}}},
                                       {"bytes", {{3, 0, 49}, {2, 49, 200}}},
                                       {"bits", {{1, 0, 3}}},
                                       {"synchronous", {{4, 0, 1}, {1, 1, 2}}}};
  for (std::size_t index = 0; index < 2; ++index) {
    if (draw_bool()) pair.end(index).link.limit_windows(draw<std::size_t>(0, 4));
  }
  for (const Row& row : draw_rows(columns, 4)) {
    TaggedTestEnd& one = pair.end(row[1]);
    if (row[0] < 5) {
      pair.step(one, row[0]);
    } else if (row[0] == 5) {
      one.send(row[3], pattern(row[2], one.sends.size()), row[4] == 1);
    } else {
      one.receive(row[3], row[2]);
    }
    EXS_HOLD(pair.a.bytes_held() <= kEagerBytes && pair.b.bytes_held() <= kEagerBytes);
  }
  // In the order of the sends, or the last first: then it is behind all that the windows hold.
  const bool is_backwards = draw_bool();
  for (std::size_t index = 0; index < 2; ++index) {
    std::vector<const TaggedTestEnd::Send*> sends;
    for (const auto& send : pair.end(1 - index).sends) sends.push_back(&send);
    if (is_backwards) std::reverse(sends.begin(), sends.end());
    for (const auto* send : sends) {
      pair.run();
      pair.end(index).receive(send->label.bits, send->bytes.size());
      pair.run();
      EXS_HOLD(all_find_theirs(pair.end(1 - index), pair.end(index)));
    }
  }
  EXS_HOLD_EMPTY(wrong_deliveries(pair.a, pair.b));
  EXS_HOLD_EMPTY(wrong_deliveries(pair.b, pair.a));
  EXS_HOLD(pair.violations.empty());
  EXS_HOLD(pair.a.failures.empty() && pair.b.failures.empty());
  EXS_HOLD(pair.a.link.windows() == 0 && pair.b.link.windows() == 0);
  pair.a.connection.close();
  pair.run();
  EXS_HOLD(pair.b.peer_stopped == 1);
  EXS_HOLD(pair.a.closes == 1);
}

// One end, whose peer is the test.
struct ForgedPeer {
  explicit ForgedPeer(std::uint32_t credits = 4)
      : end(violations, Role::kInitiator, tagged_agreement(credits)),
        peer(violations, link_depths(tagged_agreement(credits))) {
    FakeLink::join(end.link, peer);
    BOOST_REQUIRE(end.connection.start().ok());
  }
  void hear(const wire::Message& message, std::size_t tail_bytes = 0, const Bytes& tail = {}) {
    wire::FixedBytes room;
    const auto fixed = wire::encode(message, room);
    Bytes bytes(fixed.begin(), fixed.end());
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    bytes.resize(bytes.size() + tail_bytes);
    end.link.inject(bytes);
    end.link.deliver_message();
    while (end.handle_one()) continue;
  }
  void drain() {
    for (bool moved = true; moved;) {
      moved = end.link.finish_send() || end.link.begin_read() || end.link.finish_read();
      while (end.handle_one()) moved = true;
    }
  }
  [[nodiscard]] bool is_well() const { return end.failures.empty() && violations.empty(); }
  [[nodiscard]] bool is_lost() const {
    return end.failures == std::vector<int>{EPROTO} && violations.empty();
  }

  std::vector<std::string> violations;
  TaggedTestEnd end;
  FakeLink peer;
};

wire::Message tagged(std::uint32_t sequence, std::uint32_t id = 0, MessageType type = MessageType::kTagged) {
  wire::Message message;
  message.header.type = type;
  message.header.sequence = sequence;
  message.header.flags = type == MessageType::kTagged && id != 0 ? wire::kSynchronous : 0;
  message.label.id = id;
  return message;
}

wire::Message held(std::uint32_t sequence, std::uint32_t id, std::uint64_t bytes) {
  wire::Message message = tagged(sequence, id, MessageType::kHeld);
  message.held_bytes = bytes;
  return message;
}
wire::Message fetched(std::uint32_t sequence) {
  return tagged(sequence, 0, MessageType::kFetched);
}
wire::Message part(std::uint32_t sequence) {
  wire::Message message = fetched(sequence);
  message.header.flags = wire::kPart;
  return message;
}
wire::Message fetch(std::uint32_t id) {
  return tagged(id, 0, MessageType::kFetch);
}
wire::Message want(std::uint64_t bits) {
  wire::Message message;
  message.header.type = MessageType::kWant;
  message.label.bits = bits;
  return message;
}

Bytes window(std::uint64_t length) {
  Bytes bytes(wire::kListEntryBytes);
  wire::encode_list_entry({64, length, 1}, bytes, 0);
  return bytes;
}

wire::Message ack(std::uint32_t id, std::uint64_t bytes_taken,
                  wire::AckStatus status = wire::AckStatus::kTaken) {
  wire::Message message;
  message.header.type = MessageType::kAck;
  message.header.sequence = id;
  message.ack = {status, bytes_taken};
  return message;
}

}  // namespace tagged_test

BOOST_AUTO_TEST_SUITE(tagged_test, *boost::unit_test::fixture<PropertyDefaults>())

BOOST_AUTO_TEST_CASE(every_message_arrives_once_and_in_order_whatever_the_schedule) {
  BOOST_TEST(holds("messages with tags, credits up to 6", [] { expect_all_arrive(6); }));
}

BOOST_AUTO_TEST_CASE(one_credit_each_way_is_enough) {
  BOOST_TEST(holds("messages with tags, credits 1/1", [] { expect_all_arrive(1); }));
}

BOOST_AUTO_TEST_CASE(every_send_ends_once_when_the_link_breaks) {
  BOOST_TEST(holds("messages with tags, a link that breaks", [] {
    TaggedPair pair(draw<std::uint32_t>(1, 5));
    const int sends = draw(1, 12);
    for (int i = 0; i < sends; ++i) pair.a.send(0, pattern(draw<std::size_t>(0, 200), 1), draw_bool());
    if (draw_bool()) pair.b.receive(0, 200);
    const int steps = draw(0, 60);
    for (int i = 0; i < steps; ++i) pair.step(pair.end(draw<std::size_t>(0, 2)), draw<std::size_t>(0, 5));
    pair.a.link.break_off(Status(ECONNRESET));
    pair.b.link.break_off(Status(ECONNRESET));
    pair.run();
    EXS_HOLD(pair.a.failures.size() == 1 && pair.b.failures.size() == 1);
    for (const auto& send : pair.a.sends) EXS_HOLD(send.has_ended);
    for (const auto& receive : pair.b.receives) EXS_HOLD(!receive.is_matched || receive.has_ended);
    EXS_HOLD(pair.violations.empty());
  }));
}

BOOST_AUTO_TEST_CASE(what_is_sent_right_is_taken) {
  ForgedPeer forged;
  forged.hear(tagged(1), 10);
  forged.hear(tagged(2, 5), 0);
  forged.hear(tagged(3, 6, MessageType::kTaggedAdvert), 0, window(100));
  BOOST_TEST(forged.is_well());
  BOOST_TEST(forged.end.waiting.size() == 3U);
}

// The windows hold two adverts, and sixteen messages of no bytes; the link has as many for all, or one, or none.
BOOST_AUTO_TEST_CASE(a_receive_finds_what_lies_behind_all_that_the_peer_holds) {
  for (const auto& [bytes, windows] : std::vector<std::pair<std::size_t, std::size_t>>{
           {0, 2}, {10, 2}, {100, 100}, {100, 2}, {100, 1}, {1000, 1}, {1000, 0}}) {
    TaggedPair pair(3);
    pair.a.link.limit_windows(windows);
    constexpr std::uint64_t kMessages = 100;
    for (std::uint64_t bits = 0; bits < kMessages; ++bits) pair.a.send(bits, pattern(bytes, bits));
    pair.run();
    BOOST_TEST(pair.b.waiting.size() < 30U);
    for (std::uint64_t bits = kMessages; bits-- > 0;) {
      pair.b.receive(bits, bytes);
      pair.run();
      BOOST_REQUIRE(pair.b.receives.back().has_ended);
      BOOST_REQUIRE((pair.b.receives.back().into == pattern(bytes, bits)));
    }
    BOOST_TEST(std::all_of(pair.a.sends.begin(), pair.a.sends.end(),
                           [](const auto& send) { return send.has_ended && send.error == 0; }));
    BOOST_TEST(pair.a.link.windows() == 0U);
    BOOST_TEST((pair.violations.empty() && pair.a.failures.empty() && pair.b.failures.empty()));
  }
}

BOOST_AUTO_TEST_CASE(a_receive_that_waits_finds_what_is_sent_later_behind_all_that_the_peer_holds) {
  TaggedPair pair(3);
  pair.b.receive(1, 100);
  for (int i = 0; i < 50; ++i) pair.a.send(0, pattern(100, 2));
  pair.run();
  BOOST_TEST(pair.b.waiting.size() == kAdverts);
  pair.a.send(1, pattern(100, 1));
  pair.run();
  BOOST_TEST(pair.b.receives.back().has_ended);
  for (int i = 0; i < 50; ++i) pair.a.send(0, pattern(100, 2));
  pair.run();
  BOOST_TEST(pair.b.waiting.size() == 50U);  // those before it, and no more
}

BOOST_AUTO_TEST_CASE(what_was_wanted_may_be_cancelled) {
  TaggedPair pair(3);
  for (int i = 0; i < 20; ++i) pair.a.send(0, pattern(100, 2));
  pair.a.send(1, pattern(100, 1));
  pair.run();
  pair.b.receive(1, 100);
  Selection selection;
  selection.any_handle = false;
  selection.handle = &pair.a.sends.back();
  pair.a.connection.cancel(Direction::kSend, selection, ECANCELED);
  pair.run();
  BOOST_TEST(pair.a.sends.back().error == ECANCELED);
  pair.a.send(1, pattern(100, 3));
  pair.run();
  BOOST_TEST(pair.b.receives.back().has_ended);
  BOOST_TEST((pair.b.receives.back().into == pattern(100, 3)));
}

BOOST_AUTO_TEST_CASE(what_is_fetched_may_come_in_parts) {
  for (const std::size_t room : {50UL, 100UL, 200UL}) {
    ForgedPeer forged;
    const Bytes bytes = pattern(100, 1);
    forged.hear(held(1, 6, 100));
    forged.end.receive(0, room);
    forged.drain();
    forged.hear(part(2), 0, Bytes(bytes.begin(), bytes.begin() + 70));
    BOOST_TEST(!forged.end.receives.back().has_ended);
    forged.hear(part(3), 0, Bytes(bytes.begin() + 70, bytes.end()));
    BOOST_TEST(forged.is_well());
    const auto& receive = forged.end.receives.back();
    BOOST_TEST(receive.has_ended);
    BOOST_TEST(receive.outcome.error == 0);
    BOOST_TEST(receive.outcome.whole_bytes == 100U);
    BOOST_TEST(std::equal(bytes.begin(), bytes.begin() + std::min(room, 100UL), receive.into.begin()));
  }
}

BOOST_AUTO_TEST_CASE(what_is_fetched_and_cannot_be_read_ends_both) {
  ForgedPeer forged;
  forged.hear(held(1, 6, 100));
  forged.end.receive(0, 100);
  forged.drain();
  forged.hear(fetched(2));
  BOOST_TEST(forged.is_well());
  BOOST_TEST(forged.end.receives.back().outcome.error == ENOMEM);
}

BOOST_AUTO_TEST_CASE(lies_end_the_connection) {
  struct Lie {
    const char* what;
    std::function<void(ForgedPeer&)> tell;
  };
  const std::vector<Lie> lies = {
      {"another number", [](ForgedPeer& f) { f.hear(tagged(2), 4); }},
      {"the same number twice",
       [](ForgedPeer& f) {
         f.hear(tagged(1), 4);
         f.hear(tagged(1), 4);
       }},
      {"an id that nobody answers",
       [](ForgedPeer& f) {
         wire::Message message = tagged(1, 7);
         message.header.flags = 0;
         f.hear(message, 4);
       }},
      {"nothing to answer",
       [](ForgedPeer& f) {
         wire::Message message = tagged(1);
         message.header.flags = wire::kSynchronous;
         f.hear(message, 4);
       }},
      {"unknown flags",
       [](ForgedPeer& f) {
         wire::Message message = tagged(1);
         message.header.flags = 4;
         f.hear(message, 4);
       }},
      {"an advert of nothing",
       [](ForgedPeer& f) { f.hear(tagged(1, 1, MessageType::kTaggedAdvert), 0, window(0)); }},
      {"an advert without a window", [](ForgedPeer& f) { f.hear(tagged(1, 1, MessageType::kTaggedAdvert)); }},
      {"half a window", [](ForgedPeer& f) { f.hear(tagged(1, 1, MessageType::kTaggedAdvert), 10); }},
      {"a window that wraps",
       [](ForgedPeer& f) { f.hear(tagged(1, 1, MessageType::kTaggedAdvert), 0, window(UINT64_MAX)); }},
      {"more adverts than agreed",
       [](ForgedPeer& f) {
         for (std::uint32_t i = 1; i <= kAdverts + 1; ++i)
           f.hear(tagged(i, i, MessageType::kTaggedAdvert), 0, window(8));
       }},
      {"more held than agreed",
       [](ForgedPeer& f) {
         for (std::uint32_t i = 1; i <= kAdverts + 1; ++i) f.hear(held(i, i, 8));
       }},
      {"what nobody fetched", [](ForgedPeer& f) { f.hear(fetched(1), 0, window(8)); }},
      {"other bytes than were held",
       [](ForgedPeer& f) {
         f.hear(held(1, 6, 100));
         f.end.receive(0, 100);
         f.drain();
         f.hear(fetched(2), 0, window(99));
       }},
      {"a part that nobody fetched", [](ForgedPeer& f) { f.hear(part(1), 8); }},
      {"a part of no bytes",
       [](ForgedPeer& f) {
         f.hear(held(1, 6, 100));
         f.end.receive(0, 100);
         f.drain();
         f.hear(part(2));
       }},
      {"parts of more than was held",
       [](ForgedPeer& f) {
         f.hear(held(1, 6, 100));
         f.end.receive(0, 100);
         f.drain();
         f.hear(part(2), 60);
         f.hear(part(3), 41);
       }},
      {"windows behind a part",
       [](ForgedPeer& f) {
         f.hear(held(1, 6, 100));
         f.end.receive(0, 100);
         f.drain();
         f.hear(part(2), 60);
         f.hear(fetched(3), 0, window(100));
       }},
      {"a held one with an id of 0", [](ForgedPeer& f) { f.hear(held(1, 0, 8)); }},
      {"a fetch of nothing", [](ForgedPeer& f) { f.hear(fetch(1)); }},
      {"a fetch of what was not held",
       [](ForgedPeer& f) {
         f.end.send(0, pattern(100, 1));
         f.drain();
         f.hear(fetch(1));
       }},
      {"a fetch twice",
       [](ForgedPeer& f) {
         for (std::uint32_t i = 0; i < kAdverts + 1; ++i) f.end.send(0, pattern(100, 1));
         f.hear(want(0));
         f.drain();
         f.hear(fetch(kAdverts + 1));
         f.hear(fetch(kAdverts + 1));
       }},
      {"more eager bytes than agreed",
       [](ForgedPeer& f) {
         for (std::uint32_t i = 1; i <= kEagerBytes / EagerWindow::cost_of(0) + 1; ++i) f.hear(tagged(i));
       }},
      {"eager bytes that were never sent",
       [](ForgedPeer& f) {
         wire::Message message = tagged(1);
         message.label.returned_bytes = 1;
         f.hear(message);
       }},
      {"a return of nothing",
       [](ForgedPeer& f) {
         wire::Message message;
         message.header.type = MessageType::kReturn;
         f.hear(message);
       }},
      {"an answer to nothing", [](ForgedPeer& f) { f.hear(ack(1, 0)); }},
      {"an answer of id 0", [](ForgedPeer& f) { f.hear(ack(0, 0)); }},
      {"two answers",
       [](ForgedPeer& f) {
         f.end.send(0, pattern(100, 1));
         f.drain();
         f.hear(ack(1, 100));
         f.hear(ack(1, 100));
       }},
      {"an answer with more bytes than were offered",
       [](ForgedPeer& f) {
         f.end.send(0, pattern(100, 1));
         f.drain();
         f.hear(ack(1, 101));
       }},
      {"an answer that fits another kind",
       [](ForgedPeer& f) {
         f.end.send(0, pattern(100, 1));
         f.drain();
         f.hear(ack(1, 0, wire::AckStatus::kBusy));
       }},
      {"an IMMEDIATE",
       [](ForgedPeer& f) {
         wire::Message message;
         message.header.type = MessageType::kImmediate;
         message.header.sequence = 1;
         f.hear(message, 4);
       }},
      {"an OFFER",
       [](ForgedPeer& f) {
         wire::Message message;
         message.header.type = MessageType::kOffer;
         message.header.sequence = 1;
         message.advert = {64, 8, 1};
         f.hear(message);
       }},
      {"a RECALL",
       [](ForgedPeer& f) {
         wire::Message message;
         message.header.type = MessageType::kRecall;
         message.header.sequence = 1;
         f.hear(message);
       }},
  };
  for (const Lie& lie : lies) {
    BOOST_TEST_CONTEXT(lie.what) {
      ForgedPeer forged(16);
      lie.tell(forged);
      BOOST_TEST(forged.is_lost());
      for (const auto& send : forged.end.sends) BOOST_TEST(send.has_ended);
    }
  }
}

BOOST_AUTO_TEST_CASE(random_bytes_never_do_harm) {
  BOOST_TEST(holds("random messages of kind 3", [] {
    ForgedPeer forged;
    forged.end.receive(0, 20);
    forged.end.send(0, pattern(100, 1));
    forged.drain();
    const int messages = draw(1, 8);
    for (int i = 0; i < messages && forged.end.failures.empty(); ++i) {
      const auto drawn = draw_bytes();
      Bytes bytes(drawn.size());
      std::transform(drawn.begin(), drawn.end(), bytes.begin(),
                     [](std::uint8_t byte) { return std::byte{byte}; });
      if (!bytes.empty()) bytes[0] = static_cast<std::byte>(draw(17, 24));
      bytes.resize(std::min<std::size_t>(bytes.size(), kEagerMax + 32));
      forged.end.link.inject(bytes);
      forged.end.link.deliver_message();
      forged.drain();
    }
    EXS_HOLD(forged.violations.empty());
  }));
}

BOOST_AUTO_TEST_SUITE_END()
