// One end of a set-up played by the test, which may say anything.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstddef>
#include <span>
#include <vector>

#include "src/provider/shm/channel_setup.h"
#include "src/provider/shm/probe.h"
#include "tests/provider/shm/halves.h"

namespace exs::shm::test {

inline UniqueFd make_doorbell() {
  return UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

inline UniqueFd make_memfd(std::size_t bytes, int seals) {
  UniqueFd memfd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  require(memfd.valid() && ::ftruncate(memfd.get(), static_cast<off_t>(bytes)) == 0, "memfd_create");
  require(::fcntl(memfd.get(), F_ADD_SEALS, seals) == 0, "F_ADD_SEALS");
  return memfd;
}

inline constexpr int kGoodSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// A greeting without fault.
inline ControlPacket greeting(PacketKind kind) {
  ControlPacket packet;
  packet.kind = kind;
  packet.version = kLayoutVersion;
  packet.length_bytes = kSegmentBytes;
  require(offer_probe(packet).ok(), "offer_probe");
  return packet;
}

class RawEnd {
 public:
  explicit RawEnd(UniqueFd socket) noexcept : socket_(std::move(socket)) {}
  // Connects to that port.
  explicit RawEnd(const RandomId& peer_socket)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const AbstractAddress address(peer_socket);
    connected = ::connect(socket_.get(), address.get(), address.bytes) == 0;
  }

  bool send(const ControlPacket& packet, std::span<const int> descriptors = {}) const {
    return send_packet(socket_.get(), packet, descriptors).ok();
  }
  bool send_bytes(std::span<const std::byte> bytes) const {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  }
  // As a peer without fault would, up to and with its greeting.
  bool send_greeting(PacketKind kind) const {
    const UniqueFd memfd = make_memfd(kSegmentBytes, kGoodSeals), doorbell = make_doorbell();
    const int descriptors[] = {memfd.get(), doorbell.get()};
    return send(greeting(kind), descriptors);
  }
  // EAGAIN: nothing.
  [[nodiscard]] Result<ReceivedPacket> receive() const { return receive_packet(socket_.get()); }
  void leave() { socket_.reset(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  bool connected = false;

 private:
  UniqueFd socket_;
};

// A port's abstract socket, played by the test.
class RawListener {
 public:
  explicit RawListener(int backlog = 16)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    socket_id = *random_id();
    const AbstractAddress address(socket_id);
    require(::bind(socket_.get(), address.get(), address.bytes) == 0, "bind");
    require(::listen(socket_.get(), backlog) == 0, "listen");
  }
  [[nodiscard]] RawEnd accept() const {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    require(socket.valid(), "accept4");
    return RawEnd(std::move(socket));
  }
  [[nodiscard]] int descriptor() const { return socket_.get(); }
  // What would lead a port here.
  [[nodiscard]] std::array<std::byte, Invitation::kBytes> invitation() const {
    Reason why;
    return Invitation{*Identity::of_this_process(why), socket_id, *random_id()}.encode();
  }

  RandomId socket_id{};

 private:
  UniqueFd socket_;
};

}  // namespace exs::shm::test
