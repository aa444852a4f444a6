// Impostors who claim to be a service, and services that write what they must not.
// SPDX-License-Identifier: BSD-2-Clause
#include "tests/service/liar.h"

namespace exs::svc {
namespace impostors_test {

using namespace exs::svc::test;

struct Library {
  Library() { BOOST_REQUIRE(exs_init(EXS_VERSION) == 0); }
  ~Library() { exs_fini(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
};

// Claims to be a service of which it has the record, and accepts one link.
class Impostor {
 public:
  Impostor() {
    const char* const listen = std::getenv("EXS_SVC_LISTEN");
    sockaddr_storage address = parse_address(listen == nullptr ? "127.0.0.1" : listen).value();
    socklen_t length = address_bytes(address);
    listener_ = make_link_socket(address.ss_family);
    BOOST_REQUIRE(exs_bind(listener_, as_sockaddr(address), length) == 0);
    BOOST_REQUIRE(exs_listen(listener_, 4) == 0);
    BOOST_REQUIRE(exs_getsockname(listener_, as_sockaddr(address), &length) == 0);
    const Record record{key.public_key(), 1, 1, {address}};
    BOOST_REQUIRE(names_->claim(key.id(), encode_record(record, key)).error() == 0);
  }
  ~Impostor() {
    names_->unclaim(key.id());
    if (listener_ >= 0) stop_listening();
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  [[nodiscard]] std::unique_ptr<Liar> accept() const {
    const int socket = exs_accept_sync(listener_, nullptr, nullptr);
    BOOST_REQUIRE(socket >= 0);
    return std::make_unique<Liar>(socket);
  }
  // A thread that hangs up on whoever comes, until it no longer listens.
  [[nodiscard]] std::thread hang_up_on_all() const {
    return std::thread([listener = listener_] {
      for (int socket = 0; (socket = exs_accept_sync(listener, nullptr, nullptr)) >= 0;) exs_close(socket);
    });
  }
  void stop_listening() { exs_close(std::exchange(listener_, -1)); }
  // Up to the question for a flow.
  [[nodiscard]] std::unique_ptr<Liar> asked() const {
    std::unique_ptr<Liar> liar = accept();
    liar->greet();
    const std::optional<Header> header = liar->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kFlow));
    return liar;
  }
  // What only the holder of the key can say.
  [[nodiscard]] Frame agreement(Liar& liar, std::uint64_t accepted, bool is_known = false) const {
    const std::optional<Flow> asked = decode_flow(liar.heard(), *decode_header(liar.heard()));
    BOOST_REQUIRE(asked.has_value());
    const Statement flow = flow_statement({liar.their_nonce, liar.our_nonce}, 1, asked->target, asked->client,
                                          asked->flow_number);
    const Signature signature = key.sign(answer_statement(flow, 1, accepted, is_known));
    return frame_of([&](auto room) {
      return encode_flow_ok(room, 1, accepted, {key.public_key(), 1, signature, is_known});
    });
  }
  Key key;

 private:
  std::shared_ptr<NameService> names_ = NameService::get();
  int listener_ = -1;
};

// A sender to it, in a thread, as the impostor waits in the test's.
class Sent {
 public:
  explicit Sent(std::int64_t find_ns = 0) : options_(options(find_ns)) {
    exs_svc_id_t id{};
    const IdBytes bytes = impostor.key.id();
    std::copy(bytes.begin(), bytes.end(), id.bytes);
    peer_ = exs_svc_peer_open(node_.get(), nullptr, &id, nullptr, nullptr);
    BOOST_REQUIRE(peer_ != nullptr);
    BOOST_TEST(send(peer_, {"x"}) == 0);
    thread_ = std::thread([this] {
      while (!ends_ && lost_error_ < 0 && node_.take()) {
        for (const exs_svc_event_t& event : node_.events)
          if (event.type == EXS_SVC_EVT_LOST) lost_error_ = event.error;
      }
    });
  }
  ~Sent() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Sent(const Sent&) = delete;
  Sent& operator=(const Sent&) = delete;
  int lost_error() {
    thread_.join();
    return lost_error_;
  }

 private:
  Library library_;
  static exs_svc_node_options_t options(std::int64_t find_ns) {
    exs_svc_node_options_t options{};
    options.find_ns = find_ns;
    return options;
  }
  const exs_svc_node_options_t options_;
  TestNode node_{&options_};
  exs_svc_peer_t* peer_ = nullptr;
  std::atomic<bool> ends_{false};
  std::atomic<int> lost_error_{-1};
  std::thread thread_;

 public:
  Impostor impostor;
};

// The case waits until the peer is given up, which is found before that on a busy machine, too.
struct SentInVain : Sent {
  SentInVain() : Sent(6000 * kMs) {}
};

constexpr std::size_t kRoom = 10'000;
constexpr std::size_t kArena = 1 << 20;

// Asks an impostor, who may write, and waits for the end of that in a thread.
class Asker {
 public:
  explicit Asker(bool trusts = true) {
    exs_svc_id_t id{};
    const IdBytes bytes = impostor.key.id();
    std::copy(bytes.begin(), bytes.end(), id.bytes);
    exs_svc_peer_t* const peer = exs_svc_peer_open(node_.get(), nullptr, &id, nullptr, nullptr);
    BOOST_REQUIRE(peer != nullptr);
    own_.resize(kRoom);
    exs_iovec_t room{own_.data(), kRoom, EXS_MHANDLE_UNREGISTERED, 0};
    if (trusts) {
      BOOST_REQUIRE(exs_svc_peer_trust(peer, EXS_SVC_TRUST_WRITE, kArena) == 0);
      room.iov_base = exs_svc_return_alloc(peer, kRoom);
      BOOST_REQUIRE(room.iov_base != nullptr);
    }
    exs_svc_request_options_t options{sizeof options, 0, 0, 1, &room};
    BOOST_REQUIRE(request(peer, {"?"}, nullptr, &options) == 0);
    thread_ = std::thread([this] {
      while (!ends_ && node_.events.empty() && node_.take()) continue;
    });
  }
  ~Asker() {
    ends_ = true;
    if (thread_.joinable()) thread_.join();
  }
  Asker(const Asker&) = delete;
  Asker& operator=(const Asker&) = delete;
  // The long item of the reply.
  std::string reply() {
    thread_.join();
    const exs_svc_event_t& event = node_.events.front();
    BOOST_REQUIRE(event.error == 0);
    return text_of(event.message).longs.at(0);
  }

 private:
  Library library_;
  std::string own_;
  TestNode node_;
  std::atomic<bool> ends_{false};
  std::thread thread_;

 public:
  Impostor impostor;
};

// The impostor's end of a link, up to the request, and of the lane.
struct LaneWriter {
  explicit LaneWriter(Asker& asker, bool is_known = false) : link(asker.impostor.asked()) {
    link->say(asker.impostor.agreement(*link, is_known ? 1 : 0, is_known));
    lane = asker.impostor.accept();
    lane->greet();
    const Nonce token = lane_token({link->their_nonce, link->our_nonce}, 1);
    BOOST_TEST((lane->their_nonce == token));
    lane->say(greeting_of(lane_hello(token, 1)));
    if (!is_known) hear_request();
  }
  void hear_request() {
    const std::optional<Header> header = link->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kData));
    const std::optional<Data> asked = decode_data(link->heard(), *header);
    BOOST_REQUIRE((asked && asked->returns.size() == 1 && asked->returns[0].bytes == kRoom));
    call = asked->call;
    slot = asked->returns[0];
  }
  // The error of its event.
  [[nodiscard]] int write(const std::string& bytes, std::uint64_t offset) const {
    const Queue queue;
    BOOST_REQUIRE(exs_send_offset(lane->socket(), bytes.data(), bytes.size(), 0, queue.handle, nullptr,
                                  EXS_MHANDLE_UNREGISTERED, offset) == 0);
    return queue.wait().exs_evt_errno;
  }
  void say_reply(const std::vector<std::uint64_t>& lengths, std::uint64_t lane_count) const {
    Data data = data_of_kind(kIsReply, call);
    data.longs.count = lengths.size();
    std::copy(lengths.begin(), lengths.end(), data.longs.bytes.begin());
    data.lane_count = lane_count;
    Frame frame = frame_with(data);
    renumber(frame, 1, 1, 1);
    link->say(frame);
  }
  std::unique_ptr<Liar> link;
  std::unique_ptr<Liar> lane;
  std::uint64_t call = 1;
  ReturnSlot slot;
};

}  // namespace impostors_test

BOOST_AUTO_TEST_SUITE(impostors_test)

// shows: EXS_SVC_EVT_LOST EPROTO
BOOST_FIXTURE_TEST_CASE(who_cannot_sign_is_not_the_service, SentInVain) {
  const std::unique_ptr<Liar> liar = impostor.asked();
  const Key other;
  liar->say(frame_of([&](auto room) {
    return encode_flow_ok(room, 1, 0, {other.public_key(), 1, other.sign({}), false});
  }));
  BOOST_TEST(lost_error() == EPROTO);
}

BOOST_FIXTURE_TEST_CASE(who_has_signed_something_else_is_not_the_service, SentInVain) {
  const std::unique_ptr<Liar> liar = impostor.asked();
  liar->say(frame_of([&](auto room) {
    return encode_flow_ok(room, 1, 0, {impostor.key.public_key(), 1, impostor.key.sign({}), false});
  }));
  BOOST_TEST(lost_error() == EPROTO);
}

BOOST_FIXTURE_TEST_CASE(a_service_that_takes_what_was_not_sent_is_left, Sent) {
  const std::unique_ptr<Liar> liar = impostor.asked();
  liar->say(impostor.agreement(*liar, 0));
  const std::optional<Header> data = liar->hear();
  BOOST_REQUIRE((data && data->type == FrameType::kData));
  BOOST_TEST(data->number == 1U);
  liar->say(
      frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kAck, .flow = 1, .ack = 2}); }));
  while (liar->hear()) continue;
  // Expect: the message goes to whoever is found next.
  const std::unique_ptr<Liar> next = impostor.asked();
  next->say(impostor.agreement(*next, 0, true));
  const std::optional<Header> again = next->hear();
  BOOST_REQUIRE((again && again->type == FrameType::kData));
}

BOOST_FIXTURE_TEST_CASE(a_service_that_has_taken_before_it_was_asked_is_left, Sent) {
  const std::unique_ptr<Liar> liar = impostor.asked();
  liar->say(impostor.agreement(*liar, 1));
  while (liar->hear()) continue;
}

BOOST_FIXTURE_TEST_CASE(who_always_hangs_up_is_given_up, SentInVain) {
  std::thread hangs_up = impostor.hang_up_on_all();
  BOOST_TEST(lost_error() > 0);
  impostor.stop_listening();
  hangs_up.join();
}

BOOST_FIXTURE_TEST_CASE(who_writes_reaches_the_memory_for_replies_and_nothing_else, Asker) {
  const LaneWriter writer(*this);
  BOOST_TEST(writer.write("beyond", kArena - 5) == ERANGE);
  BOOST_TEST(writer.write("far beyond", UINT64_MAX - 3) == ERANGE);
  BOOST_TEST(writer.write("anywhere in it", kArena - 14) == 0);
  BOOST_TEST(writer.write(std::string(kRoom, 'y'), writer.slot.offset) == 0);
  writer.say_reply({kRoom}, 1);
  BOOST_TEST((reply() == std::string(kRoom, 'y')));
  // Expect: also when the reply has been taken, for the service is trusted as long as the peer is open.
  BOOST_TEST(writer.write("later", 0) == 0);
}

BOOST_AUTO_TEST_CASE(counts_and_lengths_that_cannot_be_end_the_link) {
  const std::vector<std::pair<std::vector<std::uint64_t>, std::uint64_t>> lies = {
      {{5}, 2}, {{5}, UINT64_MAX}, {{0}, 1}, {{0, 5}, 1}, {{kRoom + 1}, 1}, {{5, 5}, 2}, {{kLongMax}, 1}};
  for (const auto& [lengths, lane_count] : lies) {
    Asker asker;
    const LaneWriter writer(asker);
    BOOST_TEST(writer.write("bytes", 0) == 0);
    writer.say_reply(lengths, lane_count);
    while (writer.link->hear()) continue;
    // Expect: the same reply without a lie is taken, on another link.
    const LaneWriter honest(asker, true);
    BOOST_TEST(honest.write("bytes", writer.slot.offset) == 0);
    const_cast<LaneWriter&>(honest).call = writer.call;
    honest.say_reply({5}, 1);
    BOOST_TEST(asker.reply() == "bytes");
  }
}

BOOST_AUTO_TEST_CASE(who_is_not_trusted_says_in_vain_that_it_has_written) {
  Asker asker(false);
  const std::unique_ptr<Liar> liar = asker.impostor.asked();
  liar->say(asker.impostor.agreement(*liar, 0));
  BOOST_REQUIRE((liar->hear()->type == FrameType::kData));
  Data data = data_of_kind(kIsReply, 1);
  data.longs.count = 1;
  data.longs.bytes[0] = 5;
  data.lane_count = 1;
  Frame frame = frame_with(data);
  renumber(frame, 1, 1, 1);
  liar->say(frame);
  while (liar->hear()) continue;
}

BOOST_FIXTURE_TEST_CASE(a_reply_whose_bytes_have_not_come_comes_again, Asker) {
  std::optional<LaneWriter> first(std::in_place, *this);
  const std::uint64_t call = first->call;
  const std::uint32_t offset = first->slot.offset;
  first->say_reply({5}, 1);
  // Expect: it is not taken before they are there, on whatever link.
  BOOST_REQUIRE(exs_shutdown(first->link->socket(), SHUT_WR) == 0);
  while (first->link->hear()) continue;
  LaneWriter second(*this, true);
  second.call = call;
  second.say_reply({5}, 1);
  BOOST_TEST(second.write("there", offset) == 0);
  BOOST_TEST(reply() == "there");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
