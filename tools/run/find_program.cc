// SPDX-License-Identifier: BSD-2-Clause
#include "tools/run/find_program.h"

#include <unistd.h>

#include <cstdlib>
#include <sstream>

namespace run {

std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  const char* const list = std::getenv("PATH");
  std::istringstream folders(list == nullptr ? "/bin:/usr/bin" : list);
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = (folder.empty() ? "." : folder) + "/" + name;
    if (::access(path.c_str(), X_OK) == 0) return path;
  }
  return {};
}

}  // namespace run
