#include "sockets/preload/peer_user.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstring>

#include "sockets/preload/raw.h"

namespace exs::sockets {
namespace {

struct Question {
  nlmsghdr header;
  inet_diag_req_v2 about;
};
struct Answer {
  nlmsghdr header;
  inet_diag_msg about;
};

void put_address(const Point& point, __be32 (&words)[4]) noexcept {
  if (point.is_ipv4()) {
    std::memcpy(words, point.address + 12, sizeof *words);
  } else {
    std::memcpy(words, point.address, sizeof words);
  }
}

Question question_about(const Point& own, const Point& peer) noexcept {
  Question question{};
  question.header.nlmsg_len = sizeof question;
  question.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.header.nlmsg_flags = NLM_F_REQUEST;
  inet_diag_req_v2& about = question.about;
  about.sdiag_family = own.is_ipv4() ? AF_INET : AF_INET6;
  about.sdiag_protocol = IPPROTO_TCP;
  about.idiag_states = ~0U;
  about.id.idiag_sport = htons(own.port);
  about.id.idiag_dport = htons(peer.port);
  put_address(own, about.id.idiag_src);
  put_address(peer, about.id.idiag_dst);
  about.id.idiag_cookie[0] = about.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  return question;
}

}  // namespace

bool user_of_socket(const Point& own, const Point& peer, uid_t& user) noexcept {
  const long kernel = raw::sys(SYS_socket, AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  if (kernel < 0) return false;
  const Question question = question_about(own, peer);
  alignas(Answer) char answer[512];
  // The kernel answers before its send returns.
  const bool told =
      raw::sys(SYS_sendto, kernel, &question, sizeof question, 0, nullptr, 0) == sizeof question &&
      raw::sys(SYS_recvfrom, kernel, answer, sizeof answer, MSG_DONTWAIT, nullptr, nullptr) >=
          static_cast<long>(sizeof(Answer));
  raw::sys(SYS_close, kernel);
  const auto& found = *reinterpret_cast<const Answer*>(answer);
  if (!told || found.header.nlmsg_type != SOCK_DIAG_BY_FAMILY) return false;
  const inet_diag_sockid& id = found.about.id;
  const inet_diag_sockid& asked = question.about.id;
  // The kernel falls back to a listening socket of the port.
  if (id.idiag_dport != asked.idiag_dport || id.idiag_sport != asked.idiag_sport) return false;
  user = found.about.idiag_uid;
  return true;
}

}  // namespace exs::sockets
