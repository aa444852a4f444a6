// Guards the meaning of numbers and their counts. No call of the program runs under it. Thread: any, also in a
// signal handler that interrupts the holder.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "base/annotations.h"

namespace exs::sockets {

// One lock for the process. A thread that holds it may lock it again.
class EXS_CAPABILITY("table lock") TableMutex {
 public:
  void lock() noexcept EXS_ACQUIRE();
  void unlock() noexcept EXS_RELEASE();
  // In the child of a fork: its one thread holds no lock.
  void forget_holder() noexcept;
  // Debug builds check it.
  void assert_held() const noexcept EXS_ASSERT_CAPABILITY(this);
};
extern constinit TableMutex g_table_mutex;

class EXS_SCOPED_CAPABILITY TableLock {
 public:
  TableLock() noexcept EXS_ACQUIRE(g_table_mutex) { g_table_mutex.lock(); }
  ~TableLock() EXS_RELEASE() { g_table_mutex.unlock(); }
  TableLock(const TableLock&) = delete;
  TableLock& operator=(const TableLock&) = delete;
};

}  // namespace exs::sockets
