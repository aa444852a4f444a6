// Two ports of the provider under test, near and far, for what is promised of ports.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "src/provider/provider.h"
#include "tests/contract/instance.h"

namespace exs::contract {

inline constexpr LinkDepths kFewPosts{16, 16, 4, 4, 1024};
inline constexpr std::uint64_t kServerTokens = 500;  // the server's link of a connection has this much more

// Memory of the library's own for one message.
struct Room {
  std::array<std::byte, 64> bytes{};

  [[nodiscard]] LocalSlice slice() { return {bytes.data(), bytes.size(), {}}; }
  [[nodiscard]] std::string text(std::size_t length) const {
    return {reinterpret_cast<const char*>(bytes.data()), length};
  }
};

inline void post_receive(SocketAndLink& at, Room& room, std::uint64_t token = 0) {
  require(at->post_recv(room.slice(), token).ok(), "post_recv");
}
inline void post_message(SocketAndLink& from, std::string_view text, std::uint64_t token = 0) {
  require(from->post_send(bytes_of(text), {}, token).ok(), "post_send");
}

inline bool rings(const DrivenPort& port, int limit_ms = 0) {
  pollfd wait{port->wait_fd(), POLLIN, 0};
  return ::poll(&wait, 1, limit_ms) > 0;
}
inline bool will_ring(const DrivenPort& port) {
  return rings(port, kHangLimitMs);
}

// Links of near are clients.
struct PortBed {
  Provider& provider = provider_of(0);
  DrivenPort near{provider};
  DrivenPort far{provider};
  Meeting meeting{provider, near, far};

  // `token` is the client's. A message has come through, so that either end may send.
  Connection join(std::uint64_t token);
  Completion near_gets(CompletionKind kind, std::uint64_t token) {
    return await({&near, &far}, near, kind, token);
  }
  Completion far_gets(CompletionKind kind, std::uint64_t token) {
    return await({&near, &far}, far, kind, token);
  }
  // One message each way, and nothing else.
  void exchange_messages(Connection& connection, std::uint64_t token);
  // Until there is nothing to do for either port. Leaves them armed.
  void settle();
};

}  // namespace exs::contract
