// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sockets/twin/signals.h"

#include <csignal>

#include <atomic>

namespace twin {
namespace {

// The handler, in any thread, increments these counts. The comparing thread reads them.
std::atomic<std::uint32_t> pipes{0};
std::atomic<std::uint32_t> urgents{0};
std::atomic<std::uint32_t> users{0};

void count(int signal) {
  (signal == SIGPIPE ? pipes : signal == SIGURG ? urgents : users).fetch_add(1);
}

void handle(int signal, int flags) {
  struct sigaction action = {};
  action.sa_handler = count;
  action.sa_flags = flags;
  sigaction(signal, &action, nullptr);
}

}  // namespace

void count_signals() {
  handle(SIGPIPE, SA_RESTART);
  handle(SIGURG, SA_RESTART);
  set_restart(true);
}

void set_restart(bool restart) {
  handle(SIGUSR1, restart ? SA_RESTART : 0);
}

std::uint32_t pipe_signals() {
  return pipes.load();
}
std::uint32_t urgent_signals() {
  return urgents.load();
}
std::uint32_t user_signals() {
  return users.load();
}

}  // namespace twin
