// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/own_process.h"

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "sockets/preload/kernel/raw.h"

// The number of vfork children that use our memory; symbols/vfork.cc counts them.
extern "C" {
__attribute__((visibility("hidden"))) std::atomic<std::uint32_t> exs_sockets_vforks{0};
}

namespace exs::sockets {
namespace {

#if defined(__x86_64__)
constexpr bool kSeesVforks = true;
#else
constexpr bool kSeesVforks = false;
#endif
constexpr std::size_t kPageBytes = 4096;
// True in a page that the kernel wipes in the child of any fork. Null: no such page yet.
std::atomic<std::atomic<bool>*> own_mark{nullptr};
constexpr long kRetired = -1;
std::atomic<long> process{0};

}  // namespace

bool is_retired() noexcept {
  return process.load(std::memory_order_relaxed) == kRetired;
}

void retire_process() noexcept {
  process.store(kRetired);
}

bool is_vfork_child() noexcept {
  if (is_retired()) return true;
  const std::atomic<bool>* const mark = own_mark.load(std::memory_order_relaxed);
  if (mark != nullptr && mark->load(std::memory_order_relaxed) && exs_sockets_vforks.load() == 0)
    return false;
  return raw::sys(SYS_getpid) != process.load(std::memory_order_relaxed);
}

void note_shared_memory() noexcept {
  exs_sockets_vforks.fetch_add(1);
}

void watch_for_forks() noexcept {
  if (!kSeesVforks || own_mark.load() != nullptr) return;
  void* const page = raw::memory_of(
      raw::sys(SYS_mmap, 0, kPageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (page == nullptr) return;
  if (raw::sys(SYS_madvise, page, kPageBytes, MADV_WIPEONFORK) != 0) {
    raw::sys(SYS_munmap, page, kPageBytes);
    return;
  }
  auto* const mark = static_cast<std::atomic<bool>*>(page);
  mark->store(true);
  own_mark.store(mark);
}

void remember_process() noexcept {
  process.store(raw::sys(SYS_getpid));
  exs_sockets_vforks.store(0);
  if (std::atomic<bool>* const mark = own_mark.load()) mark->store(true);
}

}  // namespace exs::sockets
