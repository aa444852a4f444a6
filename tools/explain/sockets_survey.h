// The findings of exs-explain --sockets: the connections of programs with libexs_sockets.so, and the reason why others have none. Nothing
// is written, stopped or locked.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/lanes/family.h"
#include "tools/lanes/tcp_table.h"
#include "tools/lanes/why.h"

namespace explain {

using lanes::Explanation;
using lanes::SlotFacts;
using lanes::TcpConnection;

struct SocketsConnection {
  std::vector<int> descriptors;
  std::uint64_t inode = 0;
  std::optional<TcpConnection> tcp;             // empty: TCP knows it no more
  std::optional<SlotFacts> slot;                // empty: the layer does not know it
  std::string sends_by;                         // "ring", "tcp"
  std::string receives_by;                      // the same, or "carried"
  std::optional<std::uint64_t> unread;          // bytes in the ring for this end
  std::optional<std::uint64_t> unread_by_peer;  // bytes in the ring for the other end
  pid_t peer = 0;                               // the process of the other end; 0: unknown
  std::string peer_program;
  Explanation why;
};

struct SocketsProcess {
  pid_t pid = 0;
  std::string program;
  bool is_served = false;  // the layer is loaded, and its memory could be read
  Explanation why;         // if not served
  std::vector<SocketsConnection> connections;
};

struct SocketsSurvey {
  std::vector<SocketsProcess> processes;
  std::size_t out_of_reach = 0;  // processes that this user may not examine
};

// Examines `pid`; 0: every process with the library that this user may examine.
SocketsSurvey survey_sockets(pid_t pid);

}  // namespace explain
