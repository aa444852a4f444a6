// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/runtime.h"

#include <pthread.h>

#include <cstdlib>

#include "sockets/between/between.h"
#include "sockets/preload/detach.h"
#include "sockets/preload/handover.h"
#include "sockets/preload/libc.h"
#include "sockets/preload/log_line.h"
#include "sockets/preload/numbers.h"
#include "sockets/preload/reset.h"
#include "sockets/preload/rights.h"
#include "sockets/preload/rules.h"
#include "sockets/preload/table.h"

namespace exs::sockets {
namespace {

Settings current;

// Runs before the constructors of symbols/, which depend on it.
__attribute__((constructor(101))) void start() noexcept {
  libc();
  remember_process();
  remember_ids();
  read_settings();
  between::set_program({finish_sending_afar, reset_afar, current.any_path, leave_for_good});
  take_over();
  if (current.on) pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

}  // namespace

const Settings& settings() noexcept {
  return current;
}

void read_settings() noexcept {
  const auto text = [](const char* value) { return std::string_view(value == nullptr ? "" : value); };
  std::string_view complaint;
  const Environment environment{text(std::getenv("EXS_SOCKETS")), text(std::getenv("EXS_SHM_USERS"))};
  static_cast<void>(parse_settings(environment.words, environment.users, complaint));
  read_rules(environment);
  current = rules().rest;
  const std::string_view explain = text(std::getenv("EXS_EXPLAIN"));
  current.explain = explain == "1" || explain == "yes" || explain == "on" || explain == "true";
  // A program that is switched off keeps TCP, and its connections are followed only for their last lines, or
  // because take_over() finds some.
  current.on = rules().is_on() || current.explain;
  if (!complaint.empty())
    log_line("\"%.*s\" in EXS_SOCKETS or EXS_SHM_USERS means nothing", static_cast<int>(complaint.size()),
             complaint.data());
}

void follow_connections() noexcept {
  current.on = true;
}

void switch_off() noexcept {
  current.on = false;
}

}  // namespace exs::sockets
