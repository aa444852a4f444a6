// Refusals that several calls have, each with its sentence.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"

namespace exs {

class EventQueue;

// EPERM.
Status not_initialized() noexcept;
// EBADF.
Status no_such_socket(int socket) noexcept;
Status no_such_queue(int queue) noexcept;
// EINVAL.
Status no_such_region(int region) noexcept;
Status no_such_pool(int pool) noexcept;
Status no_such_flags(int flags) noexcept;
Status wrong_size(std::size_t given, std::size_t needed) noexcept;
Status out_of_range(std::int64_t given, std::int64_t lowest, std::int64_t highest) noexcept;
Status reserved_is_set() noexcept;
// EMSGSIZE.
Status too_many_pieces(int count) noexcept;
// EFAULT.
Status null_argument() noexcept;
Status not_mapped(const void* address, std::size_t length_bytes) noexcept;
Status not_writable(const void* address, std::size_t length_bytes) noexcept;
// EAGAIN.
Status queue_is_full(const EventQueue& queue) noexcept;
// EBUSY.
Status region_in_use(int region) noexcept;

}  // namespace exs
