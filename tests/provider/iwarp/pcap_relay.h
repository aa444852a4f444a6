// A relay between two TCP peers that notes what it forwards, and writes it as a capture of one connection.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>

#include <cerrno>
#include <fstream>
#include <string>

#include "tests/provider/iwarp/frames.h"
#include "tests/provider/iwarp/sockets.h"

namespace exs::iwarp::test {

class PcapRelay {
 public:
  // Peers connect to `entry`; what they send goes on to `onward`.
  explicit PcapRelay(const ListeningSocket& onward) : onward_(onward) {}
  ListeningSocket entry;

  // Waits for the initiator, whose connect must be under way.
  void join() {
    sides_[0] = accept_from(entry);
    sides_[1] = connect_to(onward_);
    for (const Socket& side : sides_) ::fcntl(side.get(), F_SETFL, O_NONBLOCK);
  }

  // Forwards what is there. Returns whether anything moved.
  bool pump() {
    bool moved = false;
    for (int from = 0; from < 2; ++from) moved |= pump_from(from);
    return moved;
  }
  [[nodiscard]] bool ended() const { return ended_[0] && ended_[1]; }
  [[nodiscard]] int descriptor(int side) const { return sides_[side].get(); }

  // Raw IPv4 packets: the three of the TCP handshake, then one for each piece that was forwarded.
  void write_capture(const std::string& path) const {
    std::ofstream file(path, std::ios::binary);
    // Little-endian pcap header: magic, version 2.4, zone, accuracy, snap length, link type 101 (raw IP).
    const std::uint32_t header[] = {0xA1B2C3D4, 0x00040002, 0, 0, 0x40000, 101};
    file.write(reinterpret_cast<const char*>(header), sizeof header);
    std::uint32_t next[2] = {1000, 5000};
    write_packet(file, 0, kSyn, next, {});
    next[0]++;
    write_packet(file, 1, kSyn | kAck, next, {});
    next[1]++;
    write_packet(file, 0, kAck, next, {});
    for (const Piece& piece : pieces_) {
      write_packet(file, piece.from, kAck | kPush, next, piece.bytes);
      next[piece.from] += static_cast<std::uint32_t>(piece.bytes.size());
    }
  }

 private:
  struct Piece {
    int from;
    Bytes bytes;
  };
  static constexpr unsigned kSyn = 0x02;
  static constexpr unsigned kPush = 0x08;
  static constexpr unsigned kAck = 0x10;
  static constexpr std::size_t kPieceMax = 60000;  // fits one IPv4 packet

  bool pump_from(int from) {
    if (ended_[from]) return false;
    Bytes& waiting = waiting_[from];
    if (waiting.empty()) {
      waiting.resize(kPieceMax);
      const ssize_t got = ::recv(sides_[from].get(), waiting.data(), waiting.size(), 0);
      waiting.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
      if (got > 0) pieces_.push_back({from, waiting});
      if (got == 0 || (got < 0 && errno != EAGAIN)) {
        ended_[from] = true;
        ::shutdown(sides_[1 - from].get(), SHUT_WR);
      }
      if (got <= 0) return ended_[from];
    }
    const ssize_t sent = ::send(sides_[1 - from].get(), waiting.data(), waiting.size(), MSG_NOSIGNAL);
    if (sent > 0) waiting.erase(waiting.begin(), waiting.begin() + sent);
    if (sent < 0 && errno != EAGAIN) waiting.clear();
    return sent > 0;
  }

  static void write_packet(std::ofstream& file, int from, unsigned flags, const std::uint32_t* next,
                           const Bytes& payload) {
    constexpr std::uint16_t kPorts[] = {40000, 7174};
    Bytes packet = {std::byte{0x45}, std::byte{0}};
    append_number(packet, 40 + payload.size(), 2);
    append_number(packet, 0x00004000, 4);
    append_number(packet, 0x40060000, 4);
    append_number(packet, 0x7F000001U + static_cast<unsigned>(from), 4);
    append_number(packet, 0x7F000001U + static_cast<unsigned>(1 - from), 4);
    append_number(packet, kPorts[from], 2);
    append_number(packet, kPorts[1 - from], 2);
    append_number(packet, next[from], 4);
    append_number(packet, (flags & kAck) != 0 ? next[1 - from] : 0, 4);
    append_number(packet, 0x5000U | flags, 2);
    append_number(packet, 0xFFFF, 2);
    append_number(packet, 0, 4);
    packet.insert(packet.end(), payload.begin(), payload.end());
    const auto bytes = static_cast<std::uint32_t>(packet.size());
    const std::uint32_t record[] = {0, 0, bytes, bytes};
    file.write(reinterpret_cast<const char*>(record), sizeof record);
    file.write(reinterpret_cast<const char*>(packet.data()), static_cast<std::streamsize>(packet.size()));
  }

  const ListeningSocket& onward_;
  Socket sides_[2];
  bool ended_[2] = {false, false};
  Bytes waiting_[2];
  std::vector<Piece> pieces_;
};

}  // namespace exs::iwarp::test
