// The calling end listens for exs streams at the address of its TCP connection. The called end connects there
// and shows the token.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/random.h>
#include <sys/socket.h>

#include <cstring>

#include "base/check.h"
#include "base/clock.h"
#include "sockets/between/pump.h"
#include "sockets/between/socket_name.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets::between {
namespace {

constexpr std::uint64_t kHelloNs = 5 * kNsPerSecond;

// An address at which this process listens.
struct StreamListener {
  int socket;  // the socket plus one; 0: none
  Place16 at;
};
constexpr std::size_t kListeners = 8;
StreamListener listeners[kListeners];

// A stream that has not shown its token yet.
struct alignas(64) StreamGuest {
  int socket;  // the socket plus one; 0: none
  bool closes;
  std::uint64_t since_ns;
  HostHello hello;
};
constexpr std::size_t kGuests = 64;
StreamGuest guests[kGuests];
int guest_count = 0;

bool is_same(const void* one, const void* other, std::size_t bytes) noexcept {
  // The comparison takes the same time for any input.
  unsigned difference = 0;
  for (std::size_t i = 0; i < bytes; ++i)
    difference |= static_cast<const std::uint8_t*>(one)[i] ^ static_cast<const std::uint8_t*>(other)[i];
  return difference == 0;
}

// Null: no RDMA device has the address.
StreamListener* listener_at(const Place16& own) noexcept {
  StreamListener* free = nullptr;
  for (StreamListener& listener : listeners) {
    if (listener.socket == 0) {
      if (free == nullptr) free = &listener;
    } else if (std::memcmp(listener.at.address, own.address, sizeof own.address) == 0) {
      return &listener;
    }
  }
  if (free == nullptr) return nullptr;
  Place16 at = own;
  at.port = 0;
  const SocketName name(at);
  const int socket = open_stream(name);
  if (socket < 0) return nullptr;
  sockaddr_storage bound{};
  socklen_t length = sizeof bound;
  const LoadedLibrary& exs = library();
  constexpr int kBacklog = 64;
  if (exs.exs_bind(socket, name.address(), name.length()) != 0 || exs.exs_listen(socket, kBacklog) != 0 ||
      exs.exs_getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &length) != 0 || port_of(bound) == 0 ||
      exs.exs_accept(socket, nullptr, EXS_MULTISHOT, queue(), free) != 0) {
    exs.exs_close_async(socket, 0, queue(), free);
    return nullptr;
  }
  free->at = at;
  free->at.port = port_of(bound);
  free->socket = socket + 1;
  return free;
}

HostLink* find_link(const HostToken& token) noexcept {
  for (HostLink& link : taken_links()) {
    if (link.state.load() == State::kAsks && !link.released.load() &&
        is_same(&link.token, &token, sizeof token))
      return &link;
  }
  return nullptr;
}

void close_guest(StreamGuest& guest) noexcept {
  if (!guest.closes) guest.closes = library().exs_close_async(guest.socket - 1, 0, queue(), &guest) == 0;
}

void free_guest(StreamGuest& guest) noexcept {
  EXS_CHECK(guest.socket != 0 && guest_count > 0);
  guest = {};
  --guest_count;
}

void meet(StreamGuest& guest) noexcept {
  const HostHello& hello = guest.hello;
  constexpr std::uint64_t kCapacityMin = 4096;
  HostLink* const link = hello.magic == kHelloMagic ? find_link(hello.token) : nullptr;
  const bool is_right = link != nullptr && hello.capacity >= kCapacityMin && hello.capacity <= kCapacityMax &&
                        (hello.capacity & (hello.capacity - 1)) == 0 && hello.bell < 256;
  if (!is_right) return close_guest(guest);
  link->capacity = static_cast<std::size_t>(hello.capacity);
  link->bell = static_cast<std::uint8_t>(hello.bell);
  link->pump.socket = guest.socket - 1;
  free_guest(guest);
  link->state.store(State::kMet);
  tell(*link);
}

}  // namespace

void listen_for(HostLink& link) noexcept {
  const StreamListener* const listener = listener_at(link.own);
  if (listener == nullptr) return fail(link, Fault::kNoDevice);
  link.meets_at = listener->at;
  if (raw::sys(SYS_getrandom, &link.token, sizeof link.token, GRND_NONBLOCK) != sizeof link.token)
    return fail(link, Fault::kMemory);
  link.state.store(State::kAsks);
  link.is_asked.store(true);
  ask_agents();
}

void take_stream(int socket) noexcept {
  for (StreamGuest& guest : guests) {
    if (guest.socket != 0) continue;
    guest.socket = socket + 1;
    guest.since_ns = now_ns();
    ++guest_count;
    if (library().exs_recv(socket, &guest.hello, sizeof guest.hello, MSG_WAITALL, queue(), &guest,
                           EXS_MHANDLE_UNREGISTERED) != 0)
      close_guest(guest);
    return;
  }
  library().exs_close_async(socket, 0, queue(), &guests[0]);
}

bool take_guest(void* handle, const exs_event_t& event) noexcept {
  const auto* const place = static_cast<std::byte*>(handle);
  const auto* const first = reinterpret_cast<std::byte*>(guests);
  const auto* const own = reinterpret_cast<std::byte*>(listeners);
  if (place >= own && place < own + sizeof listeners) return true;  // one that could not listen
  if (place < first || place >= first + sizeof guests) return false;
  StreamGuest& guest = *static_cast<StreamGuest*>(handle);
  if (guest.socket - 1 != event.exs_evt_socket) return true;  // it had no room
  if (event.exs_evt_type == EXS_EVT_CLOSE) {
    free_guest(guest);
  } else if (event.exs_evt_errno != 0 || (event.exs_evt_flags & EXS_EVF_EOF) != 0) {
    close_guest(guest);
  } else {
    meet(guest);
  }
  return true;
}

void forget_callers() noexcept {
  for (StreamListener& listener : listeners) listener = {};
  for (StreamGuest& guest : guests) guest = {};
  guest_count = 0;
}

bool has_guests() noexcept {
  return guest_count > 0;
}

void look_at_guests() noexcept {
  for (StreamGuest& guest : guests)
    if (guest.socket != 0 && now_ns() - guest.since_ns > kHelloNs) close_guest(guest);
}

}  // namespace exs::sockets::between
