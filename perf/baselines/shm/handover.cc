// Hand-overs: two processes take turns, and a round trip is two of them.
// SPDX-License-Identifier: BSD-2-Clause
#include <linux/futex.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <new>

#include "base/unique_fd.h"
#include "perf/baselines/shm/methods.h"
#include "tools/common/child_process.h"
#include "tools/common/clock.h"
#include "tools/common/failure.h"
#include "tools/common/interrupt.h"

namespace shm_baseline {
namespace {

using tools::fail;

constexpr std::uint32_t kWarmupSamples = 100;

// The number of turns, in a cache line of its own.
struct alignas(64) Word {
  std::atomic<std::uint32_t> turns;
};

Word& shared_word() {
  void* page = mmap(nullptr, sizeof(Word), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) fail("cannot map shared memory", errno);
  return *new (page) Word{};
}

// One end of each way to hand over: give() lets the other end continue, take() waits for its give().
class Line {
 public:
  static constexpr std::uint32_t kRoundsInSample = 256;
  explicit Line(Word& word) : word_(word) {}
  void give() { word_.turns.store(++turn_, std::memory_order_release); }
  void take() {
    ++turn_;
    while (word_.turns.load(std::memory_order_acquire) != turn_) continue;
  }

 private:
  Word& word_;
  std::uint32_t turn_ = 0;
};

class Futex {
 public:
  static constexpr std::uint32_t kRoundsInSample = 1;
  explicit Futex(Word& word) : word_(word) {}
  void give() {
    word_.turns.store(++turn_, std::memory_order_release);
    call(FUTEX_WAKE, 1);
  }
  void take() {
    const std::uint32_t before = turn_++;
    while (word_.turns.load(std::memory_order_acquire) != turn_) call(FUTEX_WAIT, before);
  }

 private:
  void call(int operation, std::uint32_t value) {
    syscall(SYS_futex, &word_.turns, operation, value, nullptr, nullptr, 0);
  }
  Word& word_;
  std::uint32_t turn_ = 0;
};

class EventFd {
 public:
  static constexpr std::uint32_t kRoundsInSample = 1;
  EventFd(int out, int in) : out_(out), in_(in) {}
  void give() const {
    if (eventfd_write(out_, 1) != 0) fail("eventfd_write", errno);
  }
  void take() const {
    eventfd_t turns = 0;
    while (eventfd_read(in_, &turns) != 0) {
      if (errno != EINTR) fail("eventfd_read", errno);
    }
  }

 private:
  const int out_;
  const int in_;
};

exs::UniqueFd make_eventfd() {
  exs::UniqueFd descriptor(eventfd(0, EFD_CLOEXEC));
  if (!descriptor.valid()) fail("eventfd", errno);
  return descriptor;
}

template <typename End>
Samples measure(End first, End second, const Settings& settings, tools::ProgressLine& line) {
  const tools::ChildProcess child([&] {
    tools::leave_interrupts_to_parent();
    if (settings.pin) tools::pin_to_core(1);
    for (;;) {
      second.take();
      second.give();
    }
    return 0;
  });
  Samples out;
  out.operations = 2 * End::kRoundsInSample;
  out.pinned = settings.pin && tools::pin_to_core(0);
  std::uint64_t end_ns = UINT64_MAX;
  std::uint64_t now_ns = exs::monotonic_ns();
  for (std::uint32_t sample = 0; now_ns < end_ns && !tools::interrupted(); ++sample) {
    const std::uint64_t start_ns = now_ns;
    for (std::uint32_t round = 0; round < End::kRoundsInSample; ++round) {
      first.give();
      first.take();
    }
    now_ns = exs::monotonic_ns();
    if (sample == kWarmupSamples) end_ns = now_ns + settings.time_ns;
    if (sample <= kWarmupSamples) continue;
    out.times.record(now_ns - start_ns);
    line.update(out.times.count(), now_ns);
  }
  return out;
}

}  // namespace

Samples hand_over(Mode mode, const Settings& settings, tools::ProgressLine& line) {
  if (mode == Mode::eventfd) {
    const exs::UniqueFd there = make_eventfd();
    const exs::UniqueFd back = make_eventfd();
    return measure(EventFd(there.get(), back.get()), EventFd(back.get(), there.get()), settings, line);
  }
  Word& word = shared_word();
  Samples out = mode == Mode::line ? measure(Line(word), Line(word), settings, line)
                                   : measure(Futex(word), Futex(word), settings, line);
  munmap(&word, sizeof word);
  return out;
}

}  // namespace shm_baseline
