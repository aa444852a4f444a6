// The sockets of a multicast group. For IPv4 and IPv6 each, one socket receives from the group, and another sends and receives answers.
// If a host lacks one protocol, the other still works. Thread: one at a time.
//
// Design notes
//  1. Nothing leaves the link: all datagrams have a TTL, or hop limit, of 1.
//  2. The receiving socket shares its port with other processes of the host, so answers go to a port of the asker's own.
//  3. A flood takes a bounded part of the time. From a socket that always has more, only some datagrams are read in 10 ms, and the kernel
//     drops what it cannot keep meanwhile.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <functional>

#include "base/clock.h"
#include "base/unique_fd.h"
#include "service/names/datagram.h"
#include "service/names/multicast_setting.h"

namespace exs::svc {

class Group {
 public:
  explicit Group(MulticastSetting setting) : setting_(std::move(setting)) {}

  struct Arrival {
    sockaddr_storage from{};
    unsigned interface = 0;
    Bytes bytes;
  };
  // Joins the group on interfaces that exist by now.
  void refresh(std::uint64_t now);
  [[nodiscard]] const std::vector<Interface>& interfaces() const noexcept { return interfaces_; }
  void send(const Interface& to, Bytes datagram) const;
  void send(const sockaddr_storage& to, unsigned interface, Bytes datagram) const;
  // Takes the datagrams that have arrived.
  void receive(std::uint64_t now, const std::function<void(const Arrival&)>& take);
  // The descriptor is readable when a datagram has arrived.
  [[nodiscard]] int descriptor() const noexcept { return watch_.get(); }
  // The next time to read a socket that rests after a flood.
  [[nodiscard]] std::uint64_t next_time() const noexcept;

 private:
  struct Socket {
    UniqueFd descriptor;
    std::uint64_t rests_until_ns = 0;  // 0: the socket does not rest
  };
  // Sockets that receive from the group, and sockets that send, for each protocol.
  enum SocketIndex : std::uint8_t { kHears4, kHears6, kSpeaks4, kSpeaks6, kSockets };

  void open_all();
  void keep(SocketIndex place, UniqueFd socket);
  void join(const Interface& interface) const;
  bool receive_one(int socket, Arrival& arrival);
  void set_reading(Socket& socket, bool reads) const;
  [[nodiscard]] bool is_ours(const Arrival& arrival) const;

  const MulticastSetting setting_;
  UniqueFd watch_{make_watch()};
  std::array<Socket, kSockets> sockets_;
  std::vector<Interface> interfaces_;
  std::uint64_t refreshed_ns_ = 0;
  std::array<std::uint8_t, kDatagramMax + 1> room_{};

  static int make_watch();
};

}  // namespace exs::svc
