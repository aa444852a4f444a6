// SPDX-License-Identifier: BSD-2-Clause
#include "base/tcp_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>

#include <cstring>

#include "base/kernel.h"
#include "base/socket_address.h"
#include "base/unique_fd.h"

namespace exs {
namespace {

struct Question {
  nlmsghdr header{};
  inet_diag_req_v2 request{};
};

struct Answer {
  nlmsghdr header{};
  inet_diag_msg found{};
  char attributes[512]{};
};

void put_address(const sockaddr_storage& address, __be32 (&into)[4], __be16& port) {
  port = port_of(address);
  if (address.ss_family == AF_INET) {
    std::memcpy(into, &v4_host(*as_sockaddr(address)), sizeof(in_addr));
  } else {
    std::memcpy(into, &v6_host(*as_sockaddr(address)), sizeof(in6_addr));
  }
}

}  // namespace

std::optional<bool> peer_has_accepted(int descriptor) noexcept {
  sockaddr_storage ours{};
  sockaddr_storage peers{};
  socklen_t our_bytes = sizeof ours;
  socklen_t peer_bytes = sizeof peers;
  if (kernel::getsockname(descriptor, as_sockaddr(ours), &our_bytes) != 0 ||
      kernel::getpeername(descriptor, as_sockaddr(peers), &peer_bytes) != 0)
    return std::nullopt;
  Question question;
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  question.request.sdiag_family = static_cast<__u8>(ours.ss_family);
  question.request.sdiag_protocol = IPPROTO_TCP;
  question.request.idiag_states = ~0U;
  inet_diag_sockid& end = question.request.id;  // as that end sees it
  put_address(peers, end.idiag_src, end.idiag_sport);
  put_address(ours, end.idiag_dst, end.idiag_dport);
  end.idiag_cookie[0] = end.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  const UniqueFd netlink(kernel::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
  Answer answer;
  if (!netlink.valid() || kernel::send(netlink.get(), &question, sizeof question, 0) != sizeof question)
    return std::nullopt;
  const ssize_t bytes = kernel::recv(netlink.get(), &answer, sizeof answer, MSG_DONTWAIT);
  const bool found = bytes >= static_cast<ssize_t>(sizeof answer.header + sizeof answer.found) &&
                     answer.header.nlmsg_type == SOCK_DIAG_BY_FAMILY;
  if (!found) return std::nullopt;
  return answer.found.idiag_inode != 0;  // none before accept(2)
}

}  // namespace exs
