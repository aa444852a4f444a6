// A second thread of an actor, for a call that blocks. Thread: the actor's first.
#pragma once

#include <pthread.h>

#include <atomic>
#include <memory>

#include "tests/sockets/twin/protocol.h"

namespace twin {

class CallingThread {
 public:
  // Returns when the thread sleeps in the call or has ended it; the result is 1 then.
  Answer start(const Command& command);
  // The result is 1 while the call has not returned.
  [[nodiscard]] Answer pending() const;
  // Sends SIGUSR1 to the thread until it has been handled, and, unless it restarts the call, until that has returned.
  Answer interrupt();
  // What the call returned; kHung if it does not within the time.
  Answer join(int timeout_ms);

 private:
  struct Work {
    Command command = {};
    bool restart = true;
    std::atomic<int> thread_id{0};   // written by the thread before it calls
    std::atomic<bool> ended{false};  // release: `answer` is written
    Answer answer;
  };

  static void* run(void* work);
  [[nodiscard]] bool is_asleep() const;

  std::shared_ptr<Work> work_;
  pthread_t thread_ = 0;
};

}  // namespace twin
