// SPDX-License-Identifier: BSD-2-Clause
#include "tools/common/interrupt.h"

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace tools {
namespace {

// The handler writes it, in any thread; the measuring threads read it. It publishes no other data.
std::atomic<bool> was_interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { was_interrupted.store(true, std::memory_order_relaxed); };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool interrupted() {
  return was_interrupted.load(std::memory_order_relaxed);
}

void leave_interrupts_to_parent() {
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_DFL);
}

}  // namespace tools
