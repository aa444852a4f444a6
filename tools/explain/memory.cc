// Memory that is shared, and memory that is pinned.
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

constexpr std::size_t kPinnedBytes = std::size_t{64} << 20;  // what a program with a few buffers pins
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
  return limit == RLIM_INFINITY ? "unlimited" : tools::size_text(limit);
}

}  // namespace

Fact look_at_memfd() {
  Fact fact("memfd");
  fact.concerns = {"shm"};
  const Trial trial = try_out(use_memfd);
  fact.values = {{"allowed", trial.worked()}};
  if (trial.worked()) {
    fact.text = "memfd_create and mmap work";
    return fact;
  }
  fact.verdict = Verdict::missing;
  fact.reason = exs::ReasonCode::kNoMemfd;
  fact.text = "memfd_create and mmap: " + trial.words();
  return fact;
}

Fact look_at_dev_shm() {
  Fact fact("dev_shm");
  struct statvfs found {};
  if (::statvfs("/dev/shm", &found) == -1) {
    fact.text = "not there; exs does without, others (MPI, UCX) may not";
    fact.values = {{"size_bytes", nullptr}, {"free_bytes", nullptr}};
    return fact;
  }
  const std::uint64_t size_bytes = std::uint64_t{found.f_blocks} * found.f_frsize;
  const std::uint64_t free_bytes = std::uint64_t{found.f_bavail} * found.f_frsize;
  constexpr std::uint64_t kMiB = 1 << 20;
  fact.text = tools::text("%llu MiB, %llu MiB free; exs does without%s",
                          static_cast<unsigned long long>(size_bytes / kMiB),
                          static_cast<unsigned long long>(free_bytes / kMiB),
                          size_bytes < kDevShmFewBytes ? ", others (MPI, UCX) may need more" : "");
  fact.values = {{"size_bytes", size_bytes}, {"free_bytes", free_bytes}};
  return fact;
}

Fact look_at_memlock() {
  rlimit limit{};
  ::getrlimit(RLIMIT_MEMLOCK, &limit);
  const Trial trial = try_out(lock_memory);
  Fact fact("memlock");
  fact.concerns = {"verbs"};
  fact.text = tools::text("limit %s, at most %s (ulimit -l, -Hl); ", limit_text(limit.rlim_cur).c_str(),
                          limit_text(limit.rlim_max).c_str());
  fact.values = {{"soft_limit_bytes", bytes_or_null(limit.rlim_cur)},
                 {"hard_limit_bytes", bytes_or_null(limit.rlim_max)},
                 {"tried_bytes", kPinnedBytes},
                 {"allowed", trial.worked()}};
  if (trial.worked()) {
    fact.text += tools::size_text(kPinnedBytes) + " can be pinned";
    return fact;
  }
  fact.verdict = Verdict::limited;
  fact.reason = exs::ReasonCode::kMemlock;
  fact.text += "pinning " + tools::size_text(kPinnedBytes) + ": " + trial.words();
  return fact;
}

}  // namespace explain
