// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/control_packet.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/kernel.h"

namespace exs::shm {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(kPacketDescriptorsMax * sizeof(int));
// The kernel drops descriptors without room here, and closes them in our call.
constexpr std::size_t kPassedMax = 253;  // by one message, in Linux
constexpr std::size_t kReceivedControlBytes = CMSG_SPACE(kPassedMax * sizeof(int));

// Every descriptor that came is owned from here on, whatever the rest looks like.
void take_descriptors(msghdr& message, ReceivedPacket& received) {
  std::vector<UniqueFd> excess;
  for (cmsghdr* control = CMSG_FIRSTHDR(&message); control != nullptr;
       control = CMSG_NXTHDR(&message, control)) {
    if (control->cmsg_level != SOL_SOCKET || control->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int descriptor = -1;
      std::memcpy(&descriptor, CMSG_DATA(control) + i * sizeof descriptor, sizeof descriptor);
      UniqueFd owned(descriptor);
      if (received.descriptor_count < received.descriptors.size()) {
        received.descriptors[received.descriptor_count] = PassedDescriptor(std::move(owned));
      } else {
        excess.push_back(std::move(owned));
      }
      ++received.descriptor_count;
    }
  }
  if (!excess.empty()) close_elsewhere(std::move(excess));
}

}  // namespace

Status send_packet(int socket, const ControlPacket& packet, std::span<const int> descriptors) {
  iovec piece{const_cast<ControlPacket*>(&packet), sizeof packet};
  alignas(cmsghdr) std::byte control[kControlBytes]{};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* const header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
  }
  if (kernel::sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return {};
  return Status(errno == EWOULDBLOCK ? EAGAIN : errno);
}

Result<ReceivedPacket> receive_packet(int socket) {
  ReceivedPacket received;
  std::byte bytes[sizeof(ControlPacket) + 1];  // one more, so that a longer packet shows
  iovec piece{bytes, sizeof bytes};
  alignas(cmsghdr) std::byte control[kReceivedControlBytes];
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  constexpr int kFlags = MSG_DONTWAIT | MSG_CMSG_CLOEXEC;
  ssize_t length = kernel::recvmsg(socket, &message, kFlags);
  // If a peer left with unread packets, the kernel reports that first, once. Then it delivers what the peer
  // had sent.
  if (length < 0 && errno == ECONNRESET) length = kernel::recvmsg(socket, &message, kFlags);
  if (length < 0) return failure(errno == EWOULDBLOCK ? EAGAIN : errno);
  take_descriptors(message, received);
  if (length == 0) return failure(ECONNRESET);
  if (length != sizeof(ControlPacket)) return failure(EPROTO);
  if (received.descriptor_count > kPacketDescriptorsMax) return failure(EPROTO);
  if ((message.msg_flags & MSG_CTRUNC) != 0) return failure(EMFILE);
  std::memcpy(&received.packet, bytes, sizeof received.packet);
  return received;
}

}  // namespace exs::shm
