// Two connected sockets in one process, memory of every kind, and an account of what was posted.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <arpa/inet.h>
#include <exs/exs.h>
#include <netinet/in.h>

#include <array>
#include <cstdlib>
#include <string>

#include "tests/fuzz/fuzz.h"

namespace exs::fuzz::api {

constexpr std::size_t kRegionBytes = 64 * 1024;
constexpr std::int64_t kWaitNs = 20'000'000'000;  // for a hang alone

// Listens for the life of the process, once for messages and once for bytes.
class Listener {
 public:
  explicit Listener(int type) : socket(exs_socket(AF_INET, type, 0)) {
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const name = reinterpret_cast<sockaddr*>(&address);
    hold(socket >= 0 && exs_bind(socket, name, length) == 0 && exs_listen(socket, 16) == 0 &&
             exs_getsockname(socket, name, &length) == 0,
         "a listening socket");
  }
  const int socket;
  sockaddr_in address{};
};

inline const Listener& listener_of(bool is_stream) {
  [[maybe_unused]] static const int is_ready = exs_init(EXS_VERSION);
  static const Listener messages(SOCK_SEQPACKET);
  static const Listener bytes(SOCK_STREAM);
  return is_stream ? bytes : messages;
}

// A piece that an operation may name, or nearly.
struct Piece {
  std::byte* start = nullptr;
  std::size_t bytes = 0;
  exs_mhandle_t region = EXS_MHANDLE_UNREGISTERED;
};

class Memory {
 public:
  Memory() {
    auto* const shared = static_cast<std::byte*>(exs_alloc(kRegionBytes, &regions_[0]));
    auto* const heap = static_cast<std::byte*>(std::calloc(2, kRegionBytes));
    hold(shared != nullptr && heap != nullptr, "memory");
    regions_[1] = exs_mregister(heap, kRegionBytes, EXS_MRF_REMOTE_READ | EXS_MRF_REMOTE_WRITE);
    regions_[2] = exs_mregister(heap + kRegionBytes, kRegionBytes, EXS_MRF_LOCAL_ONLY);
    starts_ = {shared, heap, heap + kRegionBytes};
  }
  // Nothing may use it any more.
  ~Memory() {
    hold(exs_mderegister(regions_[1], 0) == 0 && exs_mderegister(regions_[2], 0) == 0,
         "no operation uses the memory");
    hold(exs_free(starts_[0]) == 0, "no operation uses the memory of exs_alloc");
    std::free(starts_[1]);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Always mapped; seldom inside the region that is named.
  Piece any(Input& input) {
    const std::size_t which = input.below(3);
    Piece piece;
    piece.bytes = input.one_in(4) ? input.below(kRegionBytes + 1) : input.below(300);
    piece.start = starts_[which] + input.below(kRegionBytes - piece.bytes + 1);
    piece.region =
        input.one_in(4) ? EXS_MHANDLE_UNREGISTERED : regions_[input.one_in(16) ? input.below(3) : which];
    if (input.one_in(64)) piece.region = static_cast<exs_mhandle_t>(input.number<std::uint32_t>());
    return piece;
  }

 private:
  std::array<std::byte*, 3> starts_{};
  std::array<exs_mhandle_t, 3> regions_{};
};

// What was posted, and has to have its one event.
class Account {
 public:
  static constexpr std::size_t kMost = 400;

  [[nodiscard]] bool is_full() const { return count_ == kMost; }
  [[nodiscard]] exs_ahandle_t next() { return &entries_[count_]; }
  // The call with next() has succeeded. `least`: 0 where an event may be missing.
  void add(unsigned least = 1) { entries_[count_++].least = least; }
  void take(const exs_event_t& event) {
    if (event.exs_evt_ahandle == nullptr || (event.exs_evt_flags & EXS_EVF_MORE) != 0) return;
    switch (event.exs_evt_type) {
      case EXS_EVT_PEER_READ:
      case EXS_EVT_PEER_WRITE:
      case EXS_EVT_SENDTIMEOUT:
      case EXS_EVT_RECVTIMEOUT: return;
      default: break;
    }
    auto* const entry = static_cast<Entry*>(event.exs_evt_ahandle);
    hold(entry >= entries_.data() && entry < entries_.data() + count_, "an event of what was posted");
    hold(++entry->events == 1, "one event of each operation");
  }
  void check() const {
    for (std::size_t i = 0; i < count_; ++i)
      hold(entries_[i].events >= entries_[i].least, "an event of each operation");
  }

 private:
  struct Entry {
    unsigned least = 0;
    unsigned events = 0;
  };
  std::array<Entry, kMost> entries_{};
  std::size_t count_ = 0;
};

}  // namespace exs::fuzz::api
