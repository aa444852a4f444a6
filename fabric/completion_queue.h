// A queue of completions, in the format that it was opened with.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "fabric/fid.h"
#include "fabric/reaper.h"
#include "fabric/short_lock.h"

namespace exs::fabric {

// Thread: any.
class CompletionQueue final : public Object<CompletionQueue, fid_cq> {
 public:
  CompletionQueue(fi_cq_format format, bool can_wait, void* context);

  void add(const fi_cq_tagged_entry& entry, fi_addr_t source);
  void add_error(const fi_cq_err_entry& entry);

  // Returns -FI_EAGAIN if the queue is empty, and -FI_EAVAIL if read_error() has to come first. `sources` may be NULL.
  ssize_t read(void* into, std::size_t count, fi_addr_t* sources);
  ssize_t read_waiting(void* into, std::size_t count, fi_addr_t* sources, int timeout_ms);
  ssize_t read_error(fi_cq_err_entry& into);
  void signal();
  // Returns true if the application may sleep on the descriptor, false if there is something to read.
  bool arm();
  [[nodiscard]] Reaper& reaper() noexcept { return reaper_; }
  [[nodiscard]] bool is_used() noexcept { return reaper_.is_used(); }
  [[nodiscard]] int descriptor() const noexcept { return reaper_.descriptor(); }

 private:
  struct Entry {
    fi_cq_tagged_entry entry;
    fi_addr_t source;
  };

  void note_told() noexcept;
  void yield_when_idle() noexcept;
  ssize_t take(void* into, std::size_t count, fi_addr_t* sources);
  [[nodiscard]] bool is_quiet();

  const std::size_t entry_bytes_;
  Reaper reaper_;
  ShortLock lock_;
  std::deque<Entry> entries_;
  std::deque<fi_cq_err_entry> errors_;
  std::atomic<std::size_t> told_{0};  // of both; written under the lock, read without it
  std::atomic<std::uint32_t> idle_reads_{0};
  bool is_signalled_ = false;
};

int open_completion_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** queue, void* context);

}  // namespace exs::fabric
