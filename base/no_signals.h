// Threads that the library starts for itself.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <csignal>
#include <initializer_list>
#include <thread>
#include <utility>

namespace exs {

// A thread that is started meanwhile takes no signals: those of the process go to threads of the program.
// Faults of the thread itself stay deliverable. Thread: the one that made it.
class NoSignals {
 public:
  NoSignals() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGSYS}) sigdelset(&all, fault);
    ::pthread_sigmask(SIG_BLOCK, &all, &before_);  // inherited by the thread
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;

 private:
  sigset_t before_{};
};

// Starts a thread of the library's own, which takes no signals. Throws std::system_error if there are too many.
template <typename Body>
std::thread start_thread(Body&& body) {
  const NoSignals signals;
  return std::thread(std::forward<Body>(body));
}

}  // namespace exs
