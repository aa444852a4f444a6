// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/kernel/settings_in_use.h"

#include <cstdlib>

#include "sockets/preload/kernel/log_line.h"
#include "sockets/preload/kernel/rules.h"

namespace exs::sockets {
namespace {

SocketsSettings current;

}  // namespace

const SocketsSettings& settings() noexcept {
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
