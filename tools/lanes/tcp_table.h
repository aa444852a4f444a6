// The TCP connections of a network namespace, from /proc/PID/net, which everybody may read.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tools/common/proc_folder.h"

namespace lanes {

// An address and a port of either family, in the form of IPv6.
struct TcpPoint {
  std::array<std::uint8_t, 16> address{};
  std::uint16_t port = 0;

  // "127.0.0.1:80", "[::1]:80".
  [[nodiscard]] std::string text() const;
  friend auto operator<=>(const TcpPoint&, const TcpPoint&) = default;
};

struct TcpConnection {
  TcpPoint local;
  TcpPoint remote;
  unsigned state = 0;
};

const char* name_of_tcp_state(unsigned state);

class TcpTable {
 public:
  // Reads the namespace of the process; unreadable tables count as empty.
  explicit TcpTable(const tools::ProcFolder& process);

  // Returns NULL for a listening socket, and for one that is no longer connected.
  [[nodiscard]] const TcpConnection* find(std::uint64_t inode) const;
  // Returns the inode of the other end in the same namespace; 0: it is elsewhere, or closed.
  [[nodiscard]] std::uint64_t peer_of(const TcpConnection& connection) const;
  // The other end should be in the namespace, but no socket there has these addresses: a packet filter rewrites them.
  [[nodiscard]] bool is_redirected(const TcpConnection& connection) const;

 private:
  void add(const std::string& table);

  std::map<std::uint64_t, TcpConnection> by_inode_;
  std::map<std::pair<TcpPoint, TcpPoint>, std::uint64_t> by_points_;
};

}  // namespace lanes
