// The layer begins in this process, before the constructors of symbols/, which depend on it.
// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include "sockets/between/program_side.h"
#include "sockets/preload/detach/detach.h"
#include "sockets/preload/kernel/libc.h"
#include "sockets/preload/kernel/own_process.h"
#include "sockets/preload/kernel/settings_in_use.h"
#include "sockets/preload/process/handover.h"
#include "sockets/preload/process/numbers.h"
#include "sockets/preload/process/rights.h"

namespace exs::sockets {
namespace {

__attribute__((constructor(101))) void start() noexcept {
  libc();
  remember_process();
  remember_ids();
  read_settings();
  between::set_program({finish_sending_afar, reset_afar, settings().any_path, leave_for_good});
  take_over();
  if (settings().on) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace
}  // namespace exs::sockets
