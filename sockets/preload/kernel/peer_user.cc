// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/peer_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "sockets/preload/kernel/identity.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

struct DiagQuestion {
  nlmsghdr header;
  inet_diag_req_v2 about;
};
struct DiagAnswer {
  nlmsghdr header;
  inet_diag_msg about;
};
constexpr std::size_t kAnswerBytes = 2048;

void put_address(const Point& point, __be32 (&words)[4]) noexcept {
  if (point.is_ipv4()) {
    std::memcpy(words, point.address + 12, sizeof *words);
  } else {
    std::memcpy(words, point.address, sizeof words);
  }
}

// Asks for the socket with the mirrored names.
DiagQuestion question_about(const Point& own, const Point& peer) noexcept {
  DiagQuestion question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& about = question.about;
  about.sdiag_family = own.is_ipv4() ? AF_INET : AF_INET6;
  about.sdiag_protocol = IPPROTO_TCP;
  about.idiag_ext = 1 << (INET_DIAG_INFO - 1);
  about.idiag_states = ~0U;
  about.id.idiag_sport = htons(peer.port);
  about.id.idiag_dport = htons(own.port);
  put_address(peer, about.id.idiag_src);
  put_address(own, about.id.idiag_dst);
  about.id.idiag_cookie[0] = about.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

// Returns the bytes of the answer; 0: no answer.
std::size_t ask(int number, const DiagQuestion& question, void* answer) noexcept {
  const long kernel = raw::sys(SYS_socket, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (kernel < 0) return 0;
  long count = -1;
  // The kernel answers before its send returns.
  if ((number < 0 || have_one_namespace(static_cast<int>(kernel), number)) &&
      raw::sys(SYS_sendto, kernel, &question, sizeof question, 0, nullptr, 0) == sizeof question)
    count = raw::sys(SYS_recvfrom, kernel, answer, kAnswerBytes, MSG_DONTWAIT, nullptr, nullptr);
  raw::sys(SYS_close, kernel);
  return count < 0 ? 0 : static_cast<std::size_t>(count);
}

void take_counts(const std::byte* attributes, std::size_t bytes, FarSocket& far) noexcept {
  constexpr std::size_t kNeeded = offsetof(tcp_info, tcpi_bytes_received) + sizeof far.received;
  while (bytes >= sizeof(nlattr)) {
    nlattr head;
    std::memcpy(&head, attributes, sizeof head);
    if (head.nla_len < sizeof head || head.nla_len > bytes) return;
    if (head.nla_type == INET_DIAG_INFO && head.nla_len >= sizeof head + kNeeded) {
      std::memcpy(&far.received, attributes + sizeof head + offsetof(tcp_info, tcpi_bytes_received),
                  sizeof far.received);
      far.has_counts = true;
    }
    const std::size_t next = std::min<std::size_t>(NLA_ALIGN(head.nla_len), bytes);
    attributes += next;
    bytes -= next;
  }
}

}  // namespace

FarSocket look_at_far_socket(int number, const Point& own, const Point& peer) noexcept {
  const DiagQuestion question = question_about(own, peer);
  alignas(DiagAnswer) std::byte room[kAnswerBytes];
  const std::size_t bytes = ask(number, question, room);
  FarSocket far;
  const auto& answer = *reinterpret_cast<const DiagAnswer*>(room);
  // NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): the kernel has filled so many bytes
  if (bytes >= sizeof(nlmsghdr) + sizeof(nlmsgerr) && answer.header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr error;
    std::memcpy(&error, room + sizeof(nlmsghdr), sizeof error);
    if (error.error == -ENOENT) far.is = FarSocket::Is::kNone;
    return far;
  }
  if (bytes < sizeof answer || answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return far;
  const inet_diag_sockid& id = answer.about.id;
  const inet_diag_sockid& asked = question.about.id;
  // The kernel falls back to a listening socket of the port.
  const bool is_it = id.idiag_dport == asked.idiag_dport && id.idiag_sport == asked.idiag_sport;
  far.is = is_it ? FarSocket::Is::kThere : FarSocket::Is::kNone;
  if (!is_it) return far;
  far.user = answer.about.idiag_uid;
  take_counts(room + sizeof answer, bytes - sizeof answer, far);
  return far;
}

bool user_of_socket(const Point& own, const Point& peer, uid_t& user) noexcept {
  const FarSocket socket = look_at_far_socket(-1, peer, own);
  user = socket.user;
  return socket.is == FarSocket::Is::kThere;
}

}  // namespace exs::sockets
