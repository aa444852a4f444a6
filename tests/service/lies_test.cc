// Ends that do not keep to the protocol: strangers who connect to a node, and impostors who claim to be a service.
#include <array>
#include <atomic>
#include <cstring>
#include <optional>
#include <thread>

#include "exs/exs.h"
#include "service/names/address.h"
#include "service/names/housekeeper.h"
#include "service/names/record.h"
#include "service/names/statements.h"
#include "service/node/link.h"
#include "tests/service/world.h"

namespace exs::svc {
namespace {

using namespace exs::svc::test;
using Frame = std::vector<std::uint8_t>;

template <typename Encode>
Frame frame_of(Encode encode) {
  std::array<std::uint8_t, kFrameMax> room;
  const Encoded frame = encode(std::span<std::uint8_t>(room));
  return {frame.begin(), frame.end()};
}

// An exs socket that says what a test wants.
class Liar {
 public:
  explicit Liar(int socket) : socket_(socket) {}
  ~Liar() {
    const int at_once = 0;
    exs_setsockopt(socket_, SOL_EXS, EXS_SO_LINGER_MS, &at_once, sizeof at_once);
    exs_close(socket_);
  }
  Liar(const Liar&) = delete;
  Liar& operator=(const Liar&) = delete;

  static std::unique_ptr<Liar> connected_to(const sockaddr_storage& address) {
    const int socket = make_link_socket(address.ss_family);
    BOOST_REQUIRE(exs_connect_sync(socket, reinterpret_cast<const sockaddr*>(&address), length_of(address)) ==
                  0);
    return std::make_unique<Liar>(socket);
  }
  void say(const Frame& frame) const {
    BOOST_REQUIRE(exs_send_sync(socket_, frame.data(), frame.size(), 0, EXS_MHANDLE_UNREGISTERED) ==
                  static_cast<ssize_t>(frame.size()));
  }
  // Of the next frame; nothing: the link has ended.
  std::optional<Header> hear() {
    const ssize_t bytes = exs_recv_sync(socket_, heard_.data(), heard_.size(), 0, EXS_MHANDLE_UNREGISTERED);
    if (bytes <= 0) return {};
    heard_bytes_ = static_cast<std::size_t>(bytes);
    return decode_header(heard());
  }
  [[nodiscard]] Bytes heard() const { return Bytes(heard_).first(heard_bytes_); }
  void greet() {
    say(frame_of([](auto room) { return encode_hello(room, {}); }));
    const std::optional<Header> header = hear();
    BOOST_REQUIRE((header && header->type == FrameType::kHello));
    their_nonce = decode_hello(heard())->nonce;
  }
  Nonce our_nonce{};
  Nonce their_nonce{};
  [[nodiscard]] int socket() const { return socket_; }

 private:
  int socket_;
  std::array<std::uint8_t, kFrameMax> heard_{};
  std::size_t heard_bytes_ = 0;
};

// A node with a service, and a thread that waits for it while a test talks to it.
class Served {
 public:
  Served() : service_(node.open(key)) {
    std::optional<Record> record;
    Descriptor asked;
    const exs_svc_id_t id = id_of(key);
    std::copy(std::begin(id.bytes), std::end(id.bytes), target.begin());
    BOOST_REQUIRE(ask_host_name(target, asked) == 0);
    while (!record) record = read_host_answer(asked.get(), target);
    address = record->addresses.front();
    thread_ = std::thread([this] {
      while (!ends_ && node.take()) answer_requests();
    });
  }
  ~Served() {
    ends_ = true;
    thread_.join();
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  std::unique_ptr<Liar> stranger() const { return Liar::connected_to(address); }
  // The one that asks for a flow, rightly.
  [[nodiscard]] Frame flow(std::uint32_t alias) const {
    return frame_of([&](auto room) { return encode_flow(room, alias, {target, 1, alias, 0, {}, {}}); });
  }
  static Frame data(std::uint32_t alias, std::uint64_t number) {
    return frame_of([&](auto room) { return encode_data(room, alias, number, Data()); });
  }
  // Whoever has done nothing wrong is served.
  void check_serves() const {
    const std::unique_ptr<Liar> honest = stranger();
    honest->greet();
    honest->say(flow(9));
    const std::optional<Header> header = honest->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
  }
  void check_ends_after(const Frame& frame, bool greets = true) const {
    const std::unique_ptr<Liar> liar = stranger();
    if (greets) {
      liar->greet();
      liar->say(flow(1));
      BOOST_REQUIRE(liar->hear().has_value());
    }
    liar->say(frame);
    while (liar->hear()) continue;  // its greeting, acknowledgements
    check_serves();
  }

  IdBytes target{};
  sockaddr_storage address{};
  const std::string answer = std::string(5000, 'x');  // to every request
  std::atomic<bool> answers{true};
  OwnedKey key = make_key();
  TestNode node;

 private:
  void answer_requests() {
    for (; answers && seen_ < node.events.size(); ++seen_) {
      const exs_svc_event_t& event = node.events[seen_];
      if (event.type != EXS_SVC_EVT_REQUEST) continue;
      const exs_iovec_t item{const_cast<char*>(answer.data()), answer.size(), EXS_MHANDLE_UNREGISTERED, 0};
      exs_svc_reply(event.message, 0, nullptr, 0, &item, 1, 0, nullptr);
    }
  }
  std::size_t seen_ = 0;
  exs_svc_t* service_;
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(lies_test)

BOOST_FIXTURE_TEST_CASE(what_is_no_frame_ends_the_link, Served) {
  check_ends_after({}, false);
  check_ends_after({1}, false);
  check_ends_after(Frame(kHeaderBytes, 0), false);
  check_ends_after(Frame(kFrameMax, 0xff), false);
  check_ends_after(Frame(kHeaderBytes, 0xff));
  check_ends_after(Frame(5, 0));
}

BOOST_FIXTURE_TEST_CASE(a_greeting_of_another_kind_ends_the_link, Served) {
  check_ends_after(frame_of([](auto room) { return encode_hello(room, {2, {}}); }), false);
  check_ends_after(flow(1), false);
  Frame hello = frame_of([](auto room) { return encode_hello(room, {}); });
  hello[kHeaderBytes] ^= 1;
  check_ends_after(hello, false);
}

BOOST_FIXTURE_TEST_CASE(who_never_greets_is_hung_up_on, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  while (liar->hear()) continue;  // its greeting, and the end
}

BOOST_FIXTURE_TEST_CASE(frames_out_of_turn_end_the_link, Served) {
  check_ends_after(flow(1));     // that number is taken
  check_ends_after(data(1, 2));  // the first is left out
  check_ends_after(
      frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kAck, .flow = 1, .ack = 1}); }));
  check_ends_after(
      frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kPong, .flow = 1}); }));
  Frame ping = frame_of([](auto room) { return encode_bare(room, {.type = FrameType::kPing, .flow = 1}); });
  ping.push_back(0);
  check_ends_after(ping);
  Frame items = data(1, 1);
  items[3] = 17;
  check_ends_after(items);
  Frame open = flow(2);
  open.pop_back();
  check_ends_after(open);
}

BOOST_FIXTURE_TEST_CASE(frames_of_flows_that_are_not_open_mean_nothing, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(data(3, 1));
  liar->say(flow(1));
  const std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowOk && header->flow == 1));
}

BOOST_FIXTURE_TEST_CASE(a_message_that_comes_again_is_taken_once, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(flow(1));
  BOOST_REQUIRE(liar->hear().has_value());
  for (int i = 0; i < 3; ++i) {
    liar->say(data(1, 1));
    const std::optional<Header> ack = liar->hear();
    BOOST_REQUIRE((ack && ack->type == FrameType::kAck));
    BOOST_TEST(ack->ack == 1U);
  }
}

BOOST_FIXTURE_TEST_CASE(nobody_sends_in_the_name_of_another, Served) {
  const Key theirs;
  const Key ours;
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  Flow asked{target, 1, 1, 0, {}, {}};
  asked.sender = Sender{theirs.public_key(), ours.sign({})};
  liar->say(frame_of([&](auto room) { return encode_flow(room, 1, asked); }));
  std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  BOOST_TEST((decode_flow_no(liar->heard())->why == Refusal::kNotAllowed));
  // Expect: nor with what another has shown on another link.
  asked.sender = Sender{theirs.public_key(), theirs.sign({})};
  liar->say(frame_of([&](auto room) { return encode_flow(room, 2, asked); }));
  header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
}

BOOST_FIXTURE_TEST_CASE(a_flow_is_of_who_has_opened_it, Served) {
  const std::unique_ptr<Liar> first = stranger();
  first->greet();
  first->say(flow(1));
  BOOST_REQUIRE((first->hear() && decode_header(first->heard())->type == FrameType::kFlowOk));
  // Expect: its numbers are of no use to another, who shows rightly who it is.
  const Key other;
  const std::unique_ptr<Liar> second = stranger();
  second->greet();
  Flow asked{target, 1, 1, 0, {}, {}};
  const Statement about = flow_statement({second->our_nonce, second->their_nonce}, 1, target, 1, 1);
  asked.sender = Sender{other.public_key(), other.sign(about)};
  second->say(frame_of([&](auto room) { return encode_flow(room, 1, asked); }));
  std::optional<Header> header = second->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  // Expect: with numbers of its own it is served.
  asked.flow_number = 2;
  asked.sender->signature =
      other.sign(flow_statement({second->our_nonce, second->their_nonce}, 2, target, 1, 2));
  second->say(frame_of([&](auto room) { return encode_flow(room, 2, asked); }));
  header = second->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
}

BOOST_FIXTURE_TEST_CASE(a_service_that_is_not_here_is_nobody, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(frame_of([&](auto room) { return encode_flow(room, 1, {IdBytes{1}, 1, 1, 0, {}, {}}); }));
  const std::optional<Header> header = liar->hear();
  BOOST_REQUIRE((header && header->type == FrameType::kFlowNo));
  BOOST_TEST((decode_flow_no(liar->heard())->why == Refusal::kNobody));
}

// ---------------------------------------------------------------- requests and long items

namespace {

Frame frame_with(const Data& data, std::uint64_t number = 1) {
  return frame_of([&](auto room) { return encode_data(room, 1, number, data); });
}
Data data_of_kind(std::uint8_t kind, std::uint64_t call = 0) {
  Data data;
  data.kind = kind;
  data.call = call;
  return data;
}
Data with_long_item(std::uint64_t bytes) {
  Data data;
  data.longs.count = 1;
  data.longs.bytes[0] = bytes;
  return data;
}
Frame bare_frame(FrameType type) {
  return frame_of([&](auto room) { return encode_bare(room, {.type = type, .flow = 1}); });
}

// A liar whose flow is open, and the bulk of its link.
struct LiarWithBulk {
  explicit LiarWithBulk(const Served& served) : link(served.stranger()) {
    link->greet();
    link->say(served.flow(1));
    BOOST_REQUIRE(link->hear().has_value());
    bulk = served.stranger();
    bulk->say(greeting());
    BOOST_REQUIRE((bulk->hear() && !decode_hello(bulk->heard())->is_of_bulk));
    BOOST_REQUIRE((bulk->hear() && decode_hello(bulk->heard())->is_of_bulk));
    BOOST_TEST((decode_hello(bulk->heard())->nonce == token()));
  }
  [[nodiscard]] Nonce token() const { return bulk_token({link->our_nonce, link->their_nonce}); }
  [[nodiscard]] Frame greeting() const {
    return frame_of([this](auto room) { return encode_hello(room, {kProtocolVersion, token(), true}); });
  }
  std::unique_ptr<Liar> link;
  std::unique_ptr<Liar> bulk;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(requests_and_replies_out_of_turn_end_the_link, Served) {
  check_ends_after(frame_with(data_of_kind(kIsReply, 1)));
  Frame early = frame_with({});
  renumber(early, 1, 1, 5);  // five replies are done, which nobody has sent
  check_ends_after(early);
  Frame cancel = bare_frame(FrameType::kCancel);
  cancel.push_back(0);
  check_ends_after(cancel);
  // Expect: no request is asked again before it is answered.
  answers = false;
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(flow(1));
  for (std::uint64_t number = 1; number <= 2; ++number)
    liar->say(frame_with(data_of_kind(kIsRequest, 7), number));
  while (liar->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(a_request_that_nobody_has_asked_is_not_cancelled, Served) {
  const std::unique_ptr<Liar> liar = stranger();
  liar->greet();
  liar->say(flow(1));
  liar->say(bare_frame(FrameType::kCancel));
  liar->say(frame_with({}));
  BOOST_REQUIRE((liar->hear()->type == FrameType::kFlowOk));
  BOOST_REQUIRE((liar->hear()->type == FrameType::kAck));
}

BOOST_FIXTURE_TEST_CASE(long_items_without_a_bulk_end_the_link, Served) {
  check_ends_after(frame_with(with_long_item(10)));
}

BOOST_FIXTURE_TEST_CASE(a_bulk_of_no_link_is_hung_up_on, Served) {
  check_ends_after(frame_of([](auto room) {
                     return encode_hello(room, {kProtocolVersion, {}, true});
                   }),
                   false);
  // Expect: nor is there a second one.
  const LiarWithBulk liar(*this);
  check_ends_after(liar.greeting(), false);
}

BOOST_FIXTURE_TEST_CASE(long_items_of_another_length_end_the_link, Served) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{9}, std::size_t{11}, std::size_t{100'000}}) {
    const LiarWithBulk liar(*this);
    liar.link->say(frame_with(with_long_item(10)));
    const Frame item(bytes, 1);
    exs_send_sync(liar.bulk->socket(), item.data(), item.size(), EXS_NO_IMMEDIATE, EXS_MHANDLE_UNREGISTERED);
    while (liar.link->hear()) continue;
    check_serves();
  }
}

BOOST_FIXTURE_TEST_CASE(a_bulk_that_ends_takes_its_link_along, Served) {
  LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  liar.bulk.reset();
  while (liar.link->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(no_more_than_sixty_four_wait_for_long_items_that_never_come, Served) {
  const LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  for (std::uint64_t number = 2; number <= 64; ++number) liar.link->say(frame_with({}, number));
  check_serves();
  liar.link->say(frame_with({}, 65));
  while (liar.link->hear()) continue;
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(long_items_that_never_come_end_the_link, Served) {
  const LiarWithBulk liar(*this);
  liar.link->say(frame_with(with_long_item(10)));
  while (liar.link->hear()) continue;
  check_serves();
}

// ---------------------------------------------------------------- lanes

namespace {

// Operations of exs that a test waits for.
struct Queue {
  Queue() : handle(exs_qcreate(8)) { BOOST_REQUIRE(handle != EXS_QHANDLE_INVALID); }
  ~Queue() { exs_qdelete(handle); }
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;
  [[nodiscard]] exs_event_t wait() const {
    exs_event_t event{};
    BOOST_REQUIRE(exs_qwait(handle, &event, 1, 1, -1) == 1);
    return event;
  }
  exs_qhandle_t handle;
};

Frame lane_greeting(const Nonce& token, std::uint32_t alias) {
  Hello hello;
  hello.nonce = token;
  hello.is_of_lane = true;
  hello.flow = alias;
  return frame_of([&](auto room) { return encode_hello(room, hello); });
}

// A liar whose flow is open, and its lane.
struct LiarWithLane {
  explicit LiarWithLane(const Served& served) : link(served.stranger()) {
    link->greet();
    link->say(served.flow(1));
    BOOST_REQUIRE(link->hear().has_value());
    lane = served.stranger();
    lane->say(greeting());
    BOOST_REQUIRE((lane->hear() && !decode_hello(lane->heard())->is_of_lane));
    BOOST_REQUIRE((lane->hear() && decode_hello(lane->heard())->is_of_lane));
    BOOST_TEST((decode_hello(lane->heard())->nonce == token()));
  }
  [[nodiscard]] Nonce token() const { return lane_token({link->our_nonce, link->their_nonce}, 1); }
  [[nodiscard]] Frame greeting() const { return lane_greeting(token(), 1); }
  // Whose reply may lie there.
  void ask(ReturnSlot slot) const {
    Data data = data_of_kind(kIsRequest, 1);
    data.returns = {slot};
    link->say(frame_with(data));
  }
  std::unique_ptr<Liar> link;
  std::unique_ptr<Liar> lane;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(a_lane_of_no_flow_is_hung_up_on, Served) {
  check_ends_after(lane_greeting({}, 1), false);
  // Expect: nor is there a second one, or that of another flow.
  const LiarWithLane liar(*this);
  check_ends_after(liar.greeting(), false);
  check_ends_after(lane_greeting(lane_token({liar.link->our_nonce, liar.link->their_nonce}, 2), 2), false);
}

BOOST_FIXTURE_TEST_CASE(replies_are_written_into_memory_that_is_named_and_there, Served) {
  std::array<char, 8192> memory{};
  const Queue queue;
  {
    const LiarWithLane liar(*this);
    const exs_mhandle_t region = exs_mregister(memory.data(), memory.size(), 0);
    BOOST_REQUIRE(exs_recv(liar.lane->socket(), memory.data(), memory.size(), EXS_PERSISTENT | EXS_NOTIFY,
                           queue.handle, nullptr, region) == 0);
    liar.ask({100, 5000});
    BOOST_TEST(queue.wait().exs_evt_type == EXS_EVT_PEER_WRITE);
    const std::optional<Header> header = liar.link->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kData));
    const std::optional<Data> said = decode_data(liar.link->heard(), *header);
    BOOST_REQUIRE((said && said->lane_count == std::uint64_t{1} && said->longs.bytes[0] == 5000));
    BOOST_TEST((std::string(memory.data() + 100, 5000) == answer));
    BOOST_TEST((memory[99] == 0 && memory[5100] == 0));
    // Expect: whoever names what is not there is left.
    Data data = data_of_kind(kIsRequest, 2);
    data.returns = {{3193, 5000}};
    liar.link->say(frame_with(data, 2));
    while (liar.link->hear()) continue;
  }
  BOOST_TEST(queue.wait().exs_evt_type == EXS_EVT_RECV);
  BOOST_TEST(memory[8191] == 0);
  check_serves();
}

BOOST_FIXTURE_TEST_CASE(what_comes_on_a_lane_ends_it_and_the_flow_goes_on, Served) {
  LiarWithLane liar(*this);
  liar.lane->say(liar.greeting());
  while (liar.lane->hear()) continue;
  liar.link->say(frame_with({}));
  BOOST_REQUIRE((liar.link->hear()->type == FrameType::kAck));
  // Expect: nor does a lane that takes nothing keep others from anything.
  const LiarWithLane idle(*this);
  idle.ask({0, 5000});
  check_serves();
}

// ---------------------------------------------------------------- impostors

namespace {

// Claims to be a service of which it has the record, and accepts one link.
class Impostor {
 public:
  Impostor() {
    listener_ = make_link_socket(AF_INET);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    BOOST_REQUIRE(exs_bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
    BOOST_REQUIRE(exs_listen(listener_, 4) == 0);
    BOOST_REQUIRE(exs_getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length) == 0);
    Record record{key.public_key(), 1, 1, std::vector<sockaddr_storage>(1)};
    std::memcpy(record.addresses.data(), &address, sizeof address);
    BOOST_REQUIRE(keeper_->claim(key.id(), encode_record(record, key)) == 0);
  }
  ~Impostor() {
    keeper_->unclaim(key.id());
    exs_close(listener_);
  }
  Impostor(const Impostor&) = delete;
  Impostor& operator=(const Impostor&) = delete;

  [[nodiscard]] std::unique_ptr<Liar> accept() const {
    const int socket = exs_accept_sync(listener_, nullptr, nullptr);
    BOOST_REQUIRE(socket >= 0);
    return std::make_unique<Liar>(socket);
  }
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
  std::shared_ptr<Housekeeper> keeper_ = Housekeeper::get();
  int listener_ = -1;
};

// A sender to it, in a thread, as the impostor waits in the test's.
class Sent {
 public:
  Sent() {
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
  struct Library {
    Library() { BOOST_REQUIRE(exs_init(EXS_VERSION) == 0); }
    ~Library() { exs_fini(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
  } library_;
  static exs_svc_node_options_t options() {
    exs_svc_node_options_t options{};
    options.struct_bytes = sizeof options;
    options.find_ns = 100 * kMs;
    return options;
  }
  const exs_svc_node_options_t options_ = options();
  TestNode node_{&options_};
  exs_svc_peer_t* peer_ = nullptr;
  std::atomic<bool> ends_{false};
  std::atomic<int> lost_error_{-1};
  std::thread thread_;

 public:
  Impostor impostor;
};

}  // namespace

// ---------------------------------------------------------------- services that write

namespace {

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
  struct Library {
    Library() { BOOST_REQUIRE(exs_init(EXS_VERSION) == 0); }
    ~Library() { exs_fini(); }
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
  } library_;
  std::string own_;
  TestNode node_;
  std::atomic<bool> ends_{false};
  std::thread thread_;

 public:
  Impostor impostor;
};

// The impostor's end of a link, up to the request, and of the lane.
struct Writer {
  explicit Writer(Asker& asker, bool is_known = false) : link(asker.impostor.asked()) {
    link->say(asker.impostor.agreement(*link, is_known ? 1 : 0, is_known));
    lane = asker.impostor.accept();
    lane->greet();
    const Nonce token = lane_token({link->their_nonce, link->our_nonce}, 1);
    BOOST_TEST((lane->their_nonce == token));
    lane->say(lane_greeting(token, 1));
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

}  // namespace

BOOST_FIXTURE_TEST_CASE(who_writes_reaches_the_memory_for_replies_and_nothing_else, Asker) {
  const Writer writer(*this);
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
    const Writer writer(asker);
    BOOST_TEST(writer.write("bytes", 0) == 0);
    writer.say_reply(lengths, lane_count);
    while (writer.link->hear()) continue;
    // Expect: the same reply without a lie is taken, on another link.
    const Writer honest(asker, true);
    BOOST_TEST(honest.write("bytes", writer.slot.offset) == 0);
    const_cast<Writer&>(honest).call = writer.call;
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
  std::optional<Writer> first(std::in_place, *this);
  const std::uint64_t call = first->call;
  const std::uint32_t offset = first->slot.offset;
  first->say_reply({5}, 1);
  // Expect: it is not taken before they are there, on whatever link.
  BOOST_REQUIRE(exs_shutdown(first->link->socket(), SHUT_WR) == 0);
  while (first->link->hear()) continue;
  Writer second(*this, true);
  second.call = call;
  second.say_reply({5}, 1);
  BOOST_TEST(second.write("there", offset) == 0);
  BOOST_TEST(reply() == "there");
}

BOOST_FIXTURE_TEST_CASE(who_cannot_sign_is_not_the_service, Sent) {
  const std::unique_ptr<Liar> liar = impostor.asked();
  const Key other;
  liar->say(frame_of([&](auto room) {
    return encode_flow_ok(room, 1, 0, {other.public_key(), 1, other.sign({}), false});
  }));
  BOOST_TEST(lost_error() == EPROTO);
}

BOOST_FIXTURE_TEST_CASE(who_has_signed_something_else_is_not_the_service, Sent) {
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

BOOST_FIXTURE_TEST_CASE(who_always_hangs_up_is_given_up, Sent) {
  for (int i = 0; i < 3; ++i) static_cast<void>(impostor.accept());
  BOOST_TEST(lost_error() > 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace exs::svc
