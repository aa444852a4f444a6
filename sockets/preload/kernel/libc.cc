// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/libc.h"

#include <dlfcn.h>

namespace exs::sockets {

Libc g_libc;
bool g_libc_known = false;

void find_libc() noexcept {
// NOLINTBEGIN(bugprone-macro-parentheses): declarations of their arguments
#define EXS_FIND(result, name, parameters) \
  g_libc.name = reinterpret_cast<result(*) parameters>(dlsym(RTLD_NEXT, #name));
  EXS_LIBC_FUNCTIONS(EXS_FIND)
// NOLINTEND(bugprone-macro-parentheses)
#undef EXS_FIND
  g_libc_known = true;
}

void* find_symbol(const char* name) noexcept {
  return dlsym(RTLD_NEXT, name);
}

void* find_in_library(const char* library, const char* name) noexcept {
  void* const loaded = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  return loaded == nullptr ? nullptr : find_by_handle(loaded, name);
}

}  // namespace exs::sockets
