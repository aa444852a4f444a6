// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/raw_peer.h"

#include <sys/socket.h>
#include <sys/time.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/bytes.h"
#include "src/provider/iwarp/mpa.h"
#include "src/wire/codec.h"
#include "tests/support/exs_fixture.h"

namespace exs::test {
namespace {

void require(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "raw peer: %s: %s\n", what, errno_name(errno).c_str());
  std::abort();
}

// A receive that takes longer than any test should fails that test.
void limit_waits(int descriptor) {
  const timeval limit{kHangLimitSeconds, 0};
  ::setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

// Length of the frame that begins with these bytes, from the length field to the CRC.
std::size_t whole_frame_bytes(const std::byte* start) {
  const std::size_t unpadded = iwarp::kLengthFieldBytes + load_be<std::uint16_t>(start);
  return unpadded + iwarp::trailer_bytes(unpadded);
}

}  // namespace

Bytes bytes_of(std::string_view text) {
  Bytes bytes(text.size());
  std::memcpy(bytes.data(), text.data(), text.size());
  return bytes;
}

wire::HelloFields honest_hello() {
  return {.version_min = wire::kVersionMin,
          .version_max = wire::kVersionMax,
          .kind = 1,
          .send_credits = 32,
          .receive_credits = 32,
          .small_bytes = 1024,
          .read_depth = 16};
}

RawPeer::RawPeer(const sockaddr_in& address) : connection_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const auto* generic_address = reinterpret_cast<const sockaddr*>(&address);
  require(::connect(connection_.get(), generic_address, sizeof address) == 0, "connect");
}

bool RawPeer::send(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(connection_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
  return true;
}

Bytes RawPeer::receive(std::size_t count) {
  limit_waits(connection_.get());
  Bytes bytes(count);
  std::size_t filled = 0;
  while (filled < count) {
    const ssize_t got = ::recv(connection_.get(), bytes.data() + filled, count - filled, 0);
    if (got < 0 && errno == EINTR) continue;
    require(got >= 0 || errno == ECONNRESET, "bytes or the end of the stream within the limit");
    if (got <= 0) break;
    filled += static_cast<std::size_t>(got);
  }
  bytes.resize(filled);
  return bytes;
}

void RawPeer::await_end() {
  while (!receive(1).empty()) {
  }
}

void RawPeer::reset() {
  const linger at_once{1, 0};
  ::setsockopt(connection_.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  connection_.reset();
}

void RawPeer::end_sending() {
  ::shutdown(connection_.get(), SHUT_WR);
}

// ---------------------------------------------------------------- MPA

void RawPeer::request(const wire::HelloFields& hello) {
  std::array<std::byte, wire::kHelloBytes> bytes{};
  wire::encode_hello(hello, bytes);
  request_with(bytes);
}

void RawPeer::request_with(std::span<const std::byte> private_data) {
  iwarp::MpaFrame frame;
  frame.inbound_reads = 16;
  frame.outbound_reads = 16;
  frame.is_exs = true;
  frame.private_data = private_data;
  const iwarp::MpaBytes bytes = iwarp::encode_mpa(frame);
  send({bytes.bytes.data(), bytes.length});
}

bool RawPeer::take_handshake() {
  constexpr std::byte kRejected{0x20};
  const Bytes header = receive(iwarp::kMpaHeaderBytes);
  if (header.size() < iwarp::kMpaHeaderBytes) return false;
  receive(load_be<std::uint16_t>(header.data() + 18));
  return (header[16] & kRejected) == std::byte{0};
}

void RawPeer::reply(const wire::HelloFields& hello) {
  std::array<std::byte, wire::kHelloBytes> private_data{};
  wire::encode_hello(hello, private_data);
  iwarp::MpaFrame frame;
  frame.role = iwarp::MpaRole::kReply;
  frame.inbound_reads = 16;
  frame.outbound_reads = 16;
  frame.is_exs = true;
  frame.private_data = private_data;
  const iwarp::MpaBytes bytes = iwarp::encode_mpa(frame);
  send({bytes.bytes.data(), bytes.length});
}

void RawPeer::reject(std::span<const std::byte> private_data) {
  iwarp::MpaFrame frame;
  frame.role = iwarp::MpaRole::kReply;
  frame.rejected = true;
  frame.is_exs = true;
  frame.private_data = private_data;
  const iwarp::MpaBytes bytes = iwarp::encode_mpa(frame);
  send({bytes.bytes.data(), bytes.length});
}

void RawPeer::connect_as_exs(const wire::HelloFields& hello) {
  request(hello);
  require(take_handshake(), "an MPA reply that accepts");
  message(wire::MessageType::kReady);
}

// ---------------------------------------------------------------- frames

void RawPeer::frame(std::span<const std::byte> header, std::span<const std::byte> payload) {
  Bytes bytes(header.begin(), header.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  bytes.resize(bytes.size() + iwarp::trailer_bytes(bytes.size()));
  send(bytes);
}

void RawPeer::message_bytes(std::span<const std::byte> bytes) {
  std::array<std::byte, iwarp::kUntaggedHeaderBytes> header{};
  iwarp::store_untagged(header.data(), {.opcode = iwarp::Opcode::kSend,
                                        .last = true,
                                        .invalidate_stag = 0,
                                        .queue = iwarp::kSendQueue,
                                        .message = next_send_++,
                                        .message_offset = 0,
                                        .payload_bytes = static_cast<std::uint32_t>(bytes.size())});
  frame(header, bytes);
}

void RawPeer::message(const wire::Message& message, std::span<const std::byte> payload) {
  wire::FixedBytes fixed{};
  const std::span<const std::byte> encoded = wire::encode(message, fixed);
  Bytes bytes(encoded.begin(), encoded.end());
  bytes.insert(bytes.end(), payload.begin(), payload.end());
  message_bytes(bytes);
}

void RawPeer::message(wire::MessageType type, std::uint8_t flags, std::uint16_t credits,
                      std::uint32_t sequence) {
  wire::Message made;
  made.header = {type, flags, credits, sequence};
  message(made);
}

void RawPeer::read_request(const iwarp::ReadRequest& request) {
  std::array<std::byte, iwarp::kReadRequestBytes> header{};
  iwarp::store_read_request(header.data(), next_read_++, request);
  frame(header, {});
}

std::optional<RawPeer::Frame> RawPeer::next_frame() {
  Frame frame;
  frame.bytes = receive(iwarp::kControlBytes);
  if (frame.bytes.size() < iwarp::kControlBytes) return std::nullopt;
  frame.controls = iwarp::load_controls(frame.bytes.data());
  const Bytes rest = receive(whole_frame_bytes(frame.bytes.data()) - iwarp::kControlBytes);
  frame.bytes.insert(frame.bytes.end(), rest.begin(), rest.end());
  return frame;
}

std::optional<wire::Message> RawPeer::next_message() {
  while (const auto frame = next_frame()) {
    const bool is_send =
        !frame->controls.tagged && static_cast<iwarp::Opcode>(frame->controls.opcode) == iwarp::Opcode::kSend;
    if (!is_send) continue;
    const auto header = iwarp::load_untagged(frame->bytes.data());
    const std::span<const std::byte> whole(frame->bytes);
    const auto message = wire::decode(whole.subspan(iwarp::kUntaggedHeaderBytes, header.payload_bytes));
    require(message.has_value(), "a well-formed message");
    return *message;
  }
  return std::nullopt;
}

std::optional<wire::Message> RawPeer::next_message(wire::MessageType type) {
  for (;;) {
    auto message = next_message();
    if (!message || message->header.type == type) return message;
  }
}

// ---------------------------------------------------------------- listening

RawListener::RawListener(int backlog) : listening_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address = loopback();
  require(::bind(listening_.get(), generic(address), sizeof address) == 0, "bind");
  require(::listen(listening_.get(), backlog) == 0, "listen");
}

sockaddr_in RawListener::address() const {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  require(::getsockname(listening_.get(), generic(address), &length) == 0, "getsockname");
  return address;
}

RawPeer RawListener::accept() const {
  limit_waits(listening_.get());
  UniqueFd connection(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  require(connection.valid(), "a connection within the limit");
  return RawPeer(std::move(connection));
}

}  // namespace exs::test
