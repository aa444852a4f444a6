// A second thread of an actor, for a call that blocks. Thread: the actor's first.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

#include "tests/sockets/twin/protocol.h"

namespace twin {

class CallingThread {
 public:
  // Returns once the thread sleeps in the call or has ended it. The result is then 1.
  Answer start(const Command& command);
  // The result is 1 until the call returns.
  [[nodiscard]] Answer pending() const;
  // Sends SIGUSR1 to the thread until it has been handled. If the call does not restart, waits for its
  // return, too.
  Answer interrupt();
  // Returns the call's answer; kHung if the call does not return in time.
  Answer join(int timeout_ms);

 private:
  struct Work {
    Command command = {};
    bool restart = true;
    std::atomic<int> thread_id{0};   // written by the thread before its call
    std::atomic<bool> ended{false};  // release: `answer` has been written
    Answer answer;
  };

  static void* run(void* work);
  [[nodiscard]] bool is_asleep() const;

  std::shared_ptr<Work> work_;
  pthread_t thread_ = 0;
};

}  // namespace twin
