// Processes of a family believe each other's memory, as each of them may look into the others anyway. So whoever gives up rights (other
// users, fewer capabilities, namespaces, a sandbox) leaves the family before that: what takes it over later finds nothing that a relative
// with more rights believes.
#pragma once

#include <sys/types.h>

namespace exs::sockets {

// Connections that relatives have, too, are TCP's from now on; those of this process alone stay as they are, and so does what it
// makes later. Nothing without relatives. Thread: any.
void leave_family() noexcept;

// Real, effective and saved, as the kernel has them.
struct Ids {
  uid_t users[3];
  gid_t groups[3];

  friend bool operator==(const Ids&, const Ids&) = default;
};
Ids ids_now() noexcept;
// After each change: a child of vfork, which has our memory and IDs of its own, is known by them.
void remember_ids() noexcept;
bool has_other_ids() noexcept;

}  // namespace exs::sockets
