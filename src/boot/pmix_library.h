// The functions of libpmix.so.2 that a boot needs, opened at run time. Thread: any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pmix.h>

namespace exs::boot {

struct PmixLibrary {
  decltype(&PMIx_Init) init;
  decltype(&PMIx_Finalize) finalize;
  decltype(&PMIx_Put) put;
  decltype(&PMIx_Commit) commit;
  decltype(&PMIx_Fence) fence;
  decltype(&PMIx_Get) get;
  decltype(&PMIx_Abort) abort;
  decltype(&PMIx_Register_event_handler) watch;
  decltype(&PMIx_Deregister_event_handler) unwatch;

  // False: it is not here, or lacks one of them. It is never closed.
  bool open() noexcept;
};

}  // namespace exs::boot
