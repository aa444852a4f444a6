// What a process holds, and names that outlive it: what must not be left behind.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <string>
#include <vector>

namespace service_check {

struct Holdings {
  std::size_t descriptors = 0;
  std::size_t mappings = 0;  // of files without a name, which others may share

  static Holdings of_process(pid_t process = 0);  // 0: this one
  // Empty: no more than before.
  [[nodiscard]] std::string beyond(const Holdings& before) const;
};

// Abstract names of Unix sockets in this network.
std::vector<std::string> abstract_names();

}  // namespace service_check
