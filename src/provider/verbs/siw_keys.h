// siw, the kernel's soft iWARP, gives every queue the lowest free page numbers of its context as keys for
// mapping it. Kernel and library both reserve one of these keys for "no queue". The queue that begins at that
// page is made, mistaken for a failure and destroyed again. So a process with many connections loses one
// without a cause in errno.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "src/provider/verbs/owned.h"

namespace exs::verbs {

// Holds the page of the misread key, so that no other queue can begin there. Null: not siw, or another queue
// has it, or the device has no room: then all is as it was. To be called before the context has other queues.
OwnedCq hold_misread_key(ibv_context* context, const ibv_device_attr& limits);

}  // namespace exs::verbs
