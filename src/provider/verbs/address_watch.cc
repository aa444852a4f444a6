#include "src/provider/verbs/address_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "src/base/kernel.h"

namespace exs::verbs {
namespace {

// The address of a message that tells of a lost one. False: it is about something else.
bool lost_address(const nlmsghdr& message, sockaddr_storage& into) {
  if (message.nlmsg_type != RTM_DELADDR || message.nlmsg_len < NLMSG_LENGTH(sizeof(ifaddrmsg))) return false;
  const auto* const about = static_cast<const ifaddrmsg*>(NLMSG_DATA(&message));
  auto left = static_cast<int>(IFA_PAYLOAD(&message));
  // IFA_LOCAL where there is one: IFA_ADDRESS is the far end of a point-to-point interface.
  bool found = false;
  for (const rtattr* attribute = IFA_RTA(about); RTA_OK(attribute, left);
       attribute = RTA_NEXT(attribute, left)) {
    if (attribute->rta_type != IFA_LOCAL && (attribute->rta_type != IFA_ADDRESS || found)) continue;
    const std::size_t length = RTA_PAYLOAD(attribute);
    into = {};
    into.ss_family = about->ifa_family;
    if (about->ifa_family == AF_INET && length == sizeof(in_addr)) {
      std::memcpy(&reinterpret_cast<sockaddr_in&>(into).sin_addr, RTA_DATA(attribute), length);
      found = true;
    } else if (about->ifa_family == AF_INET6 && length == sizeof(in6_addr)) {
      std::memcpy(&reinterpret_cast<sockaddr_in6&>(into).sin6_addr, RTA_DATA(attribute), length);
      found = true;
    }
    if (attribute->rta_type == IFA_LOCAL) break;
  }
  return found;
}

}  // namespace

void AddressWatch::start(Poller& poller) {
  if (netlink_.valid()) return;
  UniqueFd made(kernel::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl groups{};
  groups.nl_family = AF_NETLINK;
  groups.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (!made.valid() ||
      kernel::bind(made.get(), reinterpret_cast<const sockaddr*>(&groups), sizeof groups) != 0)
    return;
  if (poller.add(made.get(), EPOLLIN, *this).ok()) netlink_ = std::move(made);
}

void AddressWatch::ready(std::uint32_t) {
  alignas(nlmsghdr) std::array<char, 8192> room;
  for (;;) {
    const ssize_t got = kernel::recv(netlink_.get(), room.data(), room.size(), MSG_DONTWAIT);
    if (got <= 0) return;
    auto left = static_cast<unsigned>(got);
    for (const auto* message = reinterpret_cast<const nlmsghdr*>(room.data()); NLMSG_OK(message, left);
         message = NLMSG_NEXT(message, left)) {
      sockaddr_storage lost;
      if (lost_address(*message, lost)) gone_(reinterpret_cast<const sockaddr&>(lost));
    }
  }
}

}  // namespace exs::verbs
