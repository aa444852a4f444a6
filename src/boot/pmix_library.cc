// SPDX-License-Identifier: BSD-2-Clause
#ifndef EXS_WITHOUT_PMIX
#include "src/boot/pmix_library.h"

#include <dlfcn.h>

namespace exs::boot {
namespace {

constexpr const char* kFile = "libpmix.so.2";

template <typename Function>
bool find(void* library, const char* name, Function& function) noexcept {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool PmixLibrary::open() noexcept {
  void* const library = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  return library != nullptr && find(library, "PMIx_Init", init) && find(library, "PMIx_Finalize", finalize) &&
         find(library, "PMIx_Put", put) && find(library, "PMIx_Commit", commit) &&
         find(library, "PMIx_Fence", fence) && find(library, "PMIx_Get", get) &&
         find(library, "PMIx_Abort", abort) && find(library, "PMIx_Register_event_handler", watch) &&
         find(library, "PMIx_Deregister_event_handler", unwatch);
}

}  // namespace exs::boot
#endif
