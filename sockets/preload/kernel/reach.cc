// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/reach.h"

#include <sys/uio.h>
#include <ucontext.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "base/long_copy.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

// The place at which this thread's copy continues if it fails, for __builtin_setjmp(), and the memory that
// the copy touches.
struct Copy {
  void* place[5];
  std::uintptr_t from;
  std::uintptr_t to;
  std::size_t bytes;
  bool anywhere = false;  // the step follows pointers
};
thread_local Copy* volatile copying = nullptr;

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
constexpr auto kResetHand = static_cast<int>(SA_RESETHAND);

// Both signals reach our handler in this thread.
enum class Faults : std::uint8_t { kUnknown, kCaught, kBlocked };
thread_local Faults faults = Faults::kUnknown;

bool has_one(const sigset_t& set) noexcept {
  for (const int signal : kSignals)
    if (sigismember(&set, signal) == 1) return true;
  return false;
}
// The thread may have inherited a mask that blocks the signals.
[[gnu::noinline]] bool find_mask() noexcept {
  sigset_t mask{};
  raw::sys(SYS_rt_sigprocmask, SIG_BLOCK, nullptr, &mask, sizeof(std::uint64_t));
  faults = has_one(mask) ? Faults::kBlocked : Faults::kCaught;
  return faults == Faults::kCaught;
}
bool are_caught() noexcept {
  return __builtin_expect(faults == Faults::kCaught, 1) != 0 || (faults == Faults::kUnknown && find_mask());
}
struct Watched {
  std::atomic<bool> is_ours;  // our handler is installed
  struct sigaction programs;
};
Watched watched[NSIG];  // by signal

Watched* watched_of(int signal) noexcept {
  return signal > 0 && signal < NSIG ? &watched[signal] : nullptr;
}
bool is_fault(int signal) noexcept {
  return std::find(std::begin(kSignals), std::end(kSignals), signal) != std::end(kSignals);
}
bool is_handled(const struct sigaction& action) noexcept {
  return action.sa_handler != SIG_DFL && action.sa_handler != SIG_IGN;
}

bool touches(const Copy& copy, const siginfo_t& info) noexcept {
  if (info.si_code <= 0) return false;  // a process sent the signal
  if (copy.anywhere) return true;
  constexpr std::uintptr_t kOvershoot = 64;  // of a copy's widest step
  const auto at = reinterpret_cast<std::uintptr_t>(info.si_addr);
  const auto is_in = [&](std::uintptr_t first) {
    return at + kOvershoot >= first && at < first + copy.bytes + kOvershoot;
  };
  return is_in(copy.from) || is_in(copy.to);
}

// Makes the copy continue at its __builtin_setjmp(), as __builtin_longjmp() would.
void go_on_behind(const Copy& copy, ucontext_t& context) noexcept {
#if defined(__x86_64__)
  context.uc_mcontext.gregs[REG_RBP] = reinterpret_cast<greg_t>(copy.place[0]);
  context.uc_mcontext.gregs[REG_RIP] = reinterpret_cast<greg_t>(copy.place[1]);
  context.uc_mcontext.gregs[REG_RSP] = reinterpret_cast<greg_t>(copy.place[2]);
#else
  context.uc_mcontext.regs[29] = reinterpret_cast<std::uint64_t>(copy.place[0]);
  context.uc_mcontext.pc = reinterpret_cast<std::uint64_t>(copy.place[1]);
  context.uc_mcontext.sp = reinterpret_cast<std::uint64_t>(copy.place[2]);
#endif
}

// Restores the kernel's default action. The instruction then faults again; a sent signal is sent again.
void leave_to_kernel(int signal, const siginfo_t& info) noexcept {
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  libc().sigaction(signal, &none, nullptr);
  if (info.si_code <= 0) raw::sys(SYS_tgkill, raw::sys(SYS_getpid), raw::sys(SYS_gettid), signal);
}

// During the program's handler the kernel may block the signals of faults, so copies ask for the mask again.
void call_programs(const struct sigaction& programs, int signal, siginfo_t* info, void* context) noexcept {
  faults = Faults::kUnknown;
  if ((programs.sa_flags & SA_SIGINFO) != 0) {
    programs.sa_sigaction(signal, info, context);
  } else {
    programs.sa_handler(signal);
  }
  faults = Faults::kUnknown;
}

void handle(int signal, siginfo_t* info, void* context) noexcept {
  if (Copy* const copy = copying; copy != nullptr && touches(*copy, *info)) {
    copying = nullptr;
    return go_on_behind(*copy, *static_cast<ucontext_t*>(context));
  }
  Watched& of = *watched_of(signal);
  const struct sigaction programs = of.programs;
  if (programs.sa_handler == SIG_IGN && info->si_code <= 0) return;
  if (!is_handled(programs)) return leave_to_kernel(signal, *info);
  if ((programs.sa_flags & kResetHand) != 0) of.programs.sa_handler = SIG_DFL;
  call_programs(programs, signal, info, context);
}

// For any other signal.
void handle_other(int signal, siginfo_t* info, void* context) noexcept {
  const int error = errno;
  Watched& of = *watched_of(signal);
  const struct sigaction programs = of.programs;
  if ((programs.sa_flags & kResetHand) != 0 && of.is_ours.exchange(false)) {
    struct sigaction over = programs;  // as the kernel does
    over.sa_handler = SIG_DFL;
    libc().sigaction(signal, &over, nullptr);
  }
  errno = error;
  if (is_handled(programs)) return call_programs(programs, signal, info, context);
  // Another thread has changed the action since the signal came.
  raw::sys(SYS_tgkill, raw::sys(SYS_getpid), raw::sys(SYS_gettid), signal);
}

// Signals of faults always have our handler. Others have it if the program's handler blocks those.
bool needs_ours(int signal, const struct sigaction& programs) noexcept {
  return is_fault(signal) || (is_handled(programs) && has_one(programs.sa_mask));
}

// Keeps the program's mask and flags, so that its handler runs as the program asked.
void put_ours(int signal, Watched& of) noexcept {
  if (libc().sigaction(signal, nullptr, &of.programs) != 0 || !needs_ours(signal, of.programs)) return;
  struct sigaction ours = of.programs;
  if (!is_handled(ours)) {
    ours.sa_flags = SA_ONSTACK | SA_RESTART;
    sigemptyset(&ours.sa_mask);
  }
  ours.sa_flags = (ours.sa_flags | SA_SIGINFO) & ~kResetHand;
  ours.sa_sigaction = is_fault(signal) ? handle : handle_other;
  of.is_ours.store(libc().sigaction(signal, &ours, nullptr) == 0);
}

// The handler may end the copy at any instruction, so code behind it may use only what lies in memory.
[[gnu::noinline]] bool run(Copy& copy, void (*step)(Copy&)) noexcept {
  if (__builtin_setjmp(copy.place) != 0) return false;
  copying = &copy;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  step(copy);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying = nullptr;
  return true;
}

template <typename Value>
Value* memory_at(std::uintptr_t address) noexcept {
  return reinterpret_cast<Value*>(address);  // NOLINT(performance-no-int-to-ptr): pages are found by number
}

constexpr std::uintptr_t kPage = 4096;
// No process has memory beyond this, and the processor reports no address for such a fault.
constexpr std::uintptr_t kEnd = std::uintptr_t{1} << 47;
bool can_be(const void* memory, std::size_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  return begin < kEnd && bytes <= kEnd - begin;
}

std::atomic<bool> watches{false};

// Asks the kernel, because a process without connections keeps its actions. The kernel reads the mask before
// it rejects the other argument.
bool kernel_reads(std::uintptr_t at) noexcept {
  constexpr int kNoSuchWay = -1;
  constexpr std::size_t kMaskBytes = 8;
  if (at < kPage) return false;  // the kernel reads no mask at a null address
  return raw::sys(SYS_rt_sigprocmask, kNoSuchWay, at & ~(kMaskBytes - 1), nullptr, kMaskBytes) != -EFAULT;
}
bool kernel_reads_all(std::uintptr_t begin, std::size_t bytes) noexcept {
  const std::uintptr_t end = begin + bytes;
  for (std::uintptr_t at = begin; at < end; at = (at / kPage + 1) * kPage)
    if (!kernel_reads(at)) return false;
  return true;
}

// Copies by the call that reads the memory of processes, here this one. Where that call is forbidden,
// memcpy() copies.
bool kernel_copy(void* to, const void* from, std::size_t bytes) noexcept {
  const iovec source{const_cast<void*>(from), bytes};
  const iovec sink{to, bytes};
  const long copied = raw::sys(SYS_process_vm_readv, raw::sys(SYS_getpid), &sink, 1, &source, 1, 0);
  if (copied == -EPERM || copied == -ENOSYS) std::memcpy(to, from, bytes);
  return copied == -EPERM || copied == -ENOSYS || copied == static_cast<long>(bytes);
}
// Writes the first and the last byte with their own values.
bool kernel_writes_all(void* memory, std::size_t bytes) noexcept {
  auto* const first = static_cast<char*>(memory);
  return kernel_copy(first, first, 1) && kernel_copy(first + bytes - 1, first + bytes - 1, 1);
}

bool touch(const void* memory, std::size_t bytes, void (*step)(Copy&)) noexcept {
  if (bytes == 0) return true;
  if (!can_be(memory, bytes)) return false;
  if (!watches.load() || !are_caught())
    return kernel_reads_all(reinterpret_cast<std::uintptr_t>(memory), bytes);
  const auto begin = reinterpret_cast<std::uintptr_t>(memory);
  Copy copy{{}, begin, begin, bytes};
  return run(copy, step);
}

}  // namespace

void watch_copies() noexcept {
  if (watches.load() || is_vfork_child()) return;
  if (watches.exchange(true)) return;
  const int error = errno;
  for (int signal = 1; signal < NSIG; ++signal) put_ours(signal, *watched_of(signal));
  errno = error;
}

bool watches_copies() noexcept {
  return watches.load(std::memory_order_relaxed);
}

void unwatch_copies() noexcept {
  watches.store(false);
  for (int signal = 1; signal < NSIG; ++signal)
    if (Watched& of = *watched_of(signal); of.is_ours.exchange(false))
      libc().sigaction(signal, &of.programs, nullptr);
}

// Repeats run() inline, because this copies each message.
[[gnu::noinline]] bool copy_reached(void* to, const void* from, std::size_t bytes) noexcept {
  if (!can_be(to, bytes) || !can_be(from, bytes)) return false;
  if (!watches.load(std::memory_order_relaxed) || !are_caught()) return kernel_copy(to, from, bytes);
  Copy copy{{}, reinterpret_cast<std::uintptr_t>(from), reinterpret_cast<std::uintptr_t>(to), bytes};
  if (__builtin_setjmp(copy.place) != 0) return false;
  copying = &copy;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  long_copy(to, from, bytes);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  copying = nullptr;
  return true;
}

bool is_there(const void* memory, std::size_t bytes) noexcept {
  return touch(memory, bytes, [](Copy& of) {
    const std::uintptr_t end = of.from + of.bytes;
    for (std::uintptr_t at = of.from; at < end; at = (at / kPage + 1) * kPage)
      static_cast<void>(*memory_at<const volatile char>(at));
    static_cast<void>(*memory_at<const volatile char>(end - 1));
  });
}

bool is_writable(void* memory, std::size_t bytes) noexcept {
  if (bytes > 0 && watches.load() && !are_caught())
    return can_be(memory, bytes) && kernel_writes_all(memory, bytes);
  return touch(memory, bytes, [](Copy& of) {
    std::atomic_ref(*memory_at<char>(of.to)).fetch_or(0);
    std::atomic_ref(*memory_at<char>(of.to + of.bytes - 1)).fetch_or(0);
  });
}

bool are_there(char* const* strings) noexcept {
  if (strings != nullptr && (!watches.load() || !are_caught())) {
    for (; kernel_reads(reinterpret_cast<std::uintptr_t>(strings)); ++strings) {
      if (*strings == nullptr) return true;
      if (!kernel_reads(reinterpret_cast<std::uintptr_t>(*strings))) return false;
    }
    return false;
  }
  Copy copy{{}, reinterpret_cast<std::uintptr_t>(strings), 0, 0, true};
  return strings == nullptr || run(copy, [](Copy& of) {
           const auto* const volatile* at = memory_at<const char* const volatile>(of.from);
           for (; *at != nullptr; ++at)
             for (const volatile char* text = *at; *text != '\0'; ++text) {
             }
         });
}

void forget_mask() noexcept {
  if (!is_vfork_child()) faults = Faults::kUnknown;
}

void note_mask(int how, const sigset_t& set) noexcept {
  if (is_vfork_child()) return;  // its mask is its own, but this memory is its parent's
  if (how == SIG_SETMASK) {
    faults = has_one(set) ? Faults::kBlocked : Faults::kCaught;
  } else if (has_one(set)) {
    faults = how == SIG_BLOCK ? Faults::kBlocked : Faults::kUnknown;
  }
}

WaitMask::WaitMask(const sigset_t* mask) noexcept
    : blocks_(mask != nullptr && watches.load() && is_there(mask) && has_one(*mask)) {
  if (blocks_) forget_mask();
}
WaitMask::~WaitMask() {
  if (blocks_) forget_mask();
}

ProgramsAction::ProgramsAction(int signal) noexcept : signal_(signal) {
  Watched* const of = watched_of(signal);
  // A child of vfork has our memory, but its own actions.
  if (of == nullptr || !watches.load() || is_vfork_child()) signal_ = 0;
  if (signal_ == 0 || !of->is_ours.exchange(false)) return;
  const int error = errno;
  libc().sigaction(signal, &of->programs, nullptr);
  errno = error;
}
ProgramsAction::~ProgramsAction() {
  if (signal_ == 0 || !watches.load()) return;
  const int error = errno;
  put_ours(signal_, *watched_of(signal_));
  errno = error;
}

}  // namespace exs::sockets
