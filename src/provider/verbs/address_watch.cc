// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/verbs/address_watch.h"

#include <libmnl/libmnl.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "base/kernel.h"

namespace exs::verbs {
namespace {

// IFA_LOCAL where there is one: IFA_ADDRESS is the far end of a point-to-point interface.
struct Addresses {
  const nlattr* local = nullptr;
  const nlattr* far = nullptr;
};

int read_attribute(const nlattr* attribute, void* into) {
  auto& addresses = *static_cast<Addresses*>(into);
  switch (::mnl_attr_get_type(attribute)) {
    case IFA_LOCAL: addresses.local = attribute; break;
    case IFA_ADDRESS: addresses.far = attribute; break;
    default: break;
  }
  return MNL_CB_OK;
}

template <typename Address>
bool read_address(const nlattr* attribute, Address& into) {
  if (::mnl_attr_validate2(attribute, MNL_TYPE_BINARY, sizeof into) != 0) return false;
  std::memcpy(&into, ::mnl_attr_get_payload(attribute), sizeof into);
  return true;
}

int read_message(const nlmsghdr* message, void* gone) {
  if (message->nlmsg_type != RTM_DELADDR || ::mnl_nlmsg_get_payload_len(message) < sizeof(ifaddrmsg))
    return MNL_CB_OK;
  Addresses addresses;
  ::mnl_attr_parse(message, sizeof(ifaddrmsg), read_attribute, &addresses);
  const nlattr* const address = addresses.local != nullptr ? addresses.local : addresses.far;
  if (address == nullptr) return MNL_CB_OK;

  sockaddr_storage lost{};
  lost.ss_family = static_cast<const ifaddrmsg*>(::mnl_nlmsg_get_payload(message))->ifa_family;
  const bool known =
      (lost.ss_family == AF_INET && read_address(address, reinterpret_cast<sockaddr_in&>(lost).sin_addr)) ||
      (lost.ss_family == AF_INET6 && read_address(address, reinterpret_cast<sockaddr_in6&>(lost).sin6_addr));
  if (known) (*static_cast<const AddressWatch::Gone*>(gone))(reinterpret_cast<const sockaddr&>(lost));
  return MNL_CB_OK;
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
    ::mnl_cb_run(room.data(), static_cast<std::size_t>(got), 0, 0, read_message, &gone_);
  }
}

}  // namespace exs::verbs
