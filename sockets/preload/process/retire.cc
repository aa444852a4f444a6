// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/process/retire.h"

#include <cerrno>

#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/reach.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/table/arena.h"
#include "sockets/preload/table/table.h"

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
  forget_shares();
  errno = error;
}

}  // namespace exs::sockets
