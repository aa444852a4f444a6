// SPDX-License-Identifier: BSD-2-Clause
#include "src/api/refusals.h"

#include "base/refusal.h"
#include "event/queue/event_queue.h"
#include "exs/exs.h"

namespace exs {

Status not_initialized() noexcept {
  return refuse(EPERM, "the library is not initialized: call exs_init(EXS_VERSION) first, and exs_fini last");
}

Status no_such_socket(int socket) noexcept {
  return refuse(EBADF,
                "{} is no socket that exs can use: give one of exs_socket or EXS_EVT_ACCEPT that is not "
                "closed yet, or a "
                "connected or listening stream socket of the kernel",
                socket);
}

Status no_such_queue(int queue) noexcept {
  return refuse(EBADF, "{:#x} is no queue: give a handle of exs_qcreate that is not deleted yet", queue);
}

Status no_such_region(int region) noexcept {
  return refuse(EINVAL,
                "{:#x} is no region: give a handle of exs_mregister or exs_alloc that is not released yet",
                region);
}

Status no_such_pool(int pool) noexcept {
  return refuse(EINVAL, "{:#x} is no pool: give a handle of exs_pool_create that is not deleted yet", pool);
}

Status no_such_flags(int flags) noexcept {
  return refuse(EINVAL, "the flags are {:#x}, and the call has none of these: its page lists them", flags);
}

Status null_argument() noexcept {
  return refuse(EFAULT, "a pointer that the call needs is NULL: give the address of an object");
}

Status not_mapped(const void* address, std::size_t length_bytes) noexcept {
  return refuse(EFAULT, "the {} bytes at {:#x} are not all memory of this process: see address and length",
                length_bytes, reinterpret_cast<std::uintptr_t>(address));
}

Status not_writable(const void* address, std::size_t length_bytes) noexcept {
  return refuse(
      EFAULT,
      "the {} bytes at {:#x} are read-only, and a receive writes: give memory that this process may write",
      length_bytes, reinterpret_cast<std::uintptr_t>(address));
}

Status queue_is_full(const EventQueue& queue) noexcept {
  return refuse(EAGAIN,
                "each of the {} slots of the queue has an event or an operation: dequeue events first, or "
                "make the queue "
                "deeper (exs_qmodify with EXS_QATTR_DEPTH)",
                queue.depth());
}

Status wrong_size(std::size_t given, std::size_t needed) noexcept {
  return refuse(EINVAL, "the size {} is wrong: this value has {} bytes", given, needed);
}

Status out_of_range(std::int64_t given, std::int64_t lowest, std::int64_t highest) noexcept {
  return refuse(EINVAL, "{} is out of range: give a number from {} to {}", given, lowest, highest);
}

Status reserved_is_set() noexcept {
  return refuse(EINVAL, "a reserved field is not 0: clear the whole object before it is filled in");
}

Status too_many_pieces(int count) noexcept {
  return refuse(EMSGSIZE, "{} pieces are more than one call takes, which is {} (EXS_IOV_MAX)", count,
                EXS_IOV_MAX);
}

Status region_in_use(int region) noexcept {
  return refuse(EBUSY,
                "operations still use the region {:#x}: wait for their events, cancel them, or deregister "
                "with EXS_MRF_WAIT",
                region);
}

}  // namespace exs
