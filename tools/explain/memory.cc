// Shared memory and pinned memory.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "tools/common/units.h"
#include "tools/explain/kernel.h"
#include "tools/explain/machine.h"

namespace explain {
namespace {

constexpr std::size_t kPinnedBytes = std::size_t{64}
                                     << 20;  // the pinned memory of a program with a few buffers
constexpr std::uint64_t kDevShmFewBytes = std::uint64_t{64} << 20;

int use_memfd() {
  constexpr std::size_t kLength = 4096;
  const int file = ::memfd_create("exs-explain", MFD_CLOEXEC);
  if (file == -1) return errno;
  if (::ftruncate(file, kLength) == -1) return errno;
  auto* page =
      static_cast<volatile char*>(::mmap(nullptr, kLength, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  if (page == MAP_FAILED) return errno;
  *page = 1;
  return 0;
}

// Counts against the limit, but touches no page.
int lock_memory() {
  void* pages = ::mmap(nullptr, kPinnedBytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return errno;
  return ::mlock2(pages, kPinnedBytes, MLOCK_ONFAULT) == 0 ? 0 : errno;
}

tools::Json bytes_or_null(rlim_t limit) {
  return limit == RLIM_INFINITY ? tools::Json(nullptr) : tools::Json(limit);
}

std::string limit_text(rlim_t limit) {
  return limit == RLIM_INFINITY ? "unlimited" : tools::format_size(limit);
}

}  // namespace

CheckResult check_memfd() {
  CheckResult result("memfd");
  result.concerns = {"shm"};
  const Trial trial = try_in_child(use_memfd);
  result.values = {{"allowed", trial.worked()}};
  if (trial.worked()) {
    result.text = "memfd_create and mmap work";
    return result;
  }
  result.verdict = Verdict::missing;
  result.reason = exs::ReasonCode::kNoMemfd;
  result.text = "memfd_create and mmap: " + trial.description();
  return result;
}

CheckResult check_dev_shm() {
  CheckResult result("dev_shm");
  struct statvfs found {};
  if (::statvfs("/dev/shm", &found) == -1) {
    result.text = "not there; exs does without, others (MPI, UCX) may not";
    result.values = {{"size_bytes", nullptr}, {"free_bytes", nullptr}};
    return result;
  }
  const std::uint64_t size_bytes = std::uint64_t{found.f_blocks} * found.f_frsize;
  const std::uint64_t free_bytes = std::uint64_t{found.f_bavail} * found.f_frsize;
  constexpr std::uint64_t kMiB = 1 << 20;
  result.text = tools::format("%llu MiB, %llu MiB free; exs does without%s",
                              static_cast<unsigned long long>(size_bytes / kMiB),
                              static_cast<unsigned long long>(free_bytes / kMiB),
                              size_bytes < kDevShmFewBytes ? ", others (MPI, UCX) may need more" : "");
  result.values = {{"size_bytes", size_bytes}, {"free_bytes", free_bytes}};
  return result;
}

CheckResult check_memlock() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const Trial trial = try_in_child(lock_memory);
  CheckResult result("memlock");
  result.concerns = {"verbs"};
  result.text = tools::format("limit %s, at most %s (ulimit -l, -Hl); ", limit_text(limit.rlim_cur).c_str(),
                              limit_text(limit.rlim_max).c_str());
  result.values = {{"soft_limit_bytes", bytes_or_null(limit.rlim_cur)},
                   {"hard_limit_bytes", bytes_or_null(limit.rlim_max)},
                   {"tried_bytes", kPinnedBytes},
                   {"allowed", trial.worked()}};
  if (trial.worked()) {
    result.text += tools::format_size(kPinnedBytes) + " can be pinned";
    return result;
  }
  result.verdict = Verdict::limited;
  result.reason = exs::ReasonCode::kMemlock;
  result.text += "pinning " + tools::format_size(kPinnedBytes) + ": " + trial.description();
  return result;
}

}  // namespace explain
