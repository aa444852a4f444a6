// The steady case of exs_send and exs_recv, in few steps: a connected socket of messages, registered memory, plain flags, nothing that
// waits before it. Whatever is not so, or is wrong, takes the whole way (transfer.h), which decides and finds the words.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "exs/exs.h"

namespace exs {

// False: nothing has changed. Thread: any.
[[nodiscard]] bool send_short(int socket, const void* buffer, size_t length, int flags, exs_qhandle_t queue,
                              exs_ahandle_t handle, exs_mhandle_t region) noexcept;
[[nodiscard]] bool receive_short(int socket, void* buffer, size_t length, int flags, exs_qhandle_t queue,
                                 exs_ahandle_t handle, exs_mhandle_t region) noexcept;

}  // namespace exs
