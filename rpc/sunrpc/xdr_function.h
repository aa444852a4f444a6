// Functions of XDR as libtirpc takes them: it does not declare their arguments.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rpc/rpc.h>

namespace exs::rpc {

template <typename Function>
xdrproc_t xdr_function(Function* function) {
  return reinterpret_cast<xdrproc_t>(reinterpret_cast<void*>(function));
}

}  // namespace exs::rpc
