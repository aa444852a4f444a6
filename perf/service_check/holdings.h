// Resources of a process, and names that outlive it: none of them may be left behind.
// SPDX-License-Identifier: BSD-2-Clause
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
  // Returns the resources beyond those of `before`; empty: none.
  [[nodiscard]] std::string beyond(const Holdings& before) const;
};

// Returns the abstract names of Unix sockets in this network namespace.
std::vector<std::string> abstract_names();

}  // namespace service_check
