// The TCP connections of a network namespace, as /proc/PID/net tells them to everybody.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tools/explain/proc_folder.h"

namespace explain {

// An address and a port of either family, as one of IPv6.
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
  // Of the namespace that the process is in; what cannot be read is not there.
  explicit TcpTable(const ProcFolder& process);

  // None for a listening socket, and for one that is connected no more.
  [[nodiscard]] const TcpConnection* find(std::uint64_t inode) const;
  // The inode of the other end, which is in the same namespace; 0: it is not, or is closed.
  [[nodiscard]] std::uint64_t peer_of(const TcpConnection& connection) const;
  // Its other end should be in the namespace, and nothing there has its names: a packet filter rewrites them.
  [[nodiscard]] bool is_redirected(const TcpConnection& connection) const;

 private:
  void add(const std::string& table);

  std::map<std::uint64_t, TcpConnection> by_inode_;
  std::map<std::pair<TcpPoint, TcpPoint>, std::uint64_t> by_points_;
};

}  // namespace explain
