// The queue of events other than transfers: inserted addresses, and events that the application writes itself.
// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <rdma/fi_eq.h>

#include "base/condition.h"
#include "base/drive_lock.h"
#include "base/fifo.h"
#include "fabric/fid.h"
#include "fabric/signal.h"

namespace exs::fabric {

// Thread: any.
class EventQueue final : public Object<EventQueue, fid_eq> {
 public:
  EventQueue(bool may_be_written, bool has_descriptor, void* context);

  void add(std::uint32_t event, const void* entry, std::size_t bytes);
  // Returns -FI_EAGAIN if the queue is empty, or -FI_ETOOSMALL.
  ssize_t read(std::uint32_t* event, void* into, std::size_t bytes, std::uint64_t flags);
  ssize_t read_waiting(std::uint32_t* event, void* into, std::size_t bytes, int timeout_ms,
                       std::uint64_t flags);
  [[nodiscard]] bool is_empty();
  [[nodiscard]] bool may_be_written() const noexcept { return may_be_written_; }
  // -1: no descriptor.
  [[nodiscard]] int descriptor() const noexcept { return signal_.descriptor(); }

 private:
  struct PostedEvent {
    std::uint32_t number = 0;
    std::vector<std::byte> entry;
  };

  const bool may_be_written_;
  Signal signal_;
  Mutex mutex_;
  Condition added_;
  Fifo<PostedEvent> events_ EXS_GUARDED_BY(mutex_);
};

int open_event_queue(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** queue, void* context);

}  // namespace exs::fabric
