// SPDX-License-Identifier: BSD-2-Clause
#include "sockets/preload/table/table_lock.h"

#include <atomic>

#include "base/check.h"
#include "sockets/preload/kernel/raw.h"

namespace exs::sockets {
namespace {

// The thread that holds the lock. A signal handler may find its own thread here and continues: it interrupted
// only a few stores to numbers of that call.
std::atomic<long> owner{0};
std::atomic<unsigned> depth{0};

// Cached for each thread; the child of a fork begins anew.
thread_local long own_number = 0;
long thread_number() noexcept {
  if (own_number == 0) own_number = raw::sys(SYS_gettid);
  return own_number;
}

}  // namespace

constinit TableMutex g_table_mutex;

void TableMutex::lock() noexcept {
  const long self = thread_number();
  if (owner.load() == self) {
    depth.fetch_add(1);
    return;
  }
  for (long nobody = 0; !owner.compare_exchange_weak(nobody, self); nobody = 0) raw::sys(SYS_sched_yield);
}

void TableMutex::unlock() noexcept {
  assert_held();
  if (depth.load() > 0) {
    depth.fetch_sub(1);
  } else {
    owner.store(0);
  }
}

void TableMutex::assert_held() const noexcept {
  EXS_DEBUG_CHECK(owner.load() == thread_number());
}

void TableMutex::forget_holder() noexcept {
  owner.store(0);
  depth.store(0);
  own_number = 0;
}

}  // namespace exs::sockets
