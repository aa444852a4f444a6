// SPDX-License-Identifier: BSD-2-Clause
#include "base/guarded_copy.h"

#include <dlfcn.h>
#include <signal.h>
#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/annotations.h"
#include "base/drive_lock.h"

#if defined(__x86_64__)
#include <cpuid.h>

// A function without a frame, so that a fault in it can continue at its end with nothing to restore. Up to
// 128 bytes are loaded before any is stored. Longer copies use wide registers, or the processor's own copy,
// where available: begin_watching() sets exs_guarded_copy_wide and exs_guarded_copy_moves. A fault leaves the
// upper halves of wide registers in use, which costs only time.
// The processor's own copy takes forty times as long on AMD's Zen 3 and 4 if the target lies 1 to 31 bytes further into its page than the
// source. What malloc() gives for long memory lies 16 bytes into a page, so that is no rare case. Wide registers take such a copy.
asm(R"(
	.text
	.p2align 6
	.type exs_guarded_copy, @function
	.hidden exs_guarded_copy
	.globl exs_guarded_copy
exs_guarded_copy:
	.cfi_startproc
	mov $1, %eax
	cmp $16, %rdx
	jb 3f
	movups (%rsi), %xmm0
	movups -16(%rsi,%rdx), %xmm1
	cmp $32, %rdx
	ja 1f
	movups %xmm0, (%rdi)
	movups %xmm1, -16(%rdi,%rdx)
	ret
1:	movups 16(%rsi), %xmm2
	movups -32(%rsi,%rdx), %xmm3
	cmp $64, %rdx
	ja 2f
	movups %xmm0, (%rdi)
	movups %xmm2, 16(%rdi)
	movups %xmm3, -32(%rdi,%rdx)
	movups %xmm1, -16(%rdi,%rdx)
	ret
2:	cmp $128, %rdx
	ja 6f
	movups 32(%rsi), %xmm4
	movups 48(%rsi), %xmm5
	movups -64(%rsi,%rdx), %xmm6
	movups -48(%rsi,%rdx), %xmm7
	movups %xmm0, (%rdi)
	movups %xmm2, 16(%rdi)
	movups %xmm4, 32(%rdi)
	movups %xmm5, 48(%rdi)
	movups %xmm6, -64(%rdi,%rdx)
	movups %xmm7, -48(%rdi,%rdx)
	movups %xmm3, -32(%rdi,%rdx)
	movups %xmm1, -16(%rdi,%rdx)
	ret
3:	cmp $8, %edx
	jb 4f
	mov (%rsi), %rcx
	mov -8(%rsi,%rdx), %r8
	mov %rcx, (%rdi)
	mov %r8, -8(%rdi,%rdx)
	ret
4:	cmp $4, %edx
	jb 5f
	mov (%rsi), %ecx
	mov -4(%rsi,%rdx), %r8d
	mov %ecx, (%rdi)
	mov %r8d, -4(%rdi,%rdx)
	ret
5:	test %edx, %edx
	jz 9f
	movzbl (%rsi), %ecx
	movzbl -1(%rsi,%rdx), %r8d
	mov %cl, (%rdi)
	mov %r8b, -1(%rdi,%rdx)
	cmp $3, %edx
	jne 9f
	movzbl 1(%rsi), %ecx
	mov %cl, 1(%rdi)
	ret
6:	cmp exs_guarded_copy_moves(%rip), %rdx
	jae 8f
12:	cmp exs_guarded_copy_wide(%rip), %rdx
	jae 10f
	lea -64(%rsi,%rdx), %r8
	lea -64(%rdi,%rdx), %r9
	.p2align 4
7:	movups (%rsi), %xmm0
	movups 16(%rsi), %xmm1
	movups 32(%rsi), %xmm2
	movups 48(%rsi), %xmm3
	movups %xmm0, (%rdi)
	movups %xmm1, 16(%rdi)
	movups %xmm2, 32(%rdi)
	movups %xmm3, 48(%rdi)
	add $64, %rsi
	add $64, %rdi
	cmp %r8, %rsi
	jb 7b
	movups (%r8), %xmm0
	movups 16(%r8), %xmm1
	movups 32(%r8), %xmm2
	movups 48(%r8), %xmm3
	movups %xmm0, (%r9)
	movups %xmm1, 16(%r9)
	movups %xmm2, 32(%r9)
	movups %xmm3, 48(%r9)
	ret
8:	lea -1(%rdi), %ecx
	sub %esi, %ecx
	and $4095, %ecx
	cmp $63, %ecx
	jb 12b
	mov %rdx, %rcx
	rep movsb
	ret
9:	ret
10:	lea -128(%rsi,%rdx), %r8
	lea -128(%rdi,%rdx), %r9
	.p2align 4
11:	vmovdqu (%rsi), %ymm0
	vmovdqu 32(%rsi), %ymm1
	vmovdqu 64(%rsi), %ymm2
	vmovdqu 96(%rsi), %ymm3
	vmovdqu %ymm0, (%rdi)
	vmovdqu %ymm1, 32(%rdi)
	vmovdqu %ymm2, 64(%rdi)
	vmovdqu %ymm3, 96(%rdi)
	sub $-128, %rsi
	sub $-128, %rdi
	cmp %r8, %rsi
	jb 11b
	vmovdqu (%r8), %ymm0
	vmovdqu 32(%r8), %ymm1
	vmovdqu 64(%r8), %ymm2
	vmovdqu 96(%r8), %ymm3
	vmovdqu %ymm0, (%r9)
	vmovdqu %ymm1, 32(%r9)
	vmovdqu %ymm2, 64(%r9)
	vmovdqu %ymm3, 96(%r9)
	vzeroupper
	ret
	.hidden exs_guarded_copy_fault
	.globl exs_guarded_copy_fault
exs_guarded_copy_fault:
	xor %eax, %eax
	ret
	.cfi_endproc
	.size exs_guarded_copy, .-exs_guarded_copy
)");

extern "C" {
[[gnu::visibility("hidden")]] void exs_guarded_copy_fault() noexcept;
// The shortest lengths that the processor's own copy takes, and that its wider registers do.
[[gnu::visibility("hidden")]] std::uint64_t exs_guarded_copy_moves = UINT64_MAX;
[[gnu::visibility("hidden")]] std::uint64_t exs_guarded_copy_wide = UINT64_MAX;
}
#endif

namespace exs {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGBUS};

struct Watched {
  struct sigaction before {};  // written before our handler is there, and read by it
  bool is_covered = false;     // the program has put its own in the place of ours
};
struct Watching {
  Mutex mutex;  // held across a fork
  std::size_t watches EXS_GUARDED_BY(mutex) = 0;
  std::array<Watched, kSignals.size()> signals{};
};
Watching watching;

#if defined(__x86_64__)

std::uint64_t shortest_move() noexcept {
  constexpr std::uint64_t kShortest = 2560;
  constexpr unsigned kFastMoves = 1U << 9U;
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kFastMoves) != 0 ? kShortest : UINT64_MAX;
}

std::uint64_t shortest_wide() noexcept {
  constexpr std::uint64_t kShortest = 200;  // from 128 on
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx2") ? kShortest : UINT64_MAX;
}

// Ends a copy in which the fault happened. A signal that a process sent belongs to no copy.
bool end_copy(const siginfo_t& info, ucontext_t& context) noexcept {
  auto& at = context.uc_mcontext.gregs[REG_RIP];
  const auto begin = reinterpret_cast<greg_t>(&exs_guarded_copy);
  const auto end = reinterpret_cast<greg_t>(&exs_guarded_copy_fault);
  if (info.si_code <= 0 || at < begin || at >= end) return false;
  at = end;
  return true;
}

// Restores the default action. The instruction then faults again; a sent signal is sent again.
void leave_to_kernel(int signal, const siginfo_t& info) noexcept {
  struct sigaction none {};
  none.sa_handler = SIG_DFL;
  ::sigaction(signal, &none, nullptr);
  if (info.si_code <= 0) ::raise(signal);
}

void on_fault(int signal, siginfo_t* info, void* context) noexcept {
  if (end_copy(*info, *static_cast<ucontext_t*>(context))) return;
  const struct sigaction before = watching.signals[signal == SIGSEGV ? 0 : 1].before;
  const bool was_sent = info->si_code <= 0;
  if (before.sa_handler == SIG_IGN && was_sent) return;
  if (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN) return leave_to_kernel(signal, *info);
  if ((before.sa_flags & SA_SIGINFO) != 0) {
    before.sa_sigaction(signal, info, context);
  } else {
    before.sa_handler(signal);
  }
}

bool is_ours(const struct sigaction& action) noexcept {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == on_fault;
}

// Keeps mask and flags of the previous owner's handler, which runs as its owner asked. A handler that
// replaced ours may pass signals on to us. Ours is then not installed again, because the two would call each
// other for ever.
void put_ours(int signal, Watched& of) noexcept {
  struct sigaction now {};
  if (::sigaction(signal, nullptr, &now) != 0 || is_ours(now)) return;
  const bool has_handler = now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN;
  if (of.is_covered && has_handler) return;
  of.before = now;
  if (!has_handler) {
    now.sa_flags = SA_ONSTACK | SA_RESTART;
    sigemptyset(&now.sa_mask);
  }
  now.sa_flags = (now.sa_flags | SA_SIGINFO) & ~static_cast<int>(SA_RESETHAND);
  now.sa_sigaction = on_fault;
  ::sigaction(signal, &now, nullptr);
}

// A handler that replaced ours stays.
void put_back(int signal, Watched& of) noexcept {
  struct sigaction now {};
  of.is_covered = ::sigaction(signal, nullptr, &now) != 0 || !is_ours(now);
  if (!of.is_covered) ::sigaction(signal, &of.before, nullptr);
}

// A Java virtual machine uses these signals itself and warns of other handlers. Its buffers live as long as
// their operations.
bool is_in_java() noexcept {
  return ::dlsym(RTLD_DEFAULT, "JNI_CreateJavaVM") != nullptr;
}

void begin_watching() noexcept {
  exs_guarded_copy_moves = shortest_move();
  exs_guarded_copy_wide = shortest_wide();
  if (is_in_java()) return;
  for (std::size_t i = 0; i < kSignals.size(); ++i) put_ours(kSignals[i], watching.signals[i]);
}

void end_watching() noexcept {
  for (std::size_t i = 0; i < kSignals.size(); ++i) put_back(kSignals[i], watching.signals[i]);
}

#else

void begin_watching() noexcept {}
void end_watching() noexcept {}

#endif

}  // namespace

constinit thread_local bool takes_faults = false;

void begin_to_take_faults() noexcept {
  takes_faults = true;
  sigset_t faults;
  sigemptyset(&faults);
  for (const int signal : kSignals) sigaddset(&faults, signal);
  ::pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

FaultWatch::FaultWatch() noexcept {
  const LockGuard lock(watching.mutex);
  if (watching.watches++ == 0) begin_watching();
}

FaultWatch::~FaultWatch() {
  const LockGuard lock(watching.mutex);
  if (--watching.watches == 0) end_watching();
}

void FaultWatch::lock() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  watching.mutex.lock();
}

void FaultWatch::unlock() noexcept EXS_NO_THREAD_SAFETY_ANALYSIS {
  watching.mutex.unlock();
}

}  // namespace exs
