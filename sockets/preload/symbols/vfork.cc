// vfork in assembly, because it returns twice on one stack, which no compiled function survives.
// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>

#include "sockets/preload/symbols/export.h"
#include "sockets/preload/table/table.h"

#if defined(__x86_64__)

extern "C" __attribute__((visibility("hidden"), used)) int exs_sockets_vfork_failed(int error) noexcept {
  errno = error;
  return -1;
}

// The child is counted before it exists, until its parent runs again. The caller may reuse the stack slot of
// the return address by then, so a register holds that address.
asm(R"(
  .text
  .globl vfork
  .type vfork, @function
  .globl __vfork
  .set __vfork, vfork
vfork:
  .cfi_startproc
  endbr64
  lock incl exs_sockets_vforks(%rip)
  popq %rdi
  .cfi_adjust_cfa_offset -8
  .cfi_register %rip, %rdi
  movl $58, %eax
  syscall
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rip, 0
  testl %eax, %eax
  jz 1f
  lock decl exs_sockets_vforks(%rip)
  testl %eax, %eax
  jns 1f
  negl %eax
  movl %eax, %edi
  jmp exs_sockets_vfork_failed
1:
  ret
  .cfi_endproc
  .size vfork, .-vfork
)");

#endif
