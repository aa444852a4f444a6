// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/channel.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/contain.h"
#include "base/kernel.h"
#include "src/log/log.h"

namespace exs::shm {
namespace {

// Bounds a peer that never stops. More packets than fit into a socket's buffer, so that a region which was
// announced before its use is always found.
constexpr int kReadsAtOnce = 1024;

bool is_for_directory(PacketKind kind) {
  return kind == PacketKind::kJoin || kind == PacketKind::kJoined || kind == PacketKind::kJoinRefused ||
         kind == PacketKind::kRefusal;
}

}  // namespace

Channel::Channel(Poller& poller, Parts parts)
    : poller_(poller),
      parts_(std::move(parts)),
      out_(parts_.segment.bytes()),
      in_(parts_.peer_segment.bytes()) {}

Channel::~Channel() {
  end(Status(ECANCELED));
}

Status Channel::start() {
  watched_ = EPOLLIN;
  if (const Status status = poller_.add(parts_.socket.get(), watched_, *this); !status.ok()) return status;
  if (const Status status = poller_.add(parts_.doorbell.get(), EPOLLIN | EPOLLET, doorbell_); !status.ok()) {
    return status;
  }
  if (!parts_.peer_pidfd.valid()) return {};
  return poller_.add(parts_.peer_pidfd.get(), EPOLLIN, peer_exit_);
}

void Channel::end(Status why) {
  if (is_over()) return;
  status_ = why;
  const auto let_go = [this](auto& descriptor) {
    if (descriptor.valid()) poller_.remove(descriptor.get());
    descriptor.reset();
  };
  let_go(parts_.socket);
  for (UniqueFd* descriptor : {&parts_.doorbell, &parts_.peer_doorbell, &parts_.peer_pidfd})
    let_go(*descriptor);
  unsent_.clear();
  peer_regions_.clear();
  parts_.reads_memory = false;
}

bool Channel::peer_process_lives() const {
  if (is_over() || parts_.peer_pid == 0) return false;
  if (!parts_.peer_pidfd.valid() && parts_.peer_pid != kernel::getpid()) return false;
  return !peer_is_gone();
}

bool Channel::peer_is_gone() const {
  if (is_over()) return true;
  // The socket, too: it goes when the process becomes another program.
  pollfd ends[] = {{parts_.peer_pidfd.get(), POLLIN, 0}, {parts_.socket.get(), 0, 0}};
  return kernel::poll(ends, std::size(ends), 0) > 0;
}

Result<std::uint32_t> Channel::reserve_link() {
  if (is_over()) return failure(ECONNRESET);
  return links_.reserve();
}

void Channel::wake_peer() {
  if (is_over()) return;
  if (!parts_.peer_doorbell.valid()) {
    // Full: the peer has packets to read already, which wake it.
    ControlPacket packet;
    packet.kind = PacketKind::kWakeUp;
    [[maybe_unused]] const Status sent = send_packet(parts_.socket.get(), packet);
    return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = kernel::write(parts_.peer_doorbell.get(), &one, sizeof one);
}

Status Channel::announce(MemoryKey key, int shared_fd, std::size_t length_bytes) {
  if (is_over()) return Status(ECONNRESET);
  if (announced_.contains(key.value)) return {};
  if (!unsent_.empty()) return Status(EAGAIN);
  if (announced_.size() >= PeerRegions::kRegionsMax) return Status(ENOSPC);
  announced_.insert(key.value);
  ControlPacket packet;
  packet.kind = PacketKind::kShareRegion;
  packet.key = key.value;
  packet.length_bytes = length_bytes;
  const Status status = send_packet(parts_.socket.get(), packet, {&shared_fd, 1});
  if (!status.ok()) announced_.erase(key.value);
  return status;
}

void Channel::retract(MemoryKey key) {
  if (is_over() || announced_.erase(key.value) == 0) return;
  ControlPacket packet;
  packet.kind = PacketKind::kRetractRegion;
  packet.key = key.value;
  send(packet);
}

const PeerRegions::View* Channel::region(std::uint32_t key) {
  const PeerRegions::View* const known = peer_regions_.find(key);
  if (known != nullptr) return known;
  read_socket();
  return peer_regions_.find(key);
}

void Channel::send(const ControlPacket& packet) {
  if (is_over()) return;
  if (unsent_.count() >= kUnsentMax) {
    log(LogLevel::kWarn, "shm: process {} does not read its channel's socket; the channel ends",
        parts_.peer_pid);
    return end(Status(EPROTO));
  }
  contain([&] { unsent_.push_back(packet); }, [this] { end(Status(ENOMEM)); });
  send_unsent();
}

void Channel::send_unsent() {
  if (is_over()) return;
  while (!unsent_.empty()) {
    const Status status = send_packet(parts_.socket.get(), unsent_.front());
    if (status.error() == EAGAIN) break;
    if (!status.ok()) {
      // The packets before the peer's end are still unread; reading shows the socket's end.
      unsent_.clear();
      break;
    }
    unsent_.pop_front();
  }
  watch_socket();
}

// Does not watch for reading while received packets are unhandled. The socket's end shows all the same.
void Channel::watch_socket() {
  if (is_over()) return;
  const std::uint32_t wanted = (received_.count() < kReceivedMax ? EPOLLIN : 0U) |
                               (unsent_.empty() ? 0U : static_cast<std::uint32_t>(EPOLLOUT));
  if (wanted == watched_) return;
  watched_ = wanted;
  poller_.change(parts_.socket.get(), wanted, *this);
}

bool Channel::take_packet(ControlPacket& packet) {
  if (received_.empty()) return false;
  packet = received_.pop_front();
  watch_socket();
  return true;
}

void Channel::ready(std::uint32_t events) {
  if (is_over()) return;
  if ((events & EPOLLOUT) != 0) send_unsent();
  read_socket();
}

// Stops receiving when there is no room for what was received.
void Channel::read_socket() {
  contain([this] { take_packets(); }, [this] { end(Status(ENOMEM)); });
}

void Channel::take_packets() {
  for (int i = 0; i < kReadsAtOnce && !is_over() && received_.count() < kReceivedMax; ++i) {
    Result<ReceivedPacket> received = receive_packet(parts_.socket.get());
    if (!received) {
      const int error = received.error().error();
      if (error == EAGAIN || error == EINTR) break;
      return end(Status(error == EPROTO ? EPROTO : ECONNRESET));
    }
    if (const Status status = handle_packet(*received); !status.ok()) return end(status);
  }
  watch_socket();
}

Status Channel::handle_packet(ReceivedPacket& received) {
  const ControlPacket& packet = received.packet;
  if (packet.kind == PacketKind::kShareRegion) return peer_regions_.map(received);
  if (received.descriptor_count != 0) return Status(EPROTO);
  if (packet.kind == PacketKind::kWakeUp) return {};
  if (packet.kind == PacketKind::kRetractRegion) {
    peer_regions_.unmap(packet.key);
    return {};
  }
  if (!is_for_directory(packet.kind)) return Status(EPROTO);
  received_.push_back(packet);
  return {};
}

}  // namespace exs::shm
