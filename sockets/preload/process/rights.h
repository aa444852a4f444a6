// Processes of a family trust each other's memory, because each may look into the others anyway. A process
// that gives up rights (other users, fewer capabilities, namespaces, a sandbox) first leaves the family.
// Whoever takes it over later cannot deceive relatives with more rights.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

namespace exs::sockets {

// Connections shared with relatives go back to TCP. Connections of this process alone stay as they are.
// Without relatives this does nothing. Thread: any.
void leave_family() noexcept;

// Real, effective and saved IDs, as the kernel has them.
struct Ids {
  uid_t users[3];
  gid_t groups[3];

  friend bool operator==(const Ids&, const Ids&) = default;
};
Ids ids_now() noexcept;
// Called after each change. A child of vfork has our memory but its own IDs, so a difference reveals it.
void remember_ids() noexcept;
bool has_other_ids() noexcept;

}  // namespace exs::sockets
