// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/proc_folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <memory>

namespace tools {
namespace {

constexpr std::size_t kFileMax = std::size_t{64} << 20;

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};
using Folder = std::unique_ptr<DIR, CloseFolder>;

// Takes over the descriptor.
Folder list(int descriptor) {
  Folder folder(::fdopendir(descriptor));
  if (!folder) ::close(descriptor);
  return folder;
}

std::string read_link(int folder, const char* name) {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlinkat(folder, name, target.data(), target.size());
  return length > 0 ? std::string(target.data(), static_cast<std::size_t>(length)) : std::string();
}

// Calls use(number, name). Returns 0 or an errno value.
template <typename Use>
int each_number(DIR* folder, const Use& use) {
  for (;;) {
    errno = 0;
    const dirent* const entry = ::readdir(folder);
    if (entry == nullptr) return errno;
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') use(std::atoi(entry->d_name), entry->d_name);
  }
}

}  // namespace

ProcFolder::ProcFolder(pid_t pid)
    : folder_(::open(("/proc/" + std::to_string(pid)).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {}

int ProcFolder::read(const std::string& name, std::string& text) const {
  text.clear();
  const exs::UniqueFd file(::openat(folder_.get(), name.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return folder_.get() < 0 ? ESRCH : errno;
  std::array<char, 65536> piece;
  ssize_t count = 0;
  while (text.size() < kFileMax && (count = ::read(file.get(), piece.data(), piece.size())) > 0)
    text.append(piece.data(), static_cast<std::size_t>(count));
  return count < 0 ? errno : 0;
}

std::string ProcFolder::link(const std::string& name) const {
  return read_link(folder_.get(), name.c_str());
}

int ProcFolder::each_descriptor(const std::function<void(int, const std::string&)>& use) const {
  const int descriptor = ::openat(folder_.get(), "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return folder_.get() < 0 ? ESRCH : errno;
  const Folder folder = list(descriptor);
  if (!folder) return errno;
  return each_number(folder.get(), [&](int number, const char* name) {
    const std::string target = read_link(::dirfd(folder.get()), name);
    if (!target.empty()) use(number, target);
  });
}

exs::UniqueFd ProcFolder::open_descriptor(int number) const {
  const std::string name = "fd/" + std::to_string(number);
  return exs::UniqueFd(::openat(folder_.get(), name.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  const Folder folder(::opendir("/proc"));
  if (folder) each_number(folder.get(), [&](int number, const char*) { found.push_back(number); });
  return found;
}

}  // namespace tools
