// Those who wait for one of something that there are only so many of: slots of a queue, buffers of a pool. Whoever has
// one to give wakes the first, who tries to take it; should it be gone by then, he joins again. Each who was
// woken passes the turn on when he has tried, so what he left does not lie idle while others wait.
#pragma once

#include <memory>
#include <utility>

#include "src/base/fifo.h"

namespace exs {

// Thread: the owner's; it guards the line together with what people wait for.
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
  // Takes the first out of the line. Null: nobody waits.
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
