// The facts of /proc about one process, which is never stopped for this. Thread: the owner's.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "base/unique_fd.h"

namespace tools {

// The folder stays bound to its process, even if another one gets the number. Functions of type int return 0 or an errno value.
class ProcFolder {
 public:
  explicit ProcFolder(pid_t pid);

  // Reads a file; a large one is cut off.
  int read(const std::string& name, std::string& text) const;
  // Returns the target of a link, or an empty text if it cannot be read.
  [[nodiscard]] std::string link(const std::string& name) const;
  // Calls use(number, target), where a target is "socket:[123]" or a path.
  int each_descriptor(const std::function<void(int, const std::string&)>& use) const;
  // Opens the file of a descriptor anew, for reading.
  [[nodiscard]] exs::UniqueFd open_descriptor(int number) const;

 private:
  exs::UniqueFd folder_;
};

// Returns all processes that this user may see.
std::vector<pid_t> all_processes();

}  // namespace tools
