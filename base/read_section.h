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

namespace exs {

class ReadSection {
 public:
  // A section inside another one of the same thread is part of the outer one.
  // The first of a thread throws std::bad_alloc where there is no memory for it.
  ReadSection() : reader_(mine_ != nullptr ? *mine_ : enroll()) {
    const std::uint64_t before = reader_.turns.load(std::memory_order_relaxed);
    is_first_ = before % 2 == 0;
    if (!is_first_) return;
    if (barriers_ours_.load(std::memory_order_relaxed)) {
      reader_.turns.exchange(before + 1, std::memory_order_seq_cst);
      return;
    }
    reader_.turns.store(before + 1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~ReadSection() { leave(); }
  // Ends the section early.
  void leave() noexcept {
    if (!is_first_) return;
    is_first_ = false;
    reader_.turns.store(reader_.turns.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  // Call it before the first section, and again in a child after fork.
  static void prepare();
  // Call it in the only thread of a child after fork.
  static void forget_other_threads();

 private:
  friend void wait_for_readers();
  friend class ReaderList;

  // One per thread, alone on its cache line. `turns` is odd while the thread is inside a section; only
  // removers read the counters of other threads.
  struct alignas(64) Reader {
    std::atomic<std::uint64_t> turns{0};
  };
  static Reader& enroll();
  // Makes this thread's removals visible to other threads, and their entries into sections visible to this
  // thread.
  static void make_visible();

  // The library is loaded with the program or soon after it, so the fast way to reach it may be used.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Reader* mine_;
  static std::atomic<bool> barriers_ours_;

  Reader& reader_;
  bool is_first_ = false;
};

// After the return no thread uses objects that were made unreachable before the call. The caller must not be
// in a section.
void wait_for_readers();

}  // namespace exs
