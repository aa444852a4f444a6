// The sockets of a multicast group, of IPv4 and IPv6: one of each hears what is said to the group, and one of each speaks, and hears
// answers. Without one of the two protocols, the other goes on. Thread: one at a time.
//
// Design notes
//  1. Nothing leaves the link: all datagrams have a TTL, or hop limit, of 1.
//  2. Who hears the group shares its port with others of the host; so answers go to a port of the asker's own.
//  3. A flood costs a part of the time alone: of a socket that always has more, some datagrams are read in 10 ms, and the kernel drops
//     what it cannot keep meanwhile.
#pragma once

#include <array>
#include <functional>

#include "service/names/clock.h"
#include "service/names/datagram.h"
#include "service/names/descriptor.h"
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
  // Joins on interfaces that are there by now.
  void refresh(std::int64_t now);
  [[nodiscard]] const std::vector<Interface>& interfaces() const noexcept { return interfaces_; }
  void send(const Interface& to, Bytes datagram) const;
  void send(const sockaddr_storage& to, unsigned interface, Bytes datagram) const;
  // Takes what has come.
  void receive(std::int64_t now, const std::function<void(const Arrival&)>& take);
  // Readable when something has come.
  [[nodiscard]] int descriptor() const noexcept { return watch_.get(); }
  // When a socket is to be read from again that has been read too often.
  [[nodiscard]] std::int64_t next_time() const noexcept;

 private:
  struct Socket {
    Descriptor descriptor;
    std::int64_t rests_until_ns = 0;  // 0: it does not
  };
  // What hears the group, and what speaks, of each protocol.
  enum Place : std::size_t { kHears4, kHears6, kSpeaks4, kSpeaks6, kPlaces };

  void open_all();
  void keep(Place place, Descriptor socket);
  void join(const Interface& interface) const;
  bool receive_one(int socket, Arrival& arrival);
  void set_reading(Socket& socket, bool reads) const;
  [[nodiscard]] bool is_ours(const Arrival& arrival) const;

  const MulticastSetting setting_;
  Descriptor watch_{make_watch()};
  std::array<Socket, kPlaces> sockets_;
  std::vector<Interface> interfaces_;
  std::int64_t refreshed_ns_ = 0;
  std::array<std::uint8_t, kDatagramMax + 1> room_{};

  static int make_watch();
};

}  // namespace exs::svc
