// What a service says of how busy it is: who may ask, and what becomes of what is no answer.
// SPDX-License-Identifier: BSD-2-Clause
#include <cstring>

#include "service/names/address.h"
#include "service/names/name_service.h"
#include "service/names/statements.h"
#include "service/node/link.h"
#include "tests/service/frame_layout.h"
#include "tests/service/world.h"

namespace exs::svc {
namespace stats_test {

using namespace exs::svc::test;

exs_svc_stats_t stats_of(const exs_svc_event_t& event) {
  exs_svc_stats_t stats{};
  BOOST_TEST(event.error == 0);
  BOOST_REQUIRE(event.message != nullptr);
  BOOST_REQUIRE((event.message->items_count == 1 && event.message->items[0].length == sizeof stats));
  std::memcpy(&stats, event.message->items[0].data, sizeof stats);
  exs_svc_release(event.message);
  return stats;
}

// A service of which it has the key, and whose frames are the test's. Its asker has its turns in the same thread.
class Impostor {
 public:
  Impostor() : queue_((exs_init(EXS_VERSION), exs_qcreate(64))) {
    listener_ = make_link_socket(AF_INET);
    sockaddr_storage address = *parse_address("127.0.0.1:0");
    socklen_t length = sizeof address;
    BOOST_REQUIRE(exs_bind(listener_, as_sockaddr(address), address_bytes(address)) == 0);
    BOOST_REQUIRE(exs_listen(listener_, 4) == 0);
    BOOST_REQUIRE(exs_getsockname(listener_, as_sockaddr(address), &length) == 0);
    BOOST_REQUIRE(exs_accept(listener_, nullptr, EXS_MULTISHOT, queue_, &listener_) == 0);
    BOOST_REQUIRE(names_->claim(key.id(), encode_record({key.public_key(), 1, 1, {address}}, key)).error() ==
                  0);
  }
  ~Impostor() {
    names_->unclaim(key.id());
    hang_up();
    exs_close(listener_);
    for (exs_event_t event; exs_qwait(queue_, &event, 1, 1, 0) == 1;) continue;
    exs_qdelete(queue_);
    exs_fini();
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  // Answers what has come, up to the question how busy it is: by this frame.
  void step(const FrameBytes& answer) {
    exs_event_t event;
    while (exs_qwait(queue_, &event, 1, 1, 0) == 1) {
      if (event.exs_evt_ahandle == &listener_) {
        greet(event.exs_evt_union.exs_evt_accept.exs_evt_newsocket);
      } else if (event.exs_evt_type == EXS_EVT_RECV) {
        const std::size_t bytes =
            event.exs_evt_errno == 0 ? event.exs_evt_union.exs_evt_xfer.exs_evt_length : 0;
        if (bytes == 0) {
          ++links_ended;
          hang_up();
          continue;
        }
        take(Bytes(heard_).first(bytes), answer);
      }
    }
  }
  Key key;
  std::size_t links_ended = 0;

 private:
  void greet(int socket) {
    BOOST_REQUIRE(socket >= 0);
    hang_up();
    socket_ = socket;
    say(made_by([](auto room) { return encode_hello(room, {}); }));
    hear();
  }
  void hang_up() {
    if (socket_ >= 0) exs_close(std::exchange(socket_, -1));
  }
  void hear() { exs_recv(socket_, heard_.data(), heard_.size(), 0, queue_, this, EXS_MHANDLE_UNREGISTERED); }
  void say(const FrameBytes& frame) {
    BOOST_TEST(exs_send_sync(socket_, frame.data(), frame.size(), 0, EXS_MHANDLE_UNREGISTERED) ==
               static_cast<ssize_t>(frame.size()));
  }
  void take(Bytes frame, const FrameBytes& answer) {
    const std::optional<Header> header = decode_header(frame);
    BOOST_REQUIRE(header.has_value());
    if (header->type == FrameType::kHello) their_nonce_ = decode_hello(frame)->nonce;
    if (header->type == FrameType::kFlow) agree(*header, *decode_flow(frame, *header));
    if (header->type == FrameType::kInfo) {
      FrameBytes said = answer;
      for (std::size_t i = 4; i < 8; ++i) said[i] = frame[i];  // its flow
      say(said);
    }
    hear();
  }
  void agree(const Header& header, const Flow& asked) {
    const Statement flow =
        flow_statement({their_nonce_, Nonce{}}, header.flow, asked.target, asked.client, asked.flow_number);
    const Signature signature = key.sign(answer_statement(flow, 1, 0, false));
    say(made_by([&](auto room) {
      return encode_flow_ok(room, header.flow, 0, {key.public_key(), 1, signature, false});
    }));
  }

  const std::shared_ptr<NameService> names_ = NameService::get();
  const exs_qhandle_t queue_;
  int listener_ = -1;
  int socket_ = -1;
  Nonce their_nonce_{};
  std::array<std::uint8_t, kFrameMax> heard_{};
};

FrameBytes stats_frame(std::uint64_t number) {
  return made_by([&](auto room) { return encode_stats(room, 1, number, {1, 2, 3, 4, 5, 6, 7}); });
}

}  // namespace stats_test

BOOST_AUTO_TEST_SUITE(stats_test)

BOOST_AUTO_TEST_CASE(stats_are_where_the_format_says) {
  const FrameBytes frame = made_by([](auto room) {
    return encode_stats(room, kAlias, kNumber, {1, 2, 3, 4, 5, 6, 0x2122232425262728});
  });
  const auto number = [](std::uint8_t value) { return FrameBytes{0, 0, 0, 0, 0, 0, 0, value}; };
  expect_layout(frame, behind_header(14, 0, kZero2, kAliasBytes, kNumberBytes, kZero8,
                                     {{24, number(1)},
                                      {32, number(2)},
                                      {40, number(3)},
                                      {48, number(4)},
                                      {56, number(5)},
                                      {64, number(6)},
                                      {72, counting(0x21, 8)}}));
  BOOST_TEST(frame.size() == kStatsBytes);
}

BOOST_FIXTURE_TEST_CASE(a_service_says_how_busy_it_is, TwoNodes) {
  int handle = 0;
  exs_svc_t* const service = right.open(key);
  std::array<char, 8192> memory{};
  BOOST_TEST(exs_svc_window(service, memory.data(), memory.size(), EXS_MHANDLE_UNREGISTERED) == 0);
  exs_svc_peer_t* const peer = left.peer(key, nullptr, nullptr, &handle);
  BOOST_TEST(exs_svc_stats(peer) == 0);
  check_refused(exs_svc_stats(peer), EAGAIN);
  const exs_svc_event_t first = next(left, EXS_SVC_EVT_STATS);
  BOOST_TEST((first.handle == &handle && first.peer == peer));
  const exs_svc_stats_t idle = stats_of(first);
  BOOST_TEST(idle.open_ns > 0U);
  BOOST_TEST((idle.messages == 0 && idle.replies == 0 && idle.mailbox == 0 && idle.requests_open == 0));
  BOOST_TEST((idle.flows == 1 && idle.windows_free == 1));
  // Expect: what waits and what has been done are counted.
  const std::vector<std::string> longs = {std::string(8000, 'x')};  // until it is taken
  BOOST_TEST(send_long(peer, {"x"}, longs) == 0);
  BOOST_TEST(request(peer, {"one"}) == 0);
  BOOST_TEST(request(peer, {"two"}) == 0);
  const exs_svc_event_t message = next(right, EXS_SVC_EVT_MESSAGE);
  const exs_svc_event_t one = next(right, EXS_SVC_EVT_REQUEST);
  const exs_svc_event_t two = next(right, EXS_SVC_EVT_REQUEST);
  BOOST_TEST(reply(one.message, 0, {"!"}) == 0);
  exs_svc_release(one.message);
  BOOST_TEST(exs_svc_stats(peer) == 0);
  const exs_svc_stats_t busy = stats_of(next(left, EXS_SVC_EVT_STATS));
  BOOST_TEST((busy.messages == 3 && busy.replies == 1 && busy.mailbox == 2 && busy.requests_open == 1));
  BOOST_TEST((busy.flows == 1 && busy.windows_free == 0));
  BOOST_TEST(busy.open_ns > idle.open_ns);
  exs_svc_release(message.message);
  exs_svc_release(two.message);
  check_refused(exs_svc_stats(nullptr), EINVAL);
}

// shows: EXS_SVC_EVT_STATS EACCES
BOOST_FIXTURE_TEST_CASE(who_may_not_ping_may_not_ask_how_busy_it_is, TwoNodes) {
  right.open(key);
  exs_svc_cap_t cap{};
  BOOST_TEST(exs_svc_cap_make(key.get(), EXS_SVC_SEND, 0, 0, &cap) == 0);
  exs_svc_peer_t* const peer = left.peer(key, nullptr, &cap);
  BOOST_TEST(exs_svc_ping(peer) == 0);
  BOOST_TEST(exs_svc_stats(peer) == 0);
  const exs_svc_event_t stats = next(left, EXS_SVC_EVT_STATS);
  BOOST_TEST((stats.error == EACCES && stats.message == nullptr));
  BOOST_TEST(next(left, EXS_SVC_EVT_PONG).error == EACCES);
}

BOOST_AUTO_TEST_CASE(a_service_that_is_not_there_is_lost) {
  exs_svc_node_options_t options{};
  options.struct_bytes = sizeof options;
  options.find_ns = 1;
  TestNode node(&options);
  exs_svc_peer_t* const peer = node.peer(make_key());
  BOOST_TEST(exs_svc_stats(peer) == 0);
  BOOST_TEST(next_event({&node}, node, EXS_SVC_EVT_LOST).error == ENOENT);
  // Expect: it may be asked again.
  BOOST_TEST(exs_svc_stats(peer) == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_ends_the_link) {
  FrameBytes shorter = stats_frame(1);
  shorter.pop_back();
  FrameBytes longer = stats_frame(1);
  longer.push_back(0);
  const FrameBytes bare = made_by([](auto room) { return encode_bare(room, {.type = FrameType::kStats}); });
  for (const FrameBytes& answer : {shorter, longer, bare}) {
    Impostor impostor;
    TestNode node;
    exs_svc_id_t id{};
    const IdBytes bytes = impostor.key.id();
    std::copy(bytes.begin(), bytes.end(), id.bytes);
    exs_svc_peer_t* const peer = exs_svc_peer_open(node.get(), nullptr, &id, nullptr, nullptr);
    BOOST_REQUIRE(peer != nullptr);
    BOOST_TEST(exs_svc_stats(peer) == 0);
    turn_until({&node}, [&] {
      impostor.step(answer);
      return impostor.links_ended > 0;
    });
    BOOST_TEST(node.events.empty());
    // Expect: it asks again, on another link, and an answer to another question is none.
    for (int turn = 0; turn < 40; ++turn) {
      impostor.step(stats_frame(9));
      node.step();
    }
    BOOST_TEST(node.events.empty());
    exs_svc_peer_close(peer);
  }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
