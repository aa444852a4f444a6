// What exs-explain --sockets finds: the connections of programs that have libexs_sockets.so loaded, and why others have none.
// Nothing is written, stopped or locked.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/explain/sockets_family.h"
#include "tools/explain/sockets_why.h"
#include "tools/explain/tcp_table.h"

namespace explain {

struct SocketsConnection {
  std::vector<int> descriptors;
  std::uint64_t inode = 0;
  std::optional<TcpConnection> tcp;             // none: TCP knows it no more
  std::optional<SlotFacts> slot;                // none: the layer does not know it
  std::string sends_by;                         // "ring", "tcp"
  std::string receives_by;                      // the same, or "carried"
  std::optional<std::uint64_t> unread;          // bytes in the ring, for this end
  std::optional<std::uint64_t> unread_by_peer;  // and for the other
  pid_t peer = 0;                               // that has the other end; 0: cannot be told
  std::string peer_program;
  Explanation why;
};

struct SocketsProcess {
  pid_t pid = 0;
  std::string program;
  bool is_served = false;  // the layer is loaded, and what it knows could be read
  Explanation why;         // not
  std::vector<SocketsConnection> connections;
};

struct SocketsSurvey {
  std::vector<SocketsProcess> processes;
  std::size_t out_of_reach = 0;  // processes that this user may not look into
};

// Of `pid`; 0: of every process that has the library loaded and may be looked into.
SocketsSurvey survey_sockets(pid_t pid);

}  // namespace explain
