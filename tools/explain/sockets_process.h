// One process as exs-explain --sockets sees it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tools/explain/proc_folder.h"
#include "tools/explain/sockets_family.h"

namespace explain {

// A moment of it. Thread: immutable value.
struct ProcessView {
  pid_t pid = 0;
  int error = 0;  // why nothing more is known
  std::string program;
  std::map<std::uint64_t, std::vector<int>> sockets;  // numbers that mean each, by inode
  std::shared_ptr<const SocketsFamily> family;        // null: there is no such memory
};

// Reads what families have once for all processes of each.
class ProcessReader {
 public:
  ProcessView read(pid_t pid, const ProcFolder& folder);

 private:
  std::shared_ptr<const SocketsFamily> family_of(int descriptor);

  std::map<std::pair<std::uint64_t, std::uint64_t>, std::shared_ptr<const SocketsFamily>> known_;
};

// What the process has loaded and was started with.
enum class Loaded : std::uint8_t { kNo, kYes, kOff, kWithoutFile, kNotReadable, kEnded };
Loaded find_library(const ProcFolder& folder);

}  // namespace explain
