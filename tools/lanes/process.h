// One process with libexs_sockets.so, or without, as its files in /proc show it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tools/common/proc_folder.h"
#include "tools/lanes/family.h"

namespace lanes {

// A snapshot of the process. Thread: immutable value.
struct ProcessView {
  pid_t pid = 0;
  int error = 0;  // errno value that explains missing facts
  std::string program;
  std::map<std::uint64_t, std::vector<int>> sockets;  // descriptors of each socket, by inode
  std::shared_ptr<const SocketsFamily> family;        // NULL: there is no such memory
};

// The inode of the socket that is the target of a descriptor; 0: it is something else.
std::uint64_t inode_of(std::string_view target);
// The target of a descriptor is the memory of a family.
bool is_family(std::string_view target);

// Reads the memory of a family once for all its processes.
class ProcessReader {
 public:
  ProcessView read(pid_t pid, const tools::ProcFolder& folder);

 private:
  std::shared_ptr<const SocketsFamily> family_of(int descriptor);

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const SocketsFamily>> known_;
};

// Whether the process has loaded the library, and how it was started.
enum class Loaded : std::uint8_t { kNo, kYes, kOff, kWithoutFile, kNotReadable, kEnded };
Loaded find_library(const tools::ProcFolder& folder);

}  // namespace lanes
