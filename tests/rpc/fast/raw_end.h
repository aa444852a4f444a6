// An end of a connection of exs-rpc whose every frame is the test's own.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <boost/test/unit_test.hpp>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rpc/channel/frame.h"
#include "rpc/fast/greeting.h"
#include "rpc/fast/header.h"
#include "tests/rpc/fast/everything_server.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {

using Bytes = std::vector<std::byte>;

inline constexpr std::uint32_t kLongest = 1 << 20;

inline Bytes operator+(Bytes left, const Bytes& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}
template <typename Words>
Bytes raw(const Words& words) {
  const auto bytes = rpc::bytes_of(words);
  return {bytes.begin(), bytes.end()};
}

inline Bytes message(rpc::CallMessage kind, std::uint16_t procedure, std::uint32_t sequence,
                     const Bytes& body = {}) {
  rpc::CallHeader header;
  header.kind = kind;
  header.procedure = procedure;
  header.sequence = sequence;
  header.length = static_cast<std::uint32_t>(body.size());
  return raw(header) + body;
}

inline Bytes table_of_everything() {
  Bytes table;
  for (const rpc::TableEntry& entry : rpc::table_of(everything_one_interface)) table = table + raw(entry);
  return table;
}

inline Bytes hello() {
  rpc::ProgramHello hello;
  hello.program = everything_one_interface.program;
  hello.version = everything_one_interface.version;
  return raw(hello);
}

// An end whose every frame is the test's own.
class RawEnd {
 public:
  enum class Receiving { kNo, kYes };

  explicit RawEnd(int socket, Receiving receiving = Receiving::kYes) : socket_(socket) {
    if (receiving == Receiving::kYes) post_receive();
  }
  explicit RawEnd(std::uint16_t port, Receiving receiving = Receiving::kYes)
      : RawEnd(connected(port), receiving) {}
  ~RawEnd() { close(); }
  RawEnd(const RawEnd&) = delete;
  RawEnd& operator=(const RawEnd&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  void close() {
    if (socket_ >= 0) exs_close(std::exchange(socket_, -1));
  }
  void send_raw(const Bytes& bytes) {
    exs_send(socket_, bytes.data(), bytes.size(), EXS_NO_EVENT, queue_.handle(), nullptr,
             EXS_MHANDLE_UNREGISTERED);
  }
  void send(rpc::FrameType type, const Bytes& body) {
    Bytes frame(rpc::kFrameBytes);
    rpc::put_frame({type, static_cast<std::uint32_t>(body.size()), false}, frame.data());
    send_raw(frame + body);
  }
  void send_frame_alone(rpc::FrameType type, std::uint32_t length) {
    Bytes frame(rpc::kFrameBytes);
    rpc::put_frame({type, length, false}, frame.data());
    send_raw(frame);
  }
  // The next frame, header and all; none: the connection has ended.
  Bytes receive() {
    if (has_ended_) return {};
    exs_event_t event{};
    while (exs_qwait(queue_.handle(), &event, 1, 1, -1) != 1) continue;
    const std::size_t bytes = event.exs_evt_union.exs_evt_xfer.exs_evt_length;
    if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) return {};
    Bytes got(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(bytes));
    post_receive();
    return got;
  }
  void greet() {
    send(rpc::FrameType::kHello, hello());
    send(rpc::FrameType::kMessage, message(rpc::CallMessage::kTable, 0, 0, table_of_everything()));
    BOOST_REQUIRE(!receive().empty());
    BOOST_REQUIRE(!receive().empty());
  }

 private:
  static int connected(std::uint16_t port) {
    const int socket = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
    exs_fcntl(socket, EXS_F_SET_SMALL_MAX, rpc::kFrameBytes + rpc::kInlineBytes);
    sockaddr_in address = address_of_host(port);
    BOOST_REQUIRE_EQUAL(exs_connect_sync(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address),
                        0);
    return socket;
  }
  // No macro of Boost's: a false server's end belongs to another thread than the test's.
  void post_receive() {
    has_ended_ =
        exs_recv(socket_, in_.data(), in_.size(), 0, queue_.handle(), nullptr, EXS_MHANDLE_UNREGISTERED) != 0;
  }

  Queue queue_{64};
  std::vector<std::byte> in_ = std::vector<std::byte>(rpc::kFrameBytes + rpc::kInlineBytes);
  int socket_;
  bool has_ended_ = false;
};

inline Bytes words(std::initializer_list<std::uint32_t> numbers) {
  Bytes bytes;
  for (const std::uint32_t number : numbers) bytes = bytes + raw(number);
  return bytes;
}

// Listens as a server would, and greets one client.
class FalseServer {
 public:
  explicit FalseServer(std::uint16_t port = 0) {
    sockaddr_in address = address_of_host(port);
    socklen_t length = sizeof address;
    auto* const generic = reinterpret_cast<sockaddr*>(&address);
    exs_fcntl(socket_, EXS_F_SET_SMALL_MAX, rpc::kFrameBytes + rpc::kInlineBytes);
    BOOST_REQUIRE_EQUAL(exs_bind(socket_, generic, length), 0);
    BOOST_REQUIRE_EQUAL(exs_listen(socket_, 1), 0);
    BOOST_REQUIRE_EQUAL(exs_getsockname(socket_, generic, &length), 0);
    port_ = ntohs(address.sin_port);
  }
  ~FalseServer() { exs_close(socket_); }
  FalseServer(const FalseServer&) = delete;
  FalseServer& operator=(const FalseServer&) = delete;

  [[nodiscard]] std::string port() const { return std::to_string(port_); }
  [[nodiscard]] std::uint16_t number() const { return port_; }
  std::unique_ptr<RawEnd> accept() {
    return std::make_unique<RawEnd>(exs_accept_sync(socket_, nullptr, nullptr));
  }
  static void greet(RawEnd& end) {
    end.receive();
    end.receive();
    end.send(rpc::FrameType::kWelcome, words({0, 8, kLongest, 0}));
    end.send(rpc::FrameType::kMessage,
             message(rpc::CallMessage::kTable, 0, 0, Bytes(everything_one_interface.procedures_count)));
  }

 private:
  int socket_ = exs_socket(AF_INET, SOCK_SEQPACKET, 0);
  std::uint16_t port_ = 0;
};

}  // namespace exs::test
