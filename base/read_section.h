// Read-copy-update: lookups of objects that other threads may remove, without reference counts. While a
// thread is inside a ReadSection, nothing that it finds is destroyed. A remover first makes its object
// impossible to find, then calls wait_for_readers(), which returns once every thread has left the section in
// which it may have found the object.
//
// Design notes
//  1. A section costs its thread two plain stores. Either the remover sees the first store or the reader sees
//     the removal: the remover has membarrier(2) execute a barrier in every thread of the process. Where the
//     kernel refuses that, each section begins with a barrier of its own.
//  2. A section is short: it makes no blocking system call and takes no lock that a remover may hold. A
//     remover is in no section.
//  3. A child after fork has one thread; the sections of its parent's other threads do not exist in it.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>

#include "base/process_barrier.h"
#include "base/thread_record.h"

namespace exs {

class ReadSection {
 public:
  // A section inside another one of the same thread is part of the outer one.
  // The first of a thread throws std::bad_alloc where there is no memory for it.
  ReadSection() : record_(ThreadRecord::mine() != nullptr ? *ThreadRecord::mine() : ThreadRecord::enroll()) {
    const std::uint64_t before = record_.turns.load(std::memory_order_relaxed);
    is_first_ = before % 2 == 0;
    if (!is_first_) return;
    if (!ProcessBarrier::is_available()) {
      record_.turns.exchange(before + 1, std::memory_order_seq_cst);
      return;
    }
    record_.turns.store(before + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~ReadSection() { leave(); }
  // Ends the section early.
  void leave() noexcept {
    if (!is_first_) return;
    is_first_ = false;
    record_.turns.store(record_.turns.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

 private:
  ThreadRecord& record_;
  bool is_first_ = false;
};

// After the return no thread uses objects that were made unreachable before the call. The caller must not be
// in a section.
void wait_for_readers();

}  // namespace exs
