// The lanes of a process under libexs_sockets.so. The family keeps them in memory that other processes may read (tools/lanes/family.h).
// exs-top asks nothing of the process. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/unique_fd.h"
#include "tools/common/proc_folder.h"
#include "tools/lanes/tcp_table.h"
#include "tools/top/shown_connection.h"

namespace top {

class LanesReader {
 public:
  // Empty: the descriptor is no memory of a family, or none that this user may read.
  static std::optional<LanesReader> open(const tools::ProcFolder& folder, int descriptor);

  // The process still has the memory.
  [[nodiscard]] bool is_there(const tools::ProcFolder& folder) const;
  // In the order of their places.
  std::vector<ShownConnection> read(const tools::ProcFolder& folder);

 private:
  struct KnownSocket {
    int descriptor = -1;
    std::optional<lanes::TcpConnection> ends;  // empty: TCP knows it no more
  };
  LanesReader(exs::UniqueFd memory, int descriptor) : memory_(std::move(memory)), descriptor_(descriptor) {}
  [[nodiscard]] bool knows_all(const lanes::SocketsFamily& family) const;
  void find_sockets(const tools::ProcFolder& folder, const lanes::SocketsFamily& family);

  exs::UniqueFd memory_;
  int descriptor_;                                // of the process
  std::map<std::uint64_t, KnownSocket> sockets_;  // of the process, by inode
  std::set<std::uint64_t>
      family_sockets_;  // when they were searched for, those of other processes among them
  int reads_left_ = 0;  // before they are searched for in any case
};

}  // namespace top
