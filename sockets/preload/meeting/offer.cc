// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/meeting/offer.h"

#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "sockets/preload/ends/guests.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

constexpr std::uint64_t kOfferMagic = 0x31726566666f7865;  // "exoffer1"

struct Offer {
  std::uint64_t magic;
};

}  // namespace

Why send_offer(int to, int memfd) noexcept {
  Offer offer{kOfferMagic};
  iovec part{&offer, sizeof offer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof memfd)] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* const control = CMSG_FIRSTHDR(&message);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof memfd);
  std::memcpy(CMSG_DATA(control), &memfd, sizeof memfd);
  const long sent = raw::sys(SYS_sendmsg, to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent == sizeof offer) return Why::kNone;
  return sent == -EPIPE || sent == -ECONNRESET ? Why::kPeerLeft : Why::kNoDescriptors;
}

Why receive_offer(int from, int& memfd) noexcept {
  // The peer connects and sends in one call of its program, so this wait is short.
  constexpr long kPatienceNs = 10'000'000;
  pollfd ready{from, POLLIN, 0};
  timespec limit{0, kPatienceNs};
  raw::sys(SYS_ppoll, &ready, 1, &limit, nullptr, 0);
  raw::sys(SYS_shutdown, from, SHUT_RD);  // nothing can arrive between the receive and the close
  Offer offer{};
  iovec part{&offer, sizeof offer};
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = CMSG_LEN(sizeof(int));  // with padding there would be room for two descriptors
  const long count = raw::sys(SYS_recvmsg, from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  memfd = -1;
  const cmsghdr* const control = count < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (control != nullptr && control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_RIGHTS &&
      control->cmsg_len == CMSG_LEN(sizeof memfd))
    std::memcpy(&memfd, CMSG_DATA(control), sizeof memfd);
  const bool is_cut = (message.msg_flags & MSG_CTRUNC) != 0;
  if (memfd >= 0 && count == sizeof offer && offer.magic == kOfferMagic && !is_cut) return Why::kNone;
  close_passed(memfd);
  if (count == 0) return (ready.revents & POLLHUP) != 0 ? Why::kPeerLeft : Why::kBroken;
  return is_cut && memfd < 0 ? Why::kNoDescriptors : Why::kBroken;
}

}  // namespace exs::sockets
