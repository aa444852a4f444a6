// Ways to the C library's functions past our names: its handle (ctypes, JNA, P/Invoke), and libraries that
// search their own dependencies first (deep binding). Lookups by handle get our functions. The layer does not
// see calls by deep binding, so TCP serves the process from then on.
// SPDX-License-Identifier: BSD-2-Clause
#include <dlfcn.h>
#include <gnu/lib-names.h>

#include <cstring>

#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/process/retire.h"
#include "sockets/preload/symbols/export.h"

// The C library's functions. Ours jump there, so that the dynamic linker sees the program as the caller. The
// caller decides which object is next, and where libraries are searched.
// and where libraries are looked for.
extern "C" {
__attribute__((visibility("hidden"))) void* exs_sockets_next_dlsym = nullptr;
__attribute__((visibility("hidden"))) void* exs_sockets_next_dlopen = nullptr;
__attribute__((visibility("hidden"))) void* exs_sockets_next_dlmopen = nullptr;
}

namespace exs::sockets {
namespace {

using Lookup = void* (*)(void* handle, const char* name);

void find_next(void*& next, const char* name) noexcept {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.2.5", "GLIBC_2.3.4", "GLIBC_2.17"})
    if (next == nullptr) next = dlvsym(RTLD_NEXT, name, version);
}

// The function belongs to a library that our functions replace.
bool is_stood_behind(const void* function) noexcept {
  Dl_info about{};
  if (dladdr(function, &about) == 0 || about.dli_fname == nullptr) return false;
  const char* const slash = std::strrchr(about.dli_fname, '/');
  const char* const file = slash == nullptr ? about.dli_fname : slash + 1;
  for (const char* library : {LIBC_SO, "liburing.so.", "libaio.so."})
    if (std::strncmp(file, library, std::strlen(library)) == 0) return true;
  return false;
}

// Our function of that name; null: there is none.
void* own_function(const char* name) noexcept {
  Dl_info own{};
  if (dladdr(reinterpret_cast<const void*>(&is_stood_behind), &own) == 0) return nullptr;
  static void* const handle = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  void* const found = handle == nullptr ? nullptr : find_by_handle(handle, name);
  Dl_info about{};
  return found != nullptr && dladdr(found, &about) != 0 && about.dli_fbase == own.dli_fbase ? found : nullptr;
}

}  // namespace

void* find_by_handle(void* handle, const char* name) noexcept {
  find_next(exs_sockets_next_dlsym, "dlsym");
  return reinterpret_cast<Lookup>(exs_sockets_next_dlsym)(handle, name);
}

}  // namespace exs::sockets

using namespace exs::sockets;

// Null: the C library's function answers.
extern "C" __attribute__((visibility("hidden"), used)) void* exs_sockets_before_dlsym(
    void* handle, const char* name) noexcept {
  find_next(exs_sockets_next_dlsym, "dlsym");
  if (handle == RTLD_DEFAULT || handle == RTLD_NEXT) return nullptr;
  void* const found = find_by_handle(handle, name);
  return found != nullptr && is_stood_behind(found) ? own_function(name) : nullptr;
}
extern "C" __attribute__((visibility("hidden"), used)) void exs_sockets_before_dlopen(const char*,
                                                                                      int flags) noexcept {
  find_next(exs_sockets_next_dlopen, "dlopen");
  if ((flags & RTLD_DEEPBIND) != 0) retire(Why::kUnseen);
}
extern "C" __attribute__((visibility("hidden"), used)) void exs_sockets_before_dlmopen(Lmid_t space,
                                                                                       const char*,
                                                                                       int flags) noexcept {
  find_next(exs_sockets_next_dlmopen, "dlmopen");
  if (space != LM_ID_BASE || (flags & RTLD_DEEPBIND) != 0) retire(Why::kUnseen);
}

#if defined(__x86_64__)
asm(R"(
  .text
  .macro exs_sockets_jump name, answers
  .globl \name
  .type \name, @function
\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  pushq %rsi
  pushq %rdx
  .cfi_adjust_cfa_offset 24
  call exs_sockets_before_\name
  popq %rdx
  popq %rsi
  popq %rdi
  .cfi_adjust_cfa_offset -24
  .if \answers
  testq %rax, %rax
  jne 1f
  .endif
  jmpq *exs_sockets_next_\name(%rip)
1:
  ret
  .cfi_endproc
  .size \name, .-\name
  .endm
  exs_sockets_jump dlsym, 1
  exs_sockets_jump dlopen, 0
  exs_sockets_jump dlmopen, 0
)");
#elif defined(__aarch64__)
asm(R"(
  .text
  .macro exs_sockets_jump name, answers
  .globl \name
  .type \name, %function
\name:
  stp x29, x30, [sp, #-48]!
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  mov x29, sp
  bl exs_sockets_before_\name
  mov x9, x0
  ldr x2, [sp, #32]
  ldp x0, x1, [sp, #16]
  ldp x29, x30, [sp], #48
  .if \answers
  cbz x9, 1f
  mov x0, x9
  ret
  .endif
1:
  adrp x16, exs_sockets_next_\name
  ldr x16, [x16, #:lo12:exs_sockets_next_\name]
  br x16
  .size \name, .-\name
  .endm
  exs_sockets_jump dlsym, 1
  exs_sockets_jump dlopen, 0
  exs_sockets_jump dlmopen, 0
)");
#endif
