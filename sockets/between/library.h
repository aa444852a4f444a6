// libexs, loaded when a first connection is about to use a lane between hosts, and never before. Thread: the
// pump's; exs_qpost() may be called by any.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "exs/exs.h"

namespace exs::sockets::between {

#define EXS_BETWEEN_FUNCTIONS(X) \
  X(exs_init)                    \
  X(exs_setlog)                  \
  X(exs_socket)                  \
  X(exs_bind)                    \
  X(exs_listen)                  \
  X(exs_accept)                  \
  X(exs_connect)                 \
  X(exs_getsockname)             \
  X(exs_setsockopt)              \
  X(exs_send)                    \
  X(exs_recv)                    \
  X(exs_close_async)             \
  X(exs_qcreate)                 \
  X(exs_qmodify)                 \
  X(exs_qwait)                   \
  X(exs_qpost)                   \
  X(exs_mregister)               \
  X(exs_mderegister)             \
  X(exs_errtext)

struct LoadedLibrary {
// NOLINTNEXTLINE(bugprone-macro-parentheses): a member's name
#define EXS_BETWEEN_POINTER(name) decltype(&::name) name;
  EXS_BETWEEN_FUNCTIONS(EXS_BETWEEN_POINTER)
#undef EXS_BETWEEN_POINTER
};

// The caller is code of libexs, whose connections the layer ignores. Thread: any.
bool is_in_library(const void* place) noexcept;
// Null: it is not installed, or its version is unknown to this library.
const LoadedLibrary* load_library() noexcept;

}  // namespace exs::sockets::between
