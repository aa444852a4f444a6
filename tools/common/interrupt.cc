#include "tools/common/interrupt.h"

#include <csignal>
#include <initializer_list>

namespace tools {
namespace {

// Written by the handler, read by the thread that measures; nothing else is handed over with it.
volatile std::sig_atomic_t was_interrupted = 0;

}  // namespace

void catch_interrupts() {
  struct sigaction action {};
  action.sa_handler = [](int) { was_interrupted = 1; };
  action.sa_flags = static_cast<int>(SA_RESETHAND);
  sigemptyset(&action.sa_mask);
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
}

bool interrupted() {
  return was_interrupted != 0;
}

}  // namespace tools
