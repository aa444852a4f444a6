// A queue of completions, in the format that it was opened with.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

#include "base/drive_lock.h"
#include "base/fifo.h"
#include "fabric/fid.h"
#include "fabric/reaper.h"

namespace exs::fabric {

// Thread: any.
class CompletionQueue final : public Object<CompletionQueue, fid_cq> {
 public:
  CompletionQueue(fi_cq_format format, bool can_wait, void* context);

  // These three throw std::bad_alloc, and nothing has changed.
  void add(const fi_cq_tagged_entry& entry, fi_addr_t source);
  void add_error(const fi_cq_err_entry& entry);
  // Makes sure of the memory for one add_reserved().
  void reserve();
  void unreserve() noexcept;
  void add_reserved(const fi_cq_tagged_entry& entry, fi_addr_t source) noexcept;

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
  struct ReadyEntry {
    fi_cq_tagged_entry entry;
    fi_addr_t source;
  };

  void count_ready() noexcept EXS_REQUIRES(lock_);
  void yield_when_idle() noexcept;
  ssize_t read_ready(void* into, std::size_t count, fi_addr_t* sources);
  [[nodiscard]] bool is_quiet();
  [[nodiscard]] bool take_signal();

  const std::size_t entry_bytes_;
  Reaper reaper_;
  LeafLock lock_;
  Fifo<ReadyEntry> entries_ EXS_GUARDED_BY(lock_);
  std::size_t reserved_ EXS_GUARDED_BY(lock_) = 0;  // entries that are sure to come
  Fifo<fi_cq_err_entry> errors_ EXS_GUARDED_BY(lock_);
  bool is_signalled_ EXS_GUARDED_BY(lock_) = false;
  std::atomic<std::size_t> ready_{0};  // entries and errors; written under the lock, read without it
  std::atomic<std::uint32_t> idle_reads_{0};
};

int open_completion_queue(fid_domain* domain, fi_cq_attr* attr, fid_cq** queue, void* context);

}  // namespace exs::fabric
