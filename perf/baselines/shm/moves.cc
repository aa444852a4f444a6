// Moves of bytes from the memory of another process, or between shared pages.
// SPDX-License-Identifier: BSD-2-Clause
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "perf/baselines/shm/methods.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"

namespace shm_baseline {
namespace {

using tools::fail;

constexpr std::uint64_t kWarmupMoves = 64;
constexpr std::uint64_t kSampleMinBytes = std::uint64_t{256} << 10U;  // of copies: some 2 us

// `count` buffers of one size, in touched pages of the process or in a memfd.
class Buffers {
 public:
  Buffers(std::uint64_t size_bytes, std::uint32_t count, bool in_memfd)
      : size_bytes_(size_bytes), count_(count) {
    const int descriptor = in_memfd ? make_memfd(length()) : -1;
    const int flags = in_memfd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void* pages = mmap(nullptr, length(), PROT_READ | PROT_WRITE, flags, descriptor, 0);
    if (descriptor != -1) close(descriptor);
    if (pages == MAP_FAILED) fail("cannot map " + std::to_string(length()) + " bytes", errno);
    pages_ = static_cast<char*>(pages);
    std::memset(pages_, 0x5a, length());
  }
  ~Buffers() { munmap(pages_, length()); }
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] char* at(std::uint64_t move) const { return pages_ + move % count_ * size_bytes_; }

 private:
  static int make_memfd(std::uint64_t length) {
    const int descriptor = memfd_create("shm-baseline", MFD_CLOEXEC);
    if (descriptor == -1 || ftruncate(descriptor, static_cast<off_t>(length)) != 0)
      fail("cannot make a memfd", errno);
    return descriptor;
  }
  [[nodiscard]] std::uint64_t length() const { return size_bytes_ * count_; }

  const std::uint64_t size_bytes_;
  const std::uint32_t count_;
  char* pages_;
};

template <typename Move>
void measure(Samples& out, const Settings& settings, tools::ProgressLine& line, const Move& move) {
  std::uint64_t moves = 0;
  for (; moves < kWarmupMoves; ++moves) move(moves);
  std::uint64_t now_ns = exs::monotonic_ns();
  const std::uint64_t end_ns = now_ns + settings.time_ns;
  while (now_ns < end_ns && !tools::interrupted()) {
    const std::uint64_t start_ns = now_ns;
    for (std::uint32_t i = 0; i < out.operations; ++i) move(moves++);
    now_ns = exs::monotonic_ns();
    out.times.record(now_ns - start_ns);
    line.update(out.times.count(), now_ns);
  }
}

}  // namespace

Samples read_memory(const Settings& settings, tools::ProgressLine& line) {
  const std::uint64_t size_bytes = settings.size_bytes;
  // Mapped before the fork, so both know the address; written by the child, so the pages are its own.
  const Buffers theirs(size_bytes, settings.buffers, false);
  int ready[2];
  if (pipe(ready) != 0) fail("pipe", errno);
  const tools::ChildProcess child([&] {
    tools::leave_interrupts_to_parent();
    if (settings.pin) tools::pin_to_core(1);
    for (std::uint32_t i = 0; i < settings.buffers; ++i) std::memset(theirs.at(i), 0xa5, size_bytes);
    if (write(ready[1], "", 1) != 1) fail("write", errno);
    for (;;) pause();
    return 0;
  });
  Samples out;
  out.pinned = settings.pin && tools::pin_to_core(0);
  char byte = 0;
  close(ready[1]);
  if (TEMP_FAILURE_RETRY(read(ready[0], &byte, 1)) != 1) throw tools::Failure("the other process has ended");
  close(ready[0]);
  const Buffers ours(size_bytes, settings.buffers, false);
  measure(out, settings, line, [&](std::uint64_t n) {
    const iovec into{ours.at(n), size_bytes};
    const iovec from{theirs.at(n), size_bytes};
    const ssize_t done = process_vm_readv(child.pid(), &into, 1, &from, 1, 0);
    if (done != static_cast<ssize_t>(size_bytes)) fail("process_vm_readv", done < 0 ? errno : EIO);
  });
  for (std::uint32_t i = 0; i < settings.buffers; ++i) {
    if (ours.at(i)[size_bytes - 1] != '\xa5') throw tools::Failure("wrong bytes were read");
  }
  return out;
}

Samples copy_memory(const Settings& settings, tools::ProgressLine& line) {
  Samples out;
  out.pinned = settings.pin && tools::pin_to_core(0);
  out.operations =
      static_cast<std::uint32_t>(std::max<std::uint64_t>(1, kSampleMinBytes / settings.size_bytes));
  const Buffers from(settings.size_bytes, settings.buffers, true);
  const Buffers into(settings.size_bytes, settings.buffers, true);
  measure(out, settings, line, [&](std::uint64_t n) {
    std::memcpy(into.at(n), from.at(n), settings.size_bytes);
    asm volatile("" : : "r"(into.at(n)) : "memory");  // keeps the compiler from dropping the copy
  });
  return out;
}

}  // namespace shm_baseline
