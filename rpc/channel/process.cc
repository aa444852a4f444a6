// SPDX-License-Identifier: BSD-2-Clause
#include "rpc/channel/process.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "base/drive_lock.h"
#include "base/kernel.h"
#include "base/unique_fd.h"
#include "exs/exs.h"

namespace exs::rpc {
namespace {

// Points to a page that fork() wipes in a child: not zero in the process that started exs.
std::atomic<char*> mark{nullptr};

}  // namespace

Status start_library() noexcept {
  static constinit Mutex mutex;
  const LockGuard lock(mutex);
  if (is_own_process()) return {};
  if (mark.load() != nullptr) return Status(EOPNOTSUPP);
  const auto bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  void* const page = kernel::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return Status(errno);
  if (kernel::madvise(page, bytes, MADV_WIPEONFORK) != 0 || exs_init(EXS_VERSION) != 0) {
    const Status why(errno);
    kernel::munmap(page, bytes);
    return why;
  }
  *static_cast<char*>(page) = 1;
  mark.store(static_cast<char*>(page));
  return {};
}

bool is_own_process() noexcept {
  const char* const page = mark.load(std::memory_order_acquire);
  return page != nullptr && *page != 0;
}

// The lowest free descriptor tells how many are in use.
bool has_descriptors() noexcept {
  const UniqueFd lowest(kernel::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  rlimit limit{};
  return lowest.valid() && kernel::getrlimit(RLIMIT_NOFILE, &limit) == 0 &&
         static_cast<rlim_t>(lowest.get()) < limit.rlim_cur / 5 * 4;
}

}  // namespace exs::rpc
