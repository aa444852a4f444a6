// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/retire.h"

#include <cerrno>

#include "sockets/preload/arena.h"
#include "sockets/preload/detach.h"
#include "sockets/preload/numbers.h"
#include "sockets/preload/reach.h"
#include "sockets/preload/runtime.h"
#include "sockets/preload/table.h"

namespace exs::sockets {

void retire(Why why) noexcept {
  if (is_vfork_child()) return;
  const int error = errno;
  switch_off();  // no thread notes a connection from now on
  detach_all(why);
  forget_all();
  part_from_relatives([](std::uint32_t) { return false; });
  close_arena();
  unwatch_copies();
  retire_process();
  errno = error;
}

}  // namespace exs::sockets
