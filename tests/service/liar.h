// Ends that do not keep to the protocol.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <optional>
#include <thread>

#include "exs/exs.h"
#include "service/names/address.h"
#include "service/names/name_service.h"
#include "service/names/record.h"
#include "service/names/statements.h"
#include "service/node/link.h"
#include "tests/service/outcomes.h"
#include "tests/service/world.h"

namespace exs::svc::test {

using Frame = std::vector<std::uint8_t>;

template <typename Encode>
Frame frame_of(Encode encode) {
  std::array<std::uint8_t, kFrameMax> room;
  const Encoded frame = encode(std::span<std::uint8_t>(room));
  return {frame.begin(), frame.end()};
}

inline Frame greeting_of(const Hello& hello) {
  return frame_of([&](auto room) { return encode_hello(room, hello); });
}
inline Hello lane_hello(const Nonce& token, std::uint32_t alias) {
  Hello hello;
  hello.nonce = token;
  hello.is_of_lane = true;
  hello.flow = alias;
  return hello;
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
    std::unique_ptr<Liar> liar = trying(address);
    BOOST_REQUIRE(liar != nullptr);
    return liar;
  }
  // NULL: it is hung up on.
  static std::unique_ptr<Liar> trying(const sockaddr_storage& address, std::size_t message_bytes = kFrameMax,
                                      int credits = 64) {
    auto liar = std::make_unique<Liar>(make_link_socket(address.ss_family));
    exs_fcntl(liar->socket(), EXS_F_SET_SMALL_MAX, message_bytes);
    exs_fcntl(liar->socket(), EXS_F_SET_SEND_CREDITS, credits);
    const auto* const to = as_sockaddr(address);
    return exs_connect_sync(liar->socket(), to, address_bytes(address)) == 0 ? std::move(liar) : nullptr;
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
    say(greeting_of({}));
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
  explicit Served(const exs_svc_node_options_t* options = nullptr) : node(options), service_(node.open(key)) {
    std::optional<Record> record;
    UniqueFd asked;
    const exs_svc_id_t id = id_of(key);
    std::copy(std::begin(id.bytes), std::end(id.bytes), target.begin());
    BOOST_REQUIRE(exs::svc::test::take(ask_host_name(target), asked) == 0);
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

  [[nodiscard]] std::unique_ptr<Liar> stranger() const { return Liar::connected_to(address); }
  // One who has asked for flow 1; it has not heard the answer yet.
  [[nodiscard]] std::unique_ptr<Liar> asking() const {
    std::unique_ptr<Liar> liar = stranger();
    liar->greet();
    liar->say(flow(1));
    return liar;
  }
  [[nodiscard]] std::unique_ptr<Liar> opened() const {
    std::unique_ptr<Liar> liar = asking();
    const std::optional<Header> header = liar->hear();
    BOOST_REQUIRE((header && header->type == FrameType::kFlowOk));
    return liar;
  }
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
  void check_ends_after(const Frame& frame, bool is_opened = true) const {
    const std::unique_ptr<Liar> liar = is_opened ? opened() : stranger();
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

inline Frame frame_with(const Data& data, std::uint64_t number = 1) {
  return frame_of([&](auto room) { return encode_data(room, 1, number, data); });
}
inline Data data_of_kind(std::uint8_t kind, std::uint64_t call = 0) {
  Data data;
  data.kind = kind;
  data.call = call;
  return data;
}
inline Data with_long_item(std::uint64_t bytes) {
  Data data;
  data.longs.count = 1;
  data.longs.bytes[0] = bytes;
  return data;
}
inline Frame bare_frame(FrameType type) {
  return frame_of([&](auto room) { return encode_bare(room, {.type = type, .flow = 1}); });
}

}  // namespace exs::svc::test
