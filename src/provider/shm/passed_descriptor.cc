// SPDX-License-Identifier: BSD-2-Clause
#include "src/provider/shm/passed_descriptor.h"

#include <linux/magic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <string_view>

#include "base/destroy_elsewhere.h"
#include "base/kernel.h"

namespace exs::shm {
namespace {

std::atomic<std::size_t> g_closing{0};

template <typename Closed>
class Closing {
 public:
  explicit Closing(Closed closed) noexcept : closed_(std::move(closed)) { ++g_closing; }
  ~Closing() {
    if (is_moved_) return;
    closed_ = Closed();
    --g_closing;
  }
  Closing(Closing&& other) noexcept
      : closed_(std::move(other.closed_)), is_moved_(std::exchange(other.is_moved_, true)) {}
  Closing& operator=(Closing&&) = delete;

 private:
  Closed closed_;
  bool is_moved_ = false;
};

// Mostly enough by itself; but the peer may set it again.
void end_lingering(const UniqueFd& descriptor) noexcept {
  const linger off{};
  kernel::setsockopt(descriptor.get(), SOL_SOCKET, SO_LINGER, &off, sizeof off);
}

// Memory, or an eventfd.
bool closes_at_once(int descriptor) noexcept {
  struct stat file {};
  struct statfs home {};
  if (kernel::fstat(descriptor, &file) != 0) return false;
  if (S_ISREG(file.st_mode)) return kernel::fstatfs(descriptor, &home) == 0 && home.f_type == TMPFS_MAGIC;
  return is_eventfd(descriptor);
}

}  // namespace

bool is_eventfd(int descriptor) noexcept {
  char path[40];
  char target[40];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
  const ssize_t length = kernel::readlink(path, target, sizeof target);
  return length > 0 && std::string_view(target, static_cast<std::size_t>(length)) == "anon_inode:[eventfd]";
}

void PassedDescriptor::reset() noexcept {
  if (descriptor_.valid() && !closes_at_once(descriptor_.get())) close_elsewhere(std::move(descriptor_));
  descriptor_.reset();
}

void close_elsewhere(UniqueFd descriptor) noexcept {
  end_lingering(descriptor);
  destroy_elsewhere(Closing(std::move(descriptor)));
}

void close_elsewhere(std::vector<UniqueFd> descriptors) noexcept {
  std::for_each(descriptors.begin(), descriptors.end(), end_lingering);
  destroy_elsewhere(Closing(std::move(descriptors)));
}

std::size_t closing() noexcept {
  return g_closing;
}

}  // namespace exs::shm
