// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lanes/process.h"

#include <sys/stat.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

#include "sockets/settings/settings.h"

namespace lanes {
namespace {

constexpr char kLibrary[] = "/libexs_sockets.so";

// A program chooses its own name, so it may contain anything.
std::string printable(std::string text) {
  for (char& letter : text)
    if (!std::isprint(static_cast<unsigned char>(letter))) letter = '?';
  return text;
}

std::string first_word_of(const tools::ProcFolder& folder, const char* file) {
  std::string text;
  folder.read(file, text);
  return text.substr(0, text.find_first_of(std::string_view("\n\0", 2)));
}

// The process has ended and its parent has not waited for it.
bool is_zombie(const tools::ProcFolder& folder) {
  std::string text;
  folder.read("stat", text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end, 3, ") Z") == 0;
}

// Returns the value of a variable in the process's initial environment.
std::string variable_of(const std::string& environment, const std::string& name) {
  for (std::size_t at = 0; at < environment.size(); at = environment.find('\0', at) + 1) {
    if (environment.compare(at, name.size() + 1, name + "=") == 0)
      return environment.c_str() + at + name.size() + 1;
    if (environment.find('\0', at) == std::string::npos) break;
  }
  return {};
}

// The line of /proc/PID/maps is memory of the size that the first slots have, and no file contains it.
bool is_memory_without_file(const std::string& line) {
  char* end = nullptr;
  const std::uint64_t from = std::strtoull(line.c_str(), &end, 16);
  const std::uint64_t to = *end == '-' ? std::strtoull(end + 1, nullptr, 16) : 0;
  return to - from == exs::sockets::bytes_of_piece(0) && line.find("/dev/zero") != std::string::npos;
}

}  // namespace

// "socket:[123]"
std::uint64_t inode_of(std::string_view target) {
  constexpr std::string_view kPrefix = "socket:[";
  if (!target.starts_with(kPrefix)) return 0;
  std::uint64_t inode = 0;
  std::from_chars(target.data() + kPrefix.size(), target.data() + target.size(), inode);
  return inode;
}

bool is_family(std::string_view target) {
  constexpr std::string_view kPrefix = "/memfd:";
  return target.starts_with(kPrefix) && target.substr(kPrefix.size()).starts_with(exs::sockets::kArenaName);
}

ProcessView ProcessReader::read(pid_t pid, const tools::ProcFolder& folder) {
  ProcessView view;
  view.pid = pid;
  view.program = printable(first_word_of(folder, "comm"));
  std::vector<int> families;
  if (is_zombie(folder)) {
    view.error = ESRCH;
    return view;
  }
  view.error = folder.each_descriptor([&](int number, const std::string& target) {
    if (const std::uint64_t inode = inode_of(target); inode != 0) view.sockets[inode].push_back(number);
    if (is_family(target)) families.push_back(number);
  });
  for (auto& [inode, numbers] : view.sockets) std::sort(numbers.begin(), numbers.end());
  for (const int number : families) {
    const exs::UniqueFd descriptor = folder.open_descriptor(number);
    const auto family = family_of(descriptor.get());
    if (!view.family || family->state == SocketsFamily::State::kReadable) view.family = family;
  }
  return view;
}

std::shared_ptr<const SocketsFamily> ProcessReader::family_of(int descriptor) {
  struct stat about {};
  if (descriptor < 0 || ::fstat(descriptor, &about) != 0) return std::make_shared<SocketsFamily>();
  auto& family = known_[{about.st_dev, about.st_ino}];
  if (!family) family = std::make_shared<SocketsFamily>(read_family(descriptor));
  return family;
}

Loaded find_library(const tools::ProcFolder& folder) {
  std::string maps;
  if (const int error = folder.read("maps", maps); error != 0)
    return error == ESRCH || error == ENOENT ? Loaded::kEnded : Loaded::kNotReadable;
  bool is_loaded = false;
  bool lacks_file = false;
  std::istringstream lines(maps);
  for (std::string line; std::getline(lines, line);) {
    is_loaded = is_loaded || line.find(kLibrary) != std::string::npos;
    lacks_file = lacks_file || is_memory_without_file(line) ||
                 line.find(exs::sockets::kArenaName) != std::string::npos;
  }
  if (!is_loaded) return Loaded::kNo;
  std::string environment;
  std::string_view complaint;
  folder.read("environ", environment);
  const std::string words = variable_of(environment, "EXS_SOCKETS");
  if (!exs::sockets::parse_settings(words, "", complaint).on) return Loaded::kOff;
  return lacks_file ? Loaded::kWithoutFile : Loaded::kYes;
}

}  // namespace lanes
