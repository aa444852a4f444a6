// Hand-made FPDUs, written without the codec under test, and a receiver with a client that notes what it is
// told.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "src/provider/iwarp/crc32c.h"
#include "src/provider/iwarp/receiver.h"

namespace exs::iwarp::test {

using Bytes = std::vector<std::byte>;

inline Bytes from_hex(std::string_view text) {
  Bytes bytes;
  unsigned value = 0;
  bool high = true;
  for (const char c : text) {
    if (c == ' ') continue;
    const unsigned digit = static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10);
    value = high ? digit << 4 : value | digit;
    if (!high) bytes.push_back(static_cast<std::byte>(value));
    high = !high;
  }
  return bytes;
}

inline std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return text;
}

// The bytes themselves, for comparisons.
inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

inline void append_number(Bytes& to, std::uint64_t value, int width_bytes) {
  for (int i = width_bytes - 1; i >= 0; --i) to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

// Length, pad and CRC around a ULPDU; the CRC is always right, so it suits a receiver with CRC on or off.
inline Bytes framed(const Bytes& ulpdu) {
  Bytes frame;
  append_number(frame, ulpdu.size(), 2);
  frame.insert(frame.end(), ulpdu.begin(), ulpdu.end());
  while (frame.size() % 4 != 0) frame.push_back(std::byte{0});
  std::byte crc[4];
  store_crc(crc, crc_add(kCrcStart, frame));
  frame.insert(frame.end(), crc, crc + 4);
  return frame;
}

// `ddp` and `rdmap` are the control bytes.
inline Bytes tagged_fpdu(unsigned ddp, unsigned rdmap, std::uint32_t stag, std::uint64_t offset,
                         const Bytes& payload) {
  Bytes ulpdu{static_cast<std::byte>(ddp), static_cast<std::byte>(rdmap)};
  append_number(ulpdu, stag, 4);
  append_number(ulpdu, offset, 8);
  ulpdu.insert(ulpdu.end(), payload.begin(), payload.end());
  return framed(ulpdu);
}

struct Untagged {
  unsigned ddp = 0x41;
  unsigned rdmap = 0x43;
  std::uint32_t invalidate = 0;
  std::uint32_t queue = 0;
  std::uint32_t number = 1;
  std::uint32_t offset = 0;
};
inline Bytes untagged_fpdu(const Untagged& head, const Bytes& payload) {
  Bytes ulpdu{static_cast<std::byte>(head.ddp), static_cast<std::byte>(head.rdmap)};
  append_number(ulpdu, head.invalidate, 4);
  append_number(ulpdu, head.queue, 4);
  append_number(ulpdu, head.number, 4);
  append_number(ulpdu, head.offset, 4);
  ulpdu.insert(ulpdu.end(), payload.begin(), payload.end());
  return framed(ulpdu);
}

inline Bytes send_fpdu(std::uint32_t number, const Bytes& payload) {
  Untagged head;
  head.number = number;
  return untagged_fpdu(head, payload);
}
inline Bytes write_fpdu(std::uint32_t stag, std::uint64_t offset, const Bytes& payload) {
  return tagged_fpdu(0xC1, 0x40, stag, offset, payload);
}
inline Bytes read_request_fpdu(std::uint32_t number, std::uint32_t sink, std::uint32_t length,
                               std::uint32_t source, std::uint64_t offset, unsigned ddp = 0x41,
                               std::uint32_t queue = 1) {
  Bytes body;
  append_number(body, sink, 4);
  append_number(body, 0, 8);
  append_number(body, length, 4);
  append_number(body, source, 4);
  append_number(body, offset, 8);
  Untagged head;
  head.ddp = ddp;
  head.rdmap = 0x41;
  head.queue = queue;
  head.number = number;
  return untagged_fpdu(head, body);
}

inline Bytes joined(std::initializer_list<Bytes> parts) {
  Bytes whole;
  for (const Bytes& part : parts) whole.insert(whole.end(), part.begin(), part.end());
  return whole;
}

// A receiver with four receives of 100 bytes, one window of 1000 bytes in each direction, room for two
// inbound reads and one read of 300 bytes on the wire.
struct ReceiverRig : ReceiverClient {
  explicit ReceiverRig(bool crc, std::size_t receive_bytes = 100, std::size_t read_bytes = 300)
      : rooms(4, Bytes(receive_bytes)), sink(read_bytes) {
    receiver.configure(crc, 2);
    for (std::size_t i = 0; i < rooms.size(); ++i) receiver.post_receive({rooms[i], i});
    receiver.post_read({sink, kSink, 77});
    reads.on_wire = 1;
    reads.limit = 1;
    write_stag = *windows.open(writable, Access::kRemoteWrite);
    read_stag = *windows.open(readable, Access::kRemoteRead);
  }

  bool takes_message(std::span<const std::byte>) override { return false; }
  void message_received(std::uint64_t token, std::uint32_t length_bytes) override {
    told += "message " + std::to_string(token) + " " + std::to_string(length_bytes) + "\n";
  }
  void read_completed(std::uint64_t token) override { told += "read " + std::to_string(token) + "\n"; }
  void read_requested(const ReadRequest& request, const std::byte* source) override {
    told += "requested " + std::to_string(request.sink_stag) + " " + std::to_string(request.length_bytes) +
            " at " + std::to_string(source == nullptr ? 0 : source - readable.data()) + "\n";
  }
  // Everything an input may change.
  [[nodiscard]] std::string outcome() const {
    std::string text = told + "writable " + as_text(writable) + "\nsink " + as_text(sink) + "\n";
    for (const Bytes& room : rooms) text += "room " + as_text(room) + "\n";
    if (receiver.state() == ReceiverState::kFaulted) text += receiver.fault().what;
    if (receiver.state() == ReceiverState::kTerminated)
      text += "terminated " + to_hex(receiver.terminate_word());
    return text;
  }

  static constexpr std::uint32_t kSink = 0xABCD01;
  std::string told;
  std::vector<Bytes> rooms;
  Bytes sink;
  Bytes writable = Bytes(1000);
  Bytes readable = Bytes(1000, std::byte{0x5A});
  ReadBudget reads;
  WindowTable windows{TagKey{0x1234567890ABCDEF, 0}};
  std::uint32_t write_stag = 0;
  std::uint32_t read_stag = 0;
  Receiver receiver{*this, windows, reads};
};

// Feeds pieces, through payload_target() when `direct` as a socket would.
inline void feed(Receiver& receiver, std::span<const std::byte> piece, bool direct) {
  while (direct && !piece.empty()) {
    const std::span<std::byte> target = receiver.payload_target();
    if (target.empty()) break;
    const std::size_t placed = std::min(target.size(), piece.size());
    std::copy_n(piece.begin(), placed, target.begin());
    receiver.placed(placed);
    piece = piece.subspan(placed);
    const std::size_t between = std::min(receiver.bytes_between_payloads(), piece.size());
    receiver.consume(piece.first(between));
    piece = piece.subspan(between);
  }
  receiver.consume(piece);
}

}  // namespace exs::iwarp::test
