// Signals that are kept out of a thread for a while.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <poll.h>
#include <pthread.h>

#include <cerrno>
#include <csignal>
#include <utility>

#include "base/kernel.h"
#include "base/status.h"

namespace exs {

// Holds signals back while a wait spins. Only the sleeping system calls let them in and report them. So a
// signal ends the wait at any moment, not only while the thread sleeps. A nested object of the same thread
// lets in what the application lets in. Thread: the one that made it.
class HeldSignals {
 public:
  HeldSignals() {
    sigset_t all;
    sigfillset(&all);
    // Faults of the thread itself stay deliverable.
    for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGPROF})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~HeldSignals() {
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    outermost_ = outer_;
  }
  HeldSignals(const HeldSignals&) = delete;
  HeldSignals& operator=(const HeldSignals&) = delete;

  // The application's.
  [[nodiscard]] const sigset_t& mask() const { return outer_ == nullptr ? before_ : outer_->before_; }
  // The mask saved by this thread's outermost object. Null: there is none.
  [[nodiscard]] static const sigset_t* outermost_mask() {
    return outermost_ == nullptr ? nullptr : &outermost_->before_;
  }
  // Lets signals in for a moment. EINTR: one was caught.
  [[nodiscard]] Status let_in() const {
    timespec at_once{};
    return kernel::ppoll(nullptr, 0, &at_once, &mask()) < 0 ? Status(errno) : Status();
  }

 private:
  static inline constinit thread_local const HeldSignals* outermost_ = nullptr;
  const HeldSignals* const outer_ = std::exchange(outermost_, outermost_ == nullptr ? this : outermost_);
  sigset_t before_{};
};

}  // namespace exs
