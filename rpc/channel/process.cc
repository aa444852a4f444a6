// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/channel/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <mutex>

#include "exs/exs.h"

namespace exs::rpc {
namespace {

// Points to a page that fork() wipes in a child: not zero in the process that started exs.
std::atomic<char*> mark{nullptr};

}  // namespace

bool start_library() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (is_own_process()) return true;
  if (mark.load() != nullptr) {
    errno = EOPNOTSUPP;  // this is a child; libexs belongs to its parent
    return false;
  }
  const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* const page = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return false;
  if (madvise(page, bytes, MADV_WIPEONFORK) != 0 || exs_init(EXS_VERSION) != 0) {
    munmap(page, bytes);
    return false;
  }
  *static_cast<char*>(page) = 1;
  mark.store(static_cast<char*>(page));
  return true;
}

bool is_own_process() noexcept {
  const char* const page = mark.load(std::memory_order_acquire);
  return page != nullptr && *page != 0;
}

bool has_descriptors() {
  const int lowest = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0);
  if (lowest >= 0) close(lowest);
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 && lowest >= 0 &&
         static_cast<rlim_t>(lowest) < limit.rlim_cur / 5 * 4;
}

}  // namespace exs::rpc
