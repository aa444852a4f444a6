// SPDX-License-Identifier: BSD-2-Clause
#include "service/names/group.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "service/names/address.h"

namespace exs::svc {
namespace {

constexpr const char* kGroup4 = "239.255.69.88";
constexpr const char* kGroup6 = "ff02::4558";
constexpr std::uint64_t kRefreshNs = 1000 * kNsPerMs;
constexpr std::uint64_t kRestNs = 10 * kNsPerMs;
constexpr int kDatagramsAtOnce = 64;

bool set(int socket, int level, int option, int value) {
  return kernel::setsockopt(socket, level, option, &value, sizeof value) == 0;
}

UniqueFd make_socket(int family) {
  UniqueFd socket(kernel::socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket.valid()) return socket;
  const bool is_set = family == AF_INET ? set(socket.get(), IPPROTO_IP, IP_MULTICAST_TTL, 1) &&
                                              set(socket.get(), IPPROTO_IP, IP_TTL, 1) &&
                                              set(socket.get(), IPPROTO_IP, IP_MULTICAST_ALL, 0) &&
                                              set(socket.get(), IPPROTO_IP, IP_PKTINFO, 1)
                                        : set(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1) &&
                                              set(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 1) &&
                                              set(socket.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, 1) &&
                                              set(socket.get(), IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0) &&
                                              set(socket.get(), IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
  return is_set ? std::move(socket) : UniqueFd();
}

sockaddr_storage group_address(int family, std::uint16_t port, unsigned interface) {
  sockaddr_storage address{};
  if (family == AF_INET) {
    auto& ip4 = reinterpret_cast<sockaddr_in&>(address);
    ip4.sin_family = AF_INET;
    ip4.sin_port = htons(port);
    ::inet_pton(AF_INET, kGroup4, &ip4.sin_addr);
  } else {
    auto& ip6 = reinterpret_cast<sockaddr_in6&>(address);
    ip6.sin6_family = AF_INET6;
    ip6.sin6_port = htons(port);
    ip6.sin6_scope_id = interface;
    ::inet_pton(AF_INET6, kGroup6, &ip6.sin6_addr);
  }
  return address;
}

// IPv6 binds to all addresses, because the group exists once on each link.
UniqueFd make_hearing(int family, std::uint16_t port) {
  UniqueFd socket = make_socket(family);
  sockaddr_storage address = group_address(family, port, 0);
  if (family == AF_INET6) reinterpret_cast<sockaddr_in6&>(address).sin6_addr = in6addr_any;
  if (!socket.valid() || !set(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1) ||
      kernel::bind(socket.get(), as_sockaddr(address), address_bytes(address)) != 0)
    return {};
  return socket;
}

void send_by(int socket, const sockaddr_storage& to, unsigned interface, Bytes datagram) {
  union {
    std::array<char, CMSG_SPACE(sizeof(in_pktinfo)) + CMSG_SPACE(sizeof(in6_pktinfo))> room;
    cmsghdr alignment;
  } control{};
  iovec piece{const_cast<std::uint8_t*>(datagram.data()), datagram.size()};
  msghdr message{};
  message.msg_name = const_cast<sockaddr_storage*>(&to);
  message.msg_namelen = address_bytes(to);
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.room.data();
  message.msg_controllen = control.room.size();
  cmsghdr* const head = CMSG_FIRSTHDR(&message);
  if (to.ss_family == AF_INET) {
    in_pktinfo info{};
    info.ipi_ifindex = static_cast<int>(interface);
    *head = {CMSG_LEN(sizeof info), IPPROTO_IP, IP_PKTINFO};
    std::memcpy(CMSG_DATA(head), &info, sizeof info);
    message.msg_controllen = CMSG_SPACE(sizeof info);
  } else {
    in6_pktinfo info{};
    info.ipi6_ifindex = interface;
    *head = {CMSG_LEN(sizeof info), IPPROTO_IPV6, IPV6_PKTINFO};
    std::memcpy(CMSG_DATA(head), &info, sizeof info);
    message.msg_controllen = CMSG_SPACE(sizeof info);
  }
  // A datagram that cannot leave counts as lost.
  static_cast<void>(kernel::sendmsg(socket, &message, MSG_NOSIGNAL));
}

unsigned interface_of(msghdr& message) {
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level == IPPROTO_IP && head->cmsg_type == IP_PKTINFO) {
      in_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(head), sizeof info);
      return static_cast<unsigned>(info.ipi_ifindex);
    }
    if (head->cmsg_level == IPPROTO_IPV6 && head->cmsg_type == IPV6_PKTINFO) {
      in6_pktinfo info{};
      std::memcpy(&info, CMSG_DATA(head), sizeof info);
      return info.ipi6_ifindex;
    }
  }
  return 0;
}

}  // namespace

int Group::make_watch() {
  const int watch = kernel::epoll_create1(EPOLL_CLOEXEC);
  if (watch < 0) throw std::system_error(errno, std::generic_category());
  return watch;
}

void Group::open_all() {
  for (const auto& [place, family] : {std::pair{kHears4, AF_INET}, std::pair{kHears6, AF_INET6}})
    if (!sockets_[place].descriptor.valid()) keep(place, make_hearing(family, setting_.port));
  for (const auto& [place, family] : {std::pair{kSpeaks4, AF_INET}, std::pair{kSpeaks6, AF_INET6}})
    if (!sockets_[place].descriptor.valid()) keep(place, make_socket(family));
}

void Group::keep(SocketIndex place, UniqueFd socket) {
  if (!socket.valid()) return;
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u32 = place;
  if (kernel::epoll_ctl(watch_.get(), EPOLL_CTL_ADD, socket.get(), &event) != 0) return;
  sockets_[place].descriptor = std::move(socket);
}

void Group::refresh(std::uint64_t now) {
  if (refreshed_ns_ != 0 && now < refreshed_ns_ + kRefreshNs) return;
  refreshed_ns_ = now;
  open_all();
  interfaces_ = interfaces_of(setting_);
  for (const Interface& interface : interfaces_) join(interface);
}

// A repeated join has no effect.
void Group::join(const Interface& interface) const {
  ip_mreqn of4{};
  ::inet_pton(AF_INET, kGroup4, &of4.imr_multiaddr);
  of4.imr_ifindex = static_cast<int>(interface.index);
  kernel::setsockopt(sockets_[kHears4].descriptor.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &of4, sizeof of4);
  ipv6_mreq of6{};
  ::inet_pton(AF_INET6, kGroup6, &of6.ipv6mr_multiaddr);
  of6.ipv6mr_interface = interface.index;
  kernel::setsockopt(sockets_[kHears6].descriptor.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &of6, sizeof of6);
}

void Group::send(const Interface& to, Bytes datagram) const {
  for (const auto& [place, family] : {std::pair{kSpeaks4, AF_INET}, std::pair{kSpeaks6, AF_INET6}})
    send_by(sockets_[place].descriptor.get(), group_address(family, setting_.port, to.index), to.index,
            datagram);
}

void Group::send(const sockaddr_storage& to, unsigned interface, Bytes datagram) const {
  const SocketIndex place = to.ss_family == AF_INET ? kSpeaks4 : kSpeaks6;
  send_by(sockets_[place].descriptor.get(), to, interface, datagram);
}

bool Group::is_ours(const Arrival& arrival) const {
  return std::any_of(interfaces_.begin(), interfaces_.end(),
                     [&](const Interface& one) { return one.index == arrival.interface; });
}

void Group::receive(std::uint64_t now, const std::function<void(const Arrival&)>& take) {
  for (Socket& socket : sockets_) {
    if (!socket.descriptor.valid() || now < socket.rests_until_ns) continue;
    if (socket.rests_until_ns != 0) set_reading(socket, true);
    int left = kDatagramsAtOnce;
    Arrival arrival;
    while (left > 0 && receive_one(socket.descriptor.get(), arrival)) {
      --left;
      if (is_ours(arrival)) take(arrival);
    }
    if (left > 0) continue;
    set_reading(socket, false);
    socket.rests_until_ns = time_after(now, kRestNs);
  }
}

void Group::set_reading(Socket& socket, bool reads) const {
  epoll_event event{};
  event.events = reads ? std::uint32_t{EPOLLIN} : 0U;
  kernel::epoll_ctl(watch_.get(), EPOLL_CTL_MOD, socket.descriptor.get(), &event);
  socket.rests_until_ns = 0;
}

bool Group::receive_one(int socket, Arrival& arrival) {
  union {
    std::array<char, CMSG_SPACE(sizeof(in_pktinfo)) + CMSG_SPACE(sizeof(in6_pktinfo))> room;
    cmsghdr alignment;
  } control{};
  arrival = {};
  iovec piece{room_.data(), room_.size()};
  msghdr message{};
  message.msg_name = &arrival.from;
  message.msg_namelen = sizeof arrival.from;
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.room.data();
  message.msg_controllen = control.room.size();
  const ssize_t bytes = kernel::recvmsg(socket, &message, MSG_DONTWAIT);
  if (bytes < 0)
    return errno == ECONNREFUSED || errno == EHOSTUNREACH;  // an ICMP error for an earlier datagram
  arrival.interface = interface_of(message);
  arrival.bytes = Bytes(room_).first(static_cast<std::size_t>(bytes));
  return true;
}

std::uint64_t Group::next_time() const noexcept {
  std::uint64_t time = kNeverNs;
  for (const Socket& socket : sockets_)
    if (socket.rests_until_ns != 0) time = std::min(time, socket.rests_until_ns);
  return time;
}

}  // namespace exs::svc
