// siw, the kernel's soft iWARP, gives every queue the lowest free page numbers of its context as keys to map
// it by, and kernel and library both take one of those keys for "there is none". The queue that happens to
// begin at that page is made, taken for a failure and destroyed again: of a process with many connections one
// fails, for no reason that errno knows.
#pragma once

#include "src/provider/verbs/device.h"

namespace exs::verbs {

// Holds the page of the misread key, so that no other queue can begin there. Null: not siw, or another queue
// has it, or the device has no room: then all is as it was. To be called before the context has other queues.
OwnedCq hold_misread_key(ibv_context* context, const ibv_device_attr& limits);

}  // namespace exs::verbs
