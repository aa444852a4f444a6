// Looking up what others may remove, without counting references: while a thread is inside a ReadSection,
// nothing that it finds is destroyed. Whoever removes something makes it impossible to find, then waits with
// wait_for_readers() until every thread has left the section it may have found it in.
//
// Design notes
//  1. A section costs its thread two plain stores. That a remover sees the first one, or the reader the
//     removal, is seen to by the remover, who has membarrier(2) put a barrier into every thread of the
//     process. Where the kernel refuses that, each section begins with a barrier of its own.
//  2. A section is short: no system call that waits, no lock that a remover may hold. A remover is in none.
//  3. A child after fork has one thread; the sections that other threads of its parent were in are no more.
#pragma once

#include <atomic>
#include <cstdint>

namespace exs {

class ReadSection {
 public:
  // Inside another one of this thread: part of that.
  ReadSection() noexcept : reader_(mine_ != nullptr ? *mine_ : enroll()) {
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
  // Before its end.
  void leave() noexcept {
    if (!is_first_) return;
    is_first_ = false;
    reader_.turns.store(reader_.turns.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  ReadSection(const ReadSection&) = delete;
  ReadSection& operator=(const ReadSection&) = delete;

  // Before the first section, and once more in a child.
  static void prepare();
  // In the only thread of a child.
  static void forget_other_threads();

 private:
  friend void wait_for_readers();
  friend class ReaderList;

  // Odd: inside. One to a thread, alone on its cache line: only removers look at those of others.
  struct alignas(64) Reader {
    std::atomic<std::uint64_t> turns{0};
  };
  static Reader& enroll();
  // To other threads: what this one removed; to this one: that they are inside.
  static void make_visible();

  // The library is loaded with the program or soon after it, so the fast way to reach it may be used.
  [[gnu::tls_model("initial-exec")]] static constinit thread_local Reader* mine_;
  static std::atomic<bool> barriers_ours_;

  Reader& reader_;
  bool is_first_ = false;
};

// What was made impossible to find before is in nobody's hands after. Needs: this thread is in no section.
void wait_for_readers();

}  // namespace exs
