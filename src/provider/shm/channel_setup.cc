// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel_setup.h"

#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/contain.h"
#include "base/kernel.h"
#include "src/log/log.h"
#include "src/provider/shm/listening_socket.h"
#include "src/provider/shm/probe.h"

namespace exs::shm {
namespace {

Reason lacking_descriptors(const char* call, int error) {
  return Reason::make(ReasonCode::kNoDescriptors, "%s: %s", call, std::strerror(error));
}

bool is_lack_of_descriptors(int error) {
  return error == EMFILE || error == ENFILE;
}

int open_pidfd(int socket, pid_t peer) {
#ifndef SO_PEERPIDFD
  constexpr int SO_PEERPIDFD = 77;
#endif
  int pidfd = -1;
  socklen_t bytes = sizeof pidfd;
  if (kernel::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &bytes) == 0) return pidfd;
  // For Linux before 6.5. The peer lives: its greeting has just arrived over the socket.
  return kernel::pidfd_open(peer);
}

}  // namespace

ChannelSetup::~ChannelSetup() {
  if (polled_) poller_.remove(parts_.socket.get());
}

void ChannelSetup::fail(const Reason& why) {
  if (polled_) poller_.remove(parts_.socket.get());
  polled_ = false;
  Channel::Parts nothing;
  nothing.accepted = parts_.accepted;
  nothing.peer_socket = parts_.peer_socket;
  parts_ = std::move(nothing);
  why_not_ = why;
  state_ = State::kFailed;
}

void ChannelSetup::refuse(const Reason& why) {
  if (parts_.accepted && parts_.socket.valid()) {
    ControlPacket refusal;
    refusal.kind = PacketKind::kRefusal;
    refusal.code = static_cast<std::uint32_t>(why.code);
    [[maybe_unused]] const Status sent = send_packet(parts_.socket.get(), refusal);
  }
  fail(why);
}

void ChannelSetup::connect(const RandomId& peer_socket) {
  parts_.peer_socket = peer_socket;
  parts_.socket =
      PeerSocket(UniqueFd(kernel::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)));
  if (!parts_.socket.valid()) {
    const int error = errno;
    return fail(is_lack_of_descriptors(error)
                    ? lacking_descriptors("socket", error)
                    : Reason::make(ReasonCode::kNoUnixSocket, "socket(AF_UNIX): %s", std::strerror(error)));
  }
  state_ = State::kConnecting;
  try_connect();
}

void ChannelSetup::try_connect() {
  const AbstractAddress address(parts_.peer_socket);
  if (kernel::connect(parts_.socket.get(), address.get(), address.bytes) != 0) {
    const int error = errno;
    if (error == EAGAIN || error == EINTR) return;
    return fail(Reason::make(ReasonCode::kNoUnixSocket, "connect to the peer's abstract socket: %s",
                             std::strerror(error)));
  }
  if (!check_user()) return;
  if (const Status status = poller_.add(parts_.socket.get(), EPOLLIN, *this); !status.ok()) {
    return fail(Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error())));
  }
  polled_ = true;
  state_ = State::kAwaitsAcceptorGreeting;
}

void ChannelSetup::accept(PeerSocket socket) {
  parts_.socket = std::move(socket);
  parts_.accepted = true;
  if (!check_user() || !send_greeting(PacketKind::kAcceptorGreeting)) return;
  if (const Status status = poller_.add(parts_.socket.get(), EPOLLIN, *this); !status.ok()) {
    return fail(Reason::make(ReasonCode::kFailed, "epoll_ctl: %s", std::strerror(status.error())));
  }
  polled_ = true;
  state_ = State::kAwaitsConnectorGreeting;
}

bool ChannelSetup::check_user() {
  const Result<Credentials> peer = Credentials::of_peer(parts_.socket.get());
  if (!peer) {
    refuse(Reason::make(ReasonCode::kFailed, "SO_PEERCRED: %s", std::strerror(peer.error().error())));
    return false;
  }
  peer_uid_ = peer->uid;
  parts_.peer_pid = peer->pid;
  if (settings_.users.allow(peer->uid, kernel::geteuid())) return true;
  refuse(Reason::make(ReasonCode::kOtherUser, "the peer runs as uid %u, this process as %u",
                      static_cast<unsigned>(peer->uid), static_cast<unsigned>(kernel::geteuid())));
  return false;
}

bool ChannelSetup::make_greeting(ControlPacket& greeting, UniqueFd& memfd) {
  parts_.doorbell = UniqueFd(kernel::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!parts_.doorbell.valid()) {
    refuse(lacking_descriptors("eventfd", errno));
    return false;
  }
  Result<Mapping> segment = Mapping::create(kSegmentBytes, memfd);
  if (!segment) {
    const int error = segment.error().error();
    refuse(is_lack_of_descriptors(error)
               ? lacking_descriptors("memfd_create", error)
               : Reason::make(ReasonCode::kNoMemfd, "memfd_create, or its sealing or mapping: %s",
                              std::strerror(error)));
    return false;
  }
  parts_.segment = std::move(*segment);
  if (!offer_probe(greeting).ok()) {
    refuse(Reason::make(ReasonCode::kFailed, "getrandom gives nothing"));
    return false;
  }
  greeting.version = kLayoutVersion;
  greeting.length_bytes = kSegmentBytes;
  return true;
}

bool ChannelSetup::send_greeting(PacketKind kind) {
  ControlPacket greeting;
  greeting.kind = kind;
  UniqueFd memfd;
  if (!make_greeting(greeting, memfd)) return false;
  const int descriptors[] = {memfd.get(), parts_.doorbell.get()};
  if (const Status status = send_packet(parts_.socket.get(), greeting, descriptors); !status.ok()) {
    refuse(status.error() == ETOOMANYREFS
               ? lacking_descriptors("sendmsg", status.error())
               : Reason::make(ReasonCode::kFailed, "the peer has left the set-up: %s",
                              std::strerror(status.error())));
    return false;
  }
  return true;
}

bool ChannelSetup::apply_greeting(ReceivedPacket& received) {
  const ControlPacket& greeting = received.packet;
  if (greeting.version != kLayoutVersion || greeting.length_bytes != kSegmentBytes) {
    refuse(Reason::make(ReasonCode::kFailed, "the peer's shared memory is of version %u, ours of %u",
                        static_cast<unsigned>(greeting.version), static_cast<unsigned>(kLayoutVersion)));
    return false;
  }
  const auto& [memfd, doorbell] = received.descriptors;
  // We write to the doorbell, so it must be an eventfd; any other file could block the writer.
  if (received.descriptor_count != kPacketDescriptorsMax || !is_eventfd(doorbell.get())) {
    refuse(Reason::make(ReasonCode::kFailed, "the peer's set-up is malformed: its descriptors"));
    return false;
  }
  Result<Mapping> segment = Mapping::of_peer(memfd.get(), kSegmentBytes);
  if (!segment) {
    refuse(Reason::make(ReasonCode::kFailed, "the peer's segment cannot be mapped: %s",
                        std::strerror(segment.error().error())));
    return false;
  }
  parts_.peer_segment = std::move(*segment);
  // Another user could make our write block by filling the counter and setting the description to blocking;
  // one of the same user could stop us anyway. Packets never block.
  if (peer_uid_ == kernel::geteuid()) parts_.peer_doorbell = received.descriptors[1].release();
  return find_peer_process(greeting);
}

bool ChannelSetup::find_peer_process(const ControlPacket& greeting) {
  int error = 0;
  if (parts_.peer_pid != 0 && parts_.peer_pid != kernel::getpid()) {
    parts_.peer_pidfd = UniqueFd(open_pidfd(parts_.socket.get(), parts_.peer_pid));
    if (!parts_.peer_pidfd.valid()) error = errno;
  }
  if (is_lack_of_descriptors(error)) {
    refuse(lacking_descriptors("pidfd_open", error));
    return false;
  }
  if (!settings_.process_vm) {
    parts_.why_not = Reason::make(ReasonCode::kNoPtrace, "turned off by EXS_SHM_PROCESS_VM=0");
  } else if (error != 0) {  // its number could mean another process one day
    parts_.why_not = Reason::make(ReasonCode::kNoPtrace, "pidfd_open: %s", std::strerror(error));
  } else {
    parts_.reads_memory = probe_memory(parts_.peer_pid, greeting, parts_.why_not);
  }
  return true;
}

void ChannelSetup::handle_refusal(const ControlPacket& refusal) {
  switch (static_cast<ReasonCode>(refusal.code)) {
    case ReasonCode::kOtherUser:
      return fail(Reason::make(ReasonCode::kOtherUser, "the peer, uid %u, does not allow uid %u",
                               static_cast<unsigned>(peer_uid_), static_cast<unsigned>(kernel::geteuid())));
    case ReasonCode::kNoMemfd:
      return fail(Reason::make(ReasonCode::kNoMemfd, "the peer cannot make a memfd"));
    case ReasonCode::kNoDescriptors:
      return fail(Reason::make(ReasonCode::kNoDescriptors, "the peer has no descriptor left"));
    default: return fail(Reason::make(ReasonCode::kFailed, "the peer refuses the set-up"));
  }
}

void ChannelSetup::ready(std::uint32_t) {
  contain([this] { take_packet(); }, [this] { fail(Reason::make(ReasonCode::kFailed, "no memory")); });
}

void ChannelSetup::take_packet() {
  if (state_ != State::kAwaitsAcceptorGreeting && state_ != State::kAwaitsConnectorGreeting) return;
  Result<ReceivedPacket> received = receive_packet(parts_.socket.get());
  if (!received) {
    switch (const int error = received.error().error()) {
      case EAGAIN:
      case EINTR: return;
      case EMFILE: return refuse(lacking_descriptors("recvmsg", error));
      case EPROTO: return refuse(Reason::make(ReasonCode::kFailed, "the peer's set-up is malformed"));
      default: return fail(Reason::make(ReasonCode::kFailed, "the peer has left the set-up"));
    }
  }
  const PacketKind kind = received->packet.kind;
  if (state_ == State::kAwaitsAcceptorGreeting && kind == PacketKind::kRefusal)
    return handle_refusal(received->packet);
  const PacketKind expected = state_ == State::kAwaitsAcceptorGreeting ? PacketKind::kAcceptorGreeting
                                                                       : PacketKind::kConnectorGreeting;
  if (kind != expected) return refuse(Reason::make(ReasonCode::kFailed, "the peer's set-up is malformed"));
  if (!apply_greeting(*received)) return;
  if (kind == PacketKind::kAcceptorGreeting && !send_greeting(PacketKind::kConnectorGreeting)) return;
  // The following packets of the socket belong to the channel.
  poller_.remove(parts_.socket.get());
  polled_ = false;
  state_ = State::kReady;
}

Channel::Parts ChannelSetup::take_parts() {
  return std::move(parts_);
}

}  // namespace exs::shm
