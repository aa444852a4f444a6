// One end of a set-up played by the test, which may say anything.
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
inline Note greeting(NoteKind kind) {
  Note note;
  note.kind = kind;
  note.version = kLayoutVersion;
  note.length_bytes = kSegmentBytes;
  require(offer_probe(note).ok(), "offer_probe");
  return note;
}

class RawEnd {
 public:
  explicit RawEnd(UniqueFd socket) noexcept : socket_(std::move(socket)) {}
  // Connects to that port.
  explicit RawEnd(const Name& rendezvous)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const RendezvousAddress address(rendezvous);
    connected = ::connect(socket_.get(), address.get(), address.bytes) == 0;
  }

  bool say(const Note& note, std::span<const int> descriptors = {}) const {
    return send_note(socket_.get(), note, descriptors).ok();
  }
  bool say_bytes(std::span<const std::byte> bytes) const {
    return ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) >= 0;
  }
  // As a peer without fault would, up to and with its greeting.
  bool greet(NoteKind kind) const {
    const UniqueFd memfd = make_memfd(kSegmentBytes, kGoodSeals), doorbell = make_doorbell();
    const int descriptors[] = {memfd.get(), doorbell.get()};
    return say(greeting(kind), descriptors);
  }
  // EAGAIN: nothing.
  [[nodiscard]] Result<ReceivedNote> hear() const { return receive_note(socket_.get()); }
  void leave() { socket_.reset(); }
  [[nodiscard]] int descriptor() const { return socket_.get(); }

  bool connected = false;

 private:
  UniqueFd socket_;
};

// A port's abstract socket, played by the test.
class RawDoor {
 public:
  explicit RawDoor(int backlog = 16)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    name = *draw_name();
    const RendezvousAddress address(name);
    require(::bind(socket_.get(), address.get(), address.bytes) == 0, "bind");
    require(::listen(socket_.get(), backlog) == 0, "listen");
  }
  [[nodiscard]] RawEnd accept() const {
    UniqueFd socket(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    require(socket.valid(), "accept4");
    return RawEnd(std::move(socket));
  }
  // What would lead a port here.
  [[nodiscard]] std::array<std::byte, Invitation::kBytes> words() const {
    Reason why;
    return Invitation{*Identity::of_this_process(why), name, *draw_name()}.encode();
  }

  Name name{};

 private:
  UniqueFd socket_;
};

}  // namespace exs::shm::test
