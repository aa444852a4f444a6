// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/between/library.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstring>

namespace exs::sockets::between {
namespace {

constexpr char kFile[] = "libexs.so.0";

LoadedLibrary functions;

// Tries the directory of this library first.
void* open_library() noexcept {
  Dl_info own{};
  if (dladdr(&functions, &own) != 0 && own.dli_fname != nullptr) {
    const char* const end = std::strrchr(own.dli_fname, '/');
    char path[PATH_MAX];
    const auto folder = end == nullptr ? 0 : static_cast<int>(end - own.dli_fname);
    const int length = std::snprintf(path, sizeof path, "%.*s/%s", folder, own.dli_fname, kFile);
    if (folder > 0 && length < static_cast<int>(sizeof path))
      if (void* const handle = dlopen(path, RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
}

// The place of its code.
std::atomic<std::uintptr_t> first_byte{0};
std::atomic<std::uintptr_t> end_byte{0};

int find_code(dl_phdr_info* object, std::size_t, void* function) noexcept {
  const auto place = reinterpret_cast<std::uintptr_t>(function);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t first = object->dlpi_addr + part.p_vaddr;
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0 || place < first ||
        place >= first + part.p_memsz)
      continue;
    end_byte.store(first + part.p_memsz);
    first_byte.store(first);
    return 1;
  }
  return 0;
}

}  // namespace

bool is_in_library(const void* place) noexcept {
  const auto byte = reinterpret_cast<std::uintptr_t>(place);
  return byte < end_byte.load(std::memory_order_relaxed) &&
         byte >= first_byte.load(std::memory_order_relaxed);
}

const LoadedLibrary* load_library() noexcept {
  void* const handle = open_library();
  if (handle == nullptr) return nullptr;
  bool complete = true;
#define EXS_BETWEEN_FIND(name)                                                \
  functions.name = reinterpret_cast<decltype(&::name)>(dlsym(handle, #name)); \
  complete = complete && functions.name != nullptr;
  EXS_BETWEEN_FUNCTIONS(EXS_BETWEEN_FIND)
#undef EXS_BETWEEN_FIND
  if (!complete) return nullptr;
  dl_iterate_phdr(find_code, reinterpret_cast<void*>(functions.exs_init));
  return &functions;
}

}  // namespace exs::sockets::between
