// A loop with two connected sockets, for the tests of the C++ layer.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <ostream>
#include <stdexcept>
#include <string>

#include "exs/exs.hpp"
#include "tests/support/exs_fixture.h"

namespace exs::cpp {

inline std::string name_of(const std::error_code& error) {
  return exs::test::errno_name(error.value());
}

inline std::string name_of(const Outcome& outcome) {
  return name_of(outcome.error);
}
inline std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << name_of(outcome);
}

inline Socket listening_socket(int type = SOCK_SEQPACKET) {
  Socket socket = Socket::create(type);
  socket.bind(Address::loopback());
  socket.listen();
  return socket;
}

// Two connected sockets of one loop.
struct Connected {
  AsyncSocket left, right;
};

inline Task<Connected> connect_pair(Loop& loop) {
  const Socket listening = listening_socket();
  AsyncSocket left(loop);
  auto [connected, accepted] =
      co_await both(left.connect(listening.local_address()), accept(loop, listening));
  if (!connected || !accepted) throw std::runtime_error("no connection");
  co_return Connected{std::move(left), std::move(accepted.socket)};
}

struct ConnectedLoop {
  Loop loop;
  Connected pair = loop.block_on(connect_pair(loop));
};

}  // namespace exs::cpp
