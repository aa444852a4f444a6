// A line of waiters for a limited resource: slots of a queue, buffers of a pool. A thread that frees one
// wakes the first waiter, which tries to take it. If it fails, it joins again. Each woken waiter passes the
// turn on after its try, so nothing lies idle while others wait.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>
#include <utility>

#include "base/fifo.h"

namespace exs {

// Thread: the owner's; it guards the line together with the resource.
class WaitLine {
 public:
  class Waiter {
   public:
    virtual ~Waiter() = default;
    // Tries again, now or later, and then passes the turn on. Thread: any, no lock held but, perhaps, drive locks.
    virtual void try_again() = 0;
  };

  // A waiter that has gone by its turn is passed over.
  void join(std::weak_ptr<Waiter> waiter) { waiters_.push_back(std::move(waiter)); }
  // Takes the first out of the line. Null: the line is empty.
  [[nodiscard]] std::shared_ptr<Waiter> leave_first() {
    while (!waiters_.empty()) {
      if (auto first = waiters_.pop_front().lock()) return first;
    }
    return nullptr;
  }

 private:
  Fifo<std::weak_ptr<Waiter>> waiters_;
};

}  // namespace exs
