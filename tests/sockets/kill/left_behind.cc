// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/kill/left_behind.h"

#include <dirent.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>

#include "tests/sockets/kill/actor.h"

namespace killing {
namespace {

bool ends_with_port(const std::string& name, std::uint32_t port) {
  if (port == 0) return false;
  const std::string digits = std::to_string(port);
  for (const char before : {'/', '.'}) {
    const std::string wanted = before + digits;
    const std::size_t at = name.find(wanted);
    if (at != std::string::npos && (at + wanted.size() == name.size() || name[at + wanted.size()] == '-'))
      return true;
  }
  return false;
}

std::string kept_mapping(const std::string& folder) {
  std::ifstream maps(folder + "/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find("memfd:exs-sockets") != std::string::npos && line.find("-family") == std::string::npos)
      return line;
  return {};
}

// The last announcements of listening sockets stay with their process (preload/meeting/kept_marks.h).
bool is_unix_socket(const std::string& target) {
  const std::size_t at = target.find('[') + 1;
  const std::string inode = " " + target.substr(at, target.find(']') - at);
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.find(inode + " ") != std::string::npos || line.ends_with(inode)) return true;
  return false;
}

}  // namespace

std::string bound_name(std::uint32_t port, std::uint32_t other_port) {
  std::ifstream names("/proc/net/unix");
  for (std::string line; std::getline(names, line);) {
    const std::size_t at = line.find("@exs-sock");
    if (at == std::string::npos) continue;
    const std::string name = line.substr(at);
    if (ends_with_port(name, port) || ends_with_port(name, other_port)) return name;
  }
  return {};
}

std::string kept_by(pid_t process) {
  const std::string folder = "/proc/" + std::to_string(process);
  if (std::string kept = kept_mapping(folder); !kept.empty()) return "a mapping: " + kept;
  DIR* const descriptors = opendir((folder + "/fd").c_str());
  std::string found;
  while (const dirent* const entry = descriptors == nullptr ? nullptr : readdir(descriptors)) {
    const int number = std::atoi(entry->d_name);
    if (number < 3 || (number >= kControl && number <= kRequests)) continue;
    std::array<char, 256> target = {};
    const std::string path = folder + "/fd/" + entry->d_name;
    if (readlink(path.c_str(), target.data(), target.size() - 1) <= 0) continue;
    const std::string what = target.data();
    if ((what.rfind("socket:", 0) == 0 && !is_unix_socket(what)) ||
        (what.find("memfd:exs-sockets") != std::string::npos && what.find("-family") == std::string::npos))
      found = "descriptor " + std::string(entry->d_name) + ": " + what;
  }
  if (descriptors != nullptr) closedir(descriptors);
  return found;
}

}  // namespace killing
