// SPDX-License-Identifier: BSD-2-Clause
#include "tools/explain/kernel.h"

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tools/common/failure.h"

namespace explain {

std::optional<std::string> read_first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return line;
}

std::optional<std::int64_t> read_first_number(const std::string& path) {
  std::ifstream file(path);
  std::int64_t number = 0;
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::string read_own_status(const std::string& key) {
  std::ifstream file("/proc/self/status");
  std::string line;
  while (std::getline(file, line)) {
    if (line.rfind(key + ":", 0) != 0) continue;
    const std::size_t value = line.find_first_not_of(" \t", key.size() + 1);
    return value == std::string::npos ? "" : line.substr(value);
  }
  return "";
}

std::uint64_t namespace_inode(const std::string& kind) {
  struct stat found {};
  return ::stat(("/proc/self/ns/" + kind).c_str(), &found) == 0 ? found.st_ino : 0;
}

bool is_filtered() {
  return read_own_status("Seccomp") == "2";
}

std::string Trial::description() const {
  if (signal != 0) return std::string("killed by SIG") + sigabbrev_np(signal);
  return std::strerror(error);
}

Trial try_in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == -1) tools::fail("cannot fork", errno);
  if (child == 0) ::_exit(body());  // every errno fits in an exit status
  int status = 0;
  while (::waitpid(child, &status, 0) == -1) {
    if (errno != EINTR) tools::fail("cannot wait for a child", errno);
  }
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

}  // namespace explain
